package conformance

// The part of the independent decoder for exact states, effects and programs: SIMULATING.md, and what PROTOCOL.md
// marks with †.

import (
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// exactPage reads the data that only simulating clients are sent, with a pageDecoder.
type exactPage struct{ *pageDecoder }

// gridOf returns the numbers to which the body of a row restores.
func gridOf(schema []pageComponent, values []uint32) (g [6]float32) {
	at := 0
	for _, c := range schema {
		for i, f := range c.fields {
			if c.name == "body" && i < 6 {
				product := float64(values[at]) * f.step
				g[i] = float32(f.low + product)
			}
			at += f.values
		}
	}
	return g
}

// maxBack returns the greatest back of an exact state in a session of tickHz ticks a second.
func (s exactPage) maxBack(tickHz uint64) uint64 {
	return max(uint64(s.pick(backCountsTime, int(tickHz), 63)), uint64(s.pick(backAtLeast63, 63, 0)))
}

// exactHeader reads the form and back that follow the baseline in a row's header.
func (s exactPage) exactHeader(tick, age, tickHz uint64) (e wire.Exact) {
	form := s.readNamed(2, "form")
	e.Form = wire.Form(form + 1)
	back := s.golomb(s.pick(backOrder, 1, 0), "back")
	if back > s.maxBack(tickHz) && s.keeps(backBound) || back >= tick && s.keeps(backFromTick1) || age > 0 && back >= age && s.keeps(backBelowAge) {
		s.fail("back %d", back)
	}
	e.Back = uint32(back)
	return e
}

// body reads the exact part of a row.
func (s exactPage) body(form wire.Form, grid [6]float32, restTicks uint64) (b wire.BodyState) {
	number := form - 1
	b.Awake = number == 0 || number == 2
	if !s.keeps(asleepForms) {
		b.Awake = number < 2
	}
	b.Position, b.Velocity = [3]float32(grid[:3]), [3]float32(grid[3:])
	if number >= 2 {
		for i := range b.Position {
			b.Position[i] = s.residual(grid[i], s.pick(positionOrder, 10, 11))
		}
	}
	switch number {
	case 1:
		if b.Velocity != [3]float32{} && s.keeps(asleepAtRest) {
			s.fail("asleep at %v", b.Velocity)
		}
	case 2:
		for i := range b.Velocity {
			b.Velocity[i] = s.residual(grid[3+i], s.pick(velocityOrder, 16, 17))
		}
		rest := s.golomb(s.pick(restOrder, 2, 1), "rest")
		if rest > restTicks && s.keeps(restBound) {
			s.fail("rest %d", rest)
		}
		b.Rest = uint32(rest)
	case 3:
		if s.keeps(rawAsleepAtRest) {
			b.Velocity = [3]float32{}
		}
	}
	return b
}

func (s exactPage) residual(base float32, order int) float32 {
	from := s.bit
	z := uint32(s.golomb(order, "residual"))
	d := z >> 1
	if (z&1 == 1) == s.keeps(residualSign) {
		d = ^d
	}
	b := math.Float32bits(base)
	o := b ^ 0x80000000
	if b>>31 == 1 && s.keeps(residualNegative) {
		o = ^b
	}
	o += d
	b = o ^ 0x80000000
	if o>>31 == 0 && s.keeps(residualNegative) {
		b = ^o
	}
	x := math.Float32frombits(b)
	s.checkFinite(x, residualFinite)
	s.note(from, "float %v", x)
	return x
}

func (s exactPage) checkFinite(x float32, r rule) {
	if (math.IsNaN(float64(x)) || math.IsInf(float64(x), 0)) && s.keeps(r) {
		s.fail("%v", x)
	}
}

func (s exactPage) float(name string, r rule) uint32 {
	from := s.bit
	b := uint32(s.read(32))
	s.checkFinite(math.Float32frombits(b), r)
	s.note(from, "%s = %v", name, math.Float32frombits(b))
	return b
}

func (s exactPage) vector(name string) (v [3]uint32) {
	for i, axis := range []string{".x", ".y", ".z"} {
		v[i] = s.float(name+axis, pathFinite)
	}
	return v
}

// bounded reads a velocity or an axis.
func (s exactPage) bounded(name string) [3]uint32 {
	v := s.vector(name)
	for _, x := range v {
		if math.Abs(float64(math.Float32frombits(x))) > 1e6 && s.keeps(pathBound) {
			s.fail("%s beyond 1e6", name)
		}
	}
	return v
}

type (
	// extensionLine is a record in exact.jsonl. Floats are bits.
	extensionLine struct {
		Op         string   `json:"op"`
		Slot       uint32   `json:"slot,omitempty"`
		Generation uint32   `json:"generation,omitempty"`
		Kind       uint32   `json:"kind,omitempty"`
		Program    uint32   `json:"program,omitempty"`
		Code       []byte   `json:"code,omitempty"`
		Mode       uint32   `json:"mode,omitempty"`
		Layers     uint32   `json:"layers,omitempty"`
		Born       uint32   `json:"born,omitempty"`
		First      uint32   `json:"first,omitempty"`
		Last       uint32   `json:"last,omitempty"`
		What       uint32   `json:"what,omitempty"`
		Path       *path    `json:"path,omitempty"`
		Params     []uint32 `json:"params,omitempty"`
		Constants  []uint32 `json:"constants,omitempty"`
		// Fields of an Enter.
		Form   uint32     `json:"form,omitempty"`
		Back   uint32     `json:"back,omitempty"`
		Values []uint32   `json:"values,omitempty"`
		Body   *bodyState `json:"body,omitempty"`

		back, age, life uint64 // of an effect
	}
	path struct {
		Form     uint32       `json:"form"`
		Center   [3]uint32    `json:"center"`
		Velocity [3]uint32    `json:"velocity"`
		Axes     [2][3]uint32 `json:"axes"`
		Phase    uint32       `json:"phase"`
		Rate     uint32       `json:"rate"`
		Leader   bulk.Handle  `json:"leader"`
	}
	bodyState struct {
		Position [3]uint32 `json:"position"`
		Velocity [3]uint32 `json:"velocity"`
		Awake    bool      `json:"awake"`
		Rest     uint32    `json:"rest"`
	}
)

// extension reads an Extension after its head.
func (s exactPage) extension(detail uint64) (l extensionLine) {
	names := []string{"program", "added", "changed", "ended", "left", "kind"}
	if detail > 5 {
		s.fail("detail %d of op 7", detail)
	}
	l.Op = names[detail]
	switch detail {
	case 0:
		l.Program = uint32(s.readNamed(8, "program"))
		n := s.uvarint("program length")
		if n > 18_432 && s.keeps(programBound) || n == 0 && s.keeps(programNotEmpty) {
			s.fail("program of %d bytes", n)
		}
		l.Code = s.take("program", n)
	case 1:
		s.effect(&l)
		l.Program, l.Mode = uint32(s.readNamed(8, "program")), uint32(s.readNamed(8, "mode"))
		if l.Mode > 1 && s.keeps(modeKnown) {
			s.fail("mode %d", l.Mode)
		}
		l.Layers = uint32(s.uvarint("layers"))
		l.back = s.back()
		l.age = s.uvarint("age")
		l.life = s.uvarint("life")
		l.Path = s.path()
		l.Params = s.params()
	case 2:
		s.effect(&l)
		l.back = s.back()
		l.What = uint32(s.readNamed(8, "what"))
		if l.What == 0 && s.keeps(changesSomething) || l.What > 3 && s.keeps(changesKnown) {
			s.fail("changed in %d", l.What)
		}
		hasPath, hasParams := l.What&1 == 1, l.What&2 == 2
		if !s.keeps(changesPathIs1) {
			hasPath, hasParams = hasParams, hasPath
		}
		if hasPath {
			l.Path = s.path()
		}
		if hasParams {
			l.Params = s.params()
		}
	case 3, 4:
		s.effect(&l)
		l.back = s.back()
	case 5:
		s.kind(&l)
	}
	return l
}

func (s exactPage) kind(l *extensionLine) {
	l.Kind = uint32(s.uvarint("kind"))
	if l.Kind >= 1<<16 && s.keeps(addedKindBound) {
		s.fail("kind %d", l.Kind)
	}
	for i, name := range []string{"inverse mass", "coupling", "radius", "friction", "restitution"} {
		b := s.float(name, constantFinite)
		x := math.Float32frombits(b)
		if math.Signbit(float64(x)) && s.keeps(constantNotNegative) || x > 1 && (i == 1 || i == 4) && s.keeps(shareAtMost1) {
			s.fail("%s %v", name, x)
		}
		l.Constants = append(l.Constants, b)
	}
	l.Layers = uint32(s.readNamed(32, "layers"))
}

func (s exactPage) effect(l *extensionLine) {
	l.Slot, l.Generation = uint32(s.uvarint("effect")), uint32(s.uvarint("generation"))
	if l.Slot >= 4096 && s.keeps(effectSlotBound) || l.Generation%2 == 0 && s.keeps(effectGenerationOdd) {
		s.fail("effect %d, generation %d", l.Slot, l.Generation)
	}
}

func (s exactPage) back() uint64 {
	if !s.keeps(effectBackIsUvarint) {
		return s.readNamed(8, "back")
	}
	return s.uvarint("back")
}

func (s exactPage) path() *path {
	p := &path{Form: uint32(s.readNamed(8, "path"))}
	if p.Form > 3 && s.keeps(pathKnown) {
		s.fail("path of form %d", p.Form)
	}
	if p.Form == 3 {
		index, generation := s.uvarint("leader"), s.uvarint("generation")
		if index >= 1<<24 && s.keeps(leaderSlotBound) || generation%2 == 0 && s.keeps(leaderGenerationOdd) {
			s.fail("leader %d, generation %d", index, generation)
		}
		p.Leader = bulk.Handle(generation<<32 | index)
	}
	p.Center = s.vector("center")
	switch p.Form {
	case 1:
		p.Velocity = s.bounded("velocity")
	case 2:
		p.Axes = [2][3]uint32{s.bounded("first axis"), s.bounded("second axis")}
		p.Phase, p.Rate = uint32(s.readNamed(32, "phase")), uint32(s.readNamed(32, "rate"))
		if !s.keeps(phaseBeforeRate) {
			p.Phase, p.Rate = p.Rate, p.Phase
		}
	}
	return p
}

func (s exactPage) params() []uint32 {
	n := s.uvarint("numbers")
	if n > 256 && s.keeps(paramsBound) {
		s.fail("%d numbers", n)
	}
	params := []uint32{}
	for range n {
		params = append(params, s.float("number", paramsFinite))
	}
	return params
}

// ticks computes the ticks of an effect's record from its message's tick.
func (s exactPage) ticks(l *extensionLine, tick, tickHz uint64) {
	if l.Op == "program" || l.Op == "kind" || l.Op == "enter" {
		return
	}
	if l.back > s.maxBack(tickHz)+1 && s.keeps(effectBackBound) {
		s.fail("back %d", l.back)
	}
	first := int64(tick) + int64(s.pick(firstAfterMessage, 1, 0)) - int64(l.back)
	if first < 1 && s.keeps(firstFrom1) || first > 1<<32-1 {
		s.fail("first tick %d", first)
	}
	l.First = uint32(first)
	if l.Op != "added" {
		return
	}
	born := first - int64(l.age)
	if born < 0 && s.keeps(bornFrom0) {
		s.fail("born in tick %d", born)
	}
	l.Born = uint32(born)
	if l.life == 0 && s.keeps(lifeFor0IsEndless) {
		return
	}
	last := first + int64(l.life) - int64(s.pick(lifeCountsFirst, 1, 0))
	if !s.keeps(lifeFromFirst) {
		last = born + int64(l.life) - 1
	}
	if last > 1<<32-1 && s.keeps(lastBound) {
		s.fail("last tick %d", last)
	}
	l.Last = uint32(last)
}

// audit computes the audit of snapshot seq over exact bodies, given by slot.
func (s exactPage) audit(seq uint32, handles []bulk.Handle, bodies []bodyState) (x uint32) {
	for i, b := range bodies {
		h := handles[i]
		if h.Index()%32 != seq%32 && s.keeps(auditTurn) {
			continue
		}
		values := []uint32{h.Index(), h.Generation()}
		values = append(append(values, b.Position[:]...), b.Velocity[:]...)
		awake := uint32(0)
		if b.Awake {
			awake = 1
		}
		values = append(values, awake, b.Rest)
		if !s.keeps(auditAwakeFirst) {
			values[8], values[9] = values[9], values[8]
		}
		if !s.keeps(auditIndexFirst) {
			values[0], values[1] = values[1], values[0]
		}
		for _, v := range values {
			x = (x ^ v) * 0x9e3779b1
			x ^= x >> s.pick(auditShift, 15, 16)
		}
	}
	return x
}
