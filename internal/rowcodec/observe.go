package rowcodec

import (
	"strings"

	"github.com/worldd/worldd/internal/bitio"
)

// Observer receives the prediction errors (for the trainer) and costs of an observed codec,
// for rows that have a past. Any function may be nil.
type Observer struct {
	// Displacement is called for a row that moves by itself. at is its position along an
	// axis, in quanta; off is the change of its displacement since the previous state, in
	// 1/256 of a quantum.
	Displacement func(shape string, axis int, at int64, off float64)
	// Position is called for each axis of a changed position, and Rotation for each part of a
	// changed rotation.
	Position func(axis int, e Equation)
	Rotation func(e Equation)
	// Head and Residual are called for each symbol written.
	Head     func(k HeadKey, context, symbol int)
	Residual func(r Residual)
	// Cost is called for the heads of a component, with an empty field, and then for each of
	// its units, with the path of its field.
	Cost func(component, field string, bits int)
}

// HeadKey identifies a head code.
type HeadKey struct {
	Shape   string
	Group   int
	Symbols int
}

// Equation is one sample for the weights of a prediction with this zone, attachment and
// speed: the sum of X times the weights, in 1/256, should equal Y.
type Equation struct {
	Zone, Attached, Speed int
	X                     []float64
	Y                     float64
	Miss                  float64 // error of the current prediction, in quanta
	Usual                 float64 // typical error at its scale, in quanta
}

// Residual is one residual and the inputs to its scale.
type Residual struct {
	Lane, Scale, Symbol int
	Attached, Speed     int // classes that select the scale's weights
	Features            [Features]int32
	Magnitude           int32 // the ideal sum, in 1/256 of the weights
}

// Observed returns a copy of c that calls o's functions while it encodes.
func (c *Codec) Observed(o Observer) *Codec {
	observed := *c
	observed.observer = &o
	return &observed
}

// appendObserved encodes a component as append does, and reports it.
func (c *Codec) appendObserved(w *bitio.Writer, p *part, values []uint32, past *Past, f *prediction) {
	o := c.observer
	if p.needsPrediction() {
		o.reportMotion(p, values, past, f)
	}
	name, from := c.layout.Schema().Components()[p.component].Name, w.Bits()
	written := c.appendHeads(w, p, values, past, f)&^p.headOnly | p.always
	o.reportCost(name, "", w.Bits()-from)
	for i := range p.units {
		from = w.Bits()
		if written>>i&1 != 0 {
			c.appendUnit(w, p, i, values, past, f)
		}
		o.reportCost(name, p.units[i].name(), w.Bits()-from)
	}
}

// name returns the path of the unit's field, without the element's index for a vector.
func (u *unit) name() string {
	path := u.fields[0].Path
	if u.kind == unitVector || u.kind == unitPosition {
		path, _, _ = strings.Cut(path, "[")
	}
	return path
}

func (o *Observer) reportCost(component, field string, bits int) {
	if o.Cost != nil {
		o.Cost(component, field, bits)
	}
}

func (o *Observer) reportHead(p *part, g, context, symbol int) {
	if o.Head != nil {
		o.Head(HeadKey{p.shape, g, p.groups[g].symbols}, context, symbol)
	}
}

// reportResiduals reports the residuals of a unit, as appendResiduals codes them.
func (o *Observer) reportResiduals(u *unit, headSigned int, values []uint32, missed int64, f *prediction) {
	if o.Residual == nil {
		return
	}
	for i, now := range values {
		lane := u.lane
		switch u.kind {
		case unitPosition:
			lane = lanePosition + i
		case unitRotation:
			lane = laneRotation + i
		}
		x := &f.residuals[i]
		d := ringDifference(now, x.expected, u.max)
		size := absolute(d)
		m := size
		if i < headSigned {
			m = d ^ d>>63
		}
		symbol, _ := bucket(uint64(m))
		o.Residual(Residual{
			Lane: lane, Scale: x.scale(missed), Symbol: symbol, Attached: f.attached, Speed: f.speed,
			Features: f.featuresOf(lane, i, missed), Magnitude: magnitude(size),
		})
		missed += size
	}
}

// reportMotion reports how a row moved.
func (o *Observer) reportMotion(p *part, values []uint32, past *Past, f *prediction) {
	g := *f // a copy: f records these residuals when they are coded
	if p.position >= 0 {
		if o.Displacement != nil && f.attached == Attachments-1 && f.speed != 0 {
			o.reportDisplacement(p, values, past, f)
		}
		if o.Position != nil {
			o.reportPosition(p, values, past, &g)
		}
	}
	if p.rotation >= 0 && p.turning && o.Rotation != nil {
		o.reportRotation(p, values, past, &g)
	}
}

func (o *Observer) reportDisplacement(p *part, values []uint32, past *Past, f *prediction) {
	at := p.units[p.position].index
	now, base, own := vectorAt(values, at).axes(), vectorAt(past.Base, at).axes(), f.own
	for axis := range now {
		o.Displacement(p.shape, axis, base[axis], float64((now[axis]-base[axis])<<fractionBits-own[axis]))
	}
}

func (o *Observer) reportPosition(p *part, values []uint32, past *Past, f *prediction) {
	const unit = 1 << fractionBits
	at := p.units[p.position].index
	now, base := vectorAt(values, at).axes(), vectorAt(past.Base, at).axes()
	if now == base {
		return
	}
	f.expectPosition()
	own, followed, mismatch := f.own, [3]int64{}, [3]int64{}
	if f.anchored {
		followed, mismatch = f.followed, f.mismatch
	}
	for i := range now {
		off := absolute(now[i] - int64(f.position[i]))
		e := Equation{
			Zone: f.zone, Attached: f.attached, Speed: f.speed,
			X:    []float64{float64(own[i]) / unit, float64(followed[i]) / unit, float64(mismatch[i]) / unit, 8},
			Y:    float64(now[i] - base[i]),
			Miss: float64(off), Usual: usual(f.residuals[i].scale(f.missed)),
		}
		f.missed += off
		o.Position(i, e)
	}
}

func (o *Observer) reportRotation(p *part, values []uint32, past *Past, f *prediction) {
	u := &p.units[p.rotation]
	if values[u.index] == past.Base[u.index] {
		return
	}
	base := u.rotation(past.Base[u.index])
	now := u.rotation(values[u.index]).towards(base)
	moved, off := now.minus(base).parts(), now.minus(f.rotation).parts()
	own, ride, twist := f.rotationMotion[0].parts(), f.rotationMotion[1].parts(), f.rotationMotion[2].parts()
	turns := step(f.rotationMotion[0].size(), 100, 500, 2000, 5000)
	f.expectRotation(f.rotation, f.largest, u.bits)
	size := usual(f.residuals[0].scale(f.rotationMissed)) * 2 * rotationRange / float64(u.max)
	for i := range moved {
		o.Rotation(Equation{
			Zone: f.zone, Attached: f.attached, Speed: turns,
			X: []float64{own[i], ride[i], twist[i]},
			Y: moved[i], Miss: max(off[i], -off[i]), Usual: size,
		})
	}
}

// usual returns 1 plus the residual size that corresponds to a scale. It inverts magnitude.
func usual(scale int) float64 { return float64((4|scale&3)<<(scale>>2)) / 4 }

func (q rotation) parts() [4]float64 {
	return [4]float64{float64(q.x), float64(q.y), float64(q.z), float64(q.w)}
}
