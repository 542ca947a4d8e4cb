package rowcodec

import (
	"strings"

	"github.com/worldd/worldd/internal/bitio"
)

// Observer receives what a codec computes while it writes rows with a past: prediction
// errors, for the trainer, and the cost of each part. Functions may be nil.
type Observer struct {
	// Place is called for a row that moves by itself: where it was along an axis, in
	// quanta, and by how much it went farther than before, in 1/256 of a quantum.
	Place func(shape string, axis int, at int64, off float64)
	// Position is called for each axis of a position that changed, and Rotation for
	// each part of a rotation that did.
	Position func(axis int, e Equation)
	Rotation func(e Equation)
	// Head and Residual are called for each symbol that is written.
	Head     func(k HeadKey, context, symbol int)
	Residual func(r Residual)
	// Cost is called for each unit of a component, with the path of its field, and
	// before them for the component's heads, without one.
	Cost func(component, field string, bits int)
}

// HeadKey names a code of heads.
type HeadKey struct {
	Shape string
	Group int
	Ways  int // symbols
}

// Equation is one sample for fitting the prediction weights of a zone, an attachment
// and a speed: X times the weights, in 1/256, should sum to Y.
type Equation struct {
	Zone, Attached, Speed int
	X                     []float64
	Y                     float64
	Miss                  float64 // error of the current prediction, in quanta
	Usual                 float64 // usual error at its scale
}

// Residual is one residual, with the features that its scale was computed from.
type Residual struct {
	Lane, Scale, Symbol int
	Attached, Speed     int // which weights the scale was summed with
	Features            [Features]int32
	Magnitude           int32 // what the sum should have been, in 1/256 of the weights
}

// Observed returns a codec that calls o's functions while it writes, and else does
// what c does.
func (c *Codec) Observed(o Observer) *Codec {
	observed := *c
	observed.observer = &o
	return &observed
}

// appendObserved writes a component as append does, and reports it.
func (c *Codec) appendObserved(w *bitio.Writer, p *part, words []uint32, past *Past, f *forecast) {
	o := c.observer
	if p.depends() {
		o.motion(p, words, past, f)
	}
	name, from := c.schema.Component(p.component).Name, w.Bits()
	written := c.appendHeads(w, p, words, past, f)&^p.silent | p.always
	o.cost(name, "", w.Bits()-from)
	for i := range p.units {
		from = w.Bits()
		if written>>i&1 != 0 {
			c.appendUnit(w, p, i, words, past, f)
		}
		o.cost(name, p.units[i].name(), w.Bits()-from)
	}
}

// name is the path of the unit's field, without the number of the element if there
// are several.
func (u *unit) name() string {
	path := u.fields[0].Path
	if u.kind == unitVector || u.kind == unitPosition {
		path, _, _ = strings.Cut(path, "[")
	}
	return path
}

func (o *Observer) cost(component, field string, bits int) {
	if o.Cost != nil {
		o.Cost(component, field, bits)
	}
}

func (o *Observer) head(p *part, g, context, symbol int) {
	if o.Head != nil {
		o.Head(HeadKey{p.shape, g, p.groups[g].ways}, context, symbol)
	}
}

// residual reports one, m as it is written and d as it is, that f has not been told of.
func (o *Observer) residual(lane int, m uint64, d int64, f *forecast) {
	if o.Residual == nil {
		return
	}
	r := Residual{Lane: lane, Scale: f.scale(lane), Attached: f.attached, Speed: f.speed, Magnitude: magnitude(absolute(d))}
	r.Symbol, _ = bucket(m)
	for i := range r.Features {
		r.Features[i] = f.feature.at(i)
	}
	o.Residual(r)
}

// motion reports how a row moved.
func (o *Observer) motion(p *part, words []uint32, past *Past, f *forecast) {
	g := *f // f itself takes the residuals when they are coded
	if p.position >= 0 {
		if o.Place != nil && f.attached == Attachments-1 && f.speed != 0 {
			o.place(p, words, past, f)
		}
		if o.Position != nil {
			o.position(p, words, past, &g)
		}
	}
	if p.rotation >= 0 && p.turning && o.Rotation != nil {
		o.rotation(p, words, past, &g)
	}
}

func (o *Observer) place(p *part, words []uint32, past *Past, f *forecast) {
	at := p.units[p.position].word
	now, base, own := place(words, at).axes(), place(past.Base, at).axes(), f.motion[0].axes()
	for axis := range now {
		o.Place(p.shape, axis, base[axis], float64((now[axis]-base[axis])<<fractionBits-own[axis]))
	}
}

func (o *Observer) position(p *part, words []uint32, past *Past, f *forecast) {
	const unit = 1 << fractionBits
	at := p.units[p.position].word
	now, base := place(words, at).axes(), place(past.Base, at).axes()
	if now == base {
		return
	}
	own, carried, mismatch := f.motion[0].axes(), f.motion[1].axes(), f.motion[2].axes()
	for i := range now {
		f.along(i)
		off := absolute(now[i] - f.position[i])
		e := Equation{
			Zone: f.zone, Attached: f.attached, Speed: f.speed,
			X:    []float64{float64(own[i]) / unit, float64(carried[i]) / unit, float64(mismatch[i]) / unit, 8},
			Y:    float64(now[i] - base[i]),
			Miss: float64(off), Usual: usual(f.scale(lanePosition + i)),
		}
		f.miss(off)
		o.Position(i, e)
	}
}

func (o *Observer) rotation(p *part, words []uint32, past *Past, f *forecast) {
	u := &p.units[p.rotation]
	if words[u.word] == past.Base[u.word] {
		return
	}
	base, turned := u.rotation(past.Base[u.word]), f.turned
	now := u.rotation(words[u.word]).towards(base)
	var s swerve
	if p.swerves() {
		at := place(words, p.units[p.position].word)
		turned = f.swerved(at)
		s, _ = f.swerve(at)
	}
	moved, off := now.minus(base).parts(), now.minus(turned).parts()
	own, ride, twist := f.turning[0].parts(), f.turning[1].parts(), f.turning[2].parts()
	roll := rotation{s.roll.x, s.roll.y, s.roll.z, 0}.times(f.turned).parts()
	swing := rotation{s.swing.x, s.swing.y, s.swing.z, 0}.times(f.turned).parts()
	turns := step(f.turning[0].size(), 100, 500, 2000, 5000)
	size := usual(f.scale(laneRotation)) * 2 * rotationRange / float64(u.wide)
	for i := range moved {
		slowed, yielded := own[i]*float64(s.slowed)/256, (ride[i]-own[i])*float64(s.yielded)/256
		o.Rotation(Equation{
			Zone: f.zone, Attached: f.attached, Speed: turns,
			X: []float64{own[i], ride[i], twist[i], slowed, yielded, roll[i], swing[i]},
			Y: moved[i], Miss: max(off[i], -off[i]), Usual: size,
		})
	}
}

// usual is how far off a residual of a scale is, and 1: what magnitude is of.
func usual(scale int) float64 { return float64((4|scale&3)<<(scale>>2)) / 4 }

func (q rotation) parts() [4]float64 {
	return [4]float64{float64(q.x), float64(q.y), float64(q.z), float64(q.w)}
}
