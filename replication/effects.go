package replication

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

// effectLog holds the effects that simulating clients may need: the effects that act, and
// the changes and ends of the last maxBack+1 ticks. Ticks are the protocol's.
type effectLog struct {
	live     []loggedEffect  // by slot of the world's effects
	past     []loggedEffect  // ended effects, oldest first
	changes  []effectChange  // oldest first
	programs []loggedProgram // by number, in the order in which they were seen
	states   []world.EffectState
	withheld []motion.Reach // areas of effects that clients do not receive although the game has not hidden them (EffectDef.Hidden)
	stepper  *motion.Stepper
	maxBack  uint32 // wire.MaxBack for the world's tick rate
	base     uint64 // Config.TickBase
}

// loggedEffect is an effect as it is now, or was when it ended.
type loggedEffect struct {
	id       bulk.Handle // 0: none
	sendable bool        // clients may know it (P5)
	program  uint16      // index in effectLog.programs
	mode     uint8
	layers   uint32
	born     uint32
	first    uint32 // first tick in which it acts
	last     uint32 // last tick; 0: no limit
	end      uint32 // first tick after its end; 0: it acts
	seen     uint32 // tick of the newest change, as observed
	effectForm
	reach motion.Reach
}

// effectForm is the part of an effect that the game can change.
type effectForm struct {
	since  uint32 // first tick with this form
	path   motion.Path
	params wire.Floats
}

// effectChange is a change of an effect by the game.
type effectChange struct {
	id            bulk.Handle
	seen          uint32 // tick after which it was observed
	before, after effectForm
	path, params  bool // whether the path or the parameters changed
}

// loggedProgram is a program that an effect used.
type loggedProgram struct {
	*field.Program
	code []byte // portable form
}

const (
	// maxLoggedPrograms bounds the programs that clients receive in one run: program
	// numbers are limited and never reused.
	maxLoggedPrograms = wire.MaxPrograms - 1
	unsentProgram     = math.MaxUint16
)

func (l *effectLog) forgetEffects() {
	*l = effectLog{stepper: l.stepper, maxBack: l.maxBack, base: l.base, programs: l.programs}
}

// observeEffects updates the log from the world's effects after a step.
func (l *effectLog) observeEffects(w *world.World, tick uint32) {
	l.forgetOld(tick)
	l.withheld = l.withheld[:0]
	l.states = w.Slots().AppendActedEffects(l.states[:0])
	for i := range l.states {
		e := &l.states[i]
		l.endEffect(w, e.ID.Index(), e.ID)
		l.updateEffect(e, tick)
	}
	l.states = w.AppendEffects(l.states[:0])
	next := uint32(0)
	for i := range l.states {
		e := &l.states[i]
		for ; next < e.ID.Index(); next++ {
			l.endEffect(w, next, 0)
		}
		next++
		l.endEffect(w, e.ID.Index(), e.ID)
		l.updateEffect(e, tick)
	}
	for ; int(next) < len(l.live); next++ {
		l.endEffect(w, next, 0)
	}
}

// forgetOld drops ends and changes that are older than any client needs. Old changes stay
// until they are half of the list, so that not every tick moves the list.
func (l *effectLog) forgetOld(tick uint32) {
	oldest := tick - min(tick, l.maxBack)
	n := 0
	for n < len(l.past) && l.past[n].end < oldest {
		n++
	}
	l.past = slices.Delete(l.past, 0, n)
	n = sort.Search(len(l.changes), func(i int) bool { return l.changes[i].seen >= oldest })
	if 2*n >= len(l.changes) {
		l.changes = slices.Delete(l.changes, 0, n)
	}
}

// changesSince returns the changes that were observed after a tick.
func (l *effectLog) changesSince(tick uint32) []effectChange {
	i := sort.Search(len(l.changes), func(i int) bool { return l.changes[i].seen > tick })
	return l.changes[i:]
}

// endEffect records that the logged effect in a slot has ended, unless it is id.
func (l *effectLog) endEffect(w *world.World, slot uint32, id bulk.Handle) {
	if int(slot) >= len(l.live) || l.live[slot].id == 0 || l.live[slot].id == id {
		return
	}
	e := &l.live[slot]
	if e.sendable {
		e.end = uint32(w.Slots().EffectEnd(e.id) - l.base)
		l.past = append(l.past, *e)
	} else {
		l.withheld = append(l.withheld, e.reach) // the effect may have acted in this tick
	}
	*e = loggedEffect{}
}

// updateEffect updates the log from the state of a live effect.
func (l *effectLog) updateEffect(e *world.EffectState, tick uint32) {
	slot := e.ID.Index()
	if n := int(slot) + 1 - len(l.live); n > 0 {
		l.live = append(l.live, make([]loggedEffect, n)...)
	}
	at := &l.live[slot]
	if e.Hidden {
		return
	}
	first := uint32(e.Changed - l.base)
	if at.id != e.ID {
		l.addEffect(at, e, tick)
	} else if at.sendable && first >= tick {
		l.changeEffect(at, e, first, tick)
	}
	if !at.sendable && at.reach.Center.Sub(e.Center).Len() > withheldMargin/2 { // bodies that the effect left were woken
		l.withheld = append(l.withheld, at.reach)
	}
	at.reach.Center = e.Center
	if !at.sendable {
		l.withheld = append(l.withheld, at.reach)
	}
}

// addEffect logs an effect that was not observed before.
func (l *effectLog) addEffect(at *loggedEffect, e *world.EffectState, tick uint32) {
	*at = loggedEffect{
		id: e.ID, program: l.programNumber(e.Program), mode: uint8(e.Mode), layers: uint32(e.Layers),
		seen: tick, effectForm: effectForm{path: e.Path, params: appendParams(nil, e.Program, e.Params)},
	}
	at.reach.Box, at.reach.Boxed = e.Program.Box()
	at.reach.Center, at.reach.Layers = e.Center, e.Layers
	at.sendable = e.Path.Form != motion.Following && at.program != unsentProgram && e.Born >= l.base
	if !at.sendable {
		return
	}
	at.born, at.first, at.since = uint32(e.Born-l.base), uint32(e.First-l.base), uint32(max(e.First, e.Changed)-l.base)
	if e.Changed == 0 || e.First < l.base { // the world was restored
		at.since = at.first
	}
	if e.Last != 0 {
		at.last = uint32(e.Last - l.base)
	}
}

// changeEffect records a change that applies from tick first on.
func (l *effectLog) changeEffect(at *loggedEffect, e *world.EffectState, first, tick uint32) {
	c := effectChange{id: at.id, seen: tick, before: at.effectForm}
	c.path = e.Path != at.path
	if c.path {
		at.path = e.Path
	}
	params := appendParams(nil, e.Program, e.Params)
	c.params = !bytes.Equal(params, at.params)
	if c.params {
		at.params = params
	}
	at.since, at.seen = first, tick
	c.after = at.effectForm
	if c.path || c.params {
		l.changes = append(l.changes, c)
	}
}

// formAt returns the form that the effect had after a tick, or at its birth.
func (l *effectLog) formAt(e *loggedEffect, tick uint32) *effectForm {
	changes := l.changesSince(tick)
	for i := range changes {
		if c := &changes[i]; c.id == e.id {
			return &c.before
		}
	}
	return &e.effectForm
}

// programNumber returns the number of a program, or unsentProgram.
func (l *effectLog) programNumber(p *field.Program) uint16 {
	i := slices.IndexFunc(l.programs, func(known loggedProgram) bool { return known.Program == p })
	if i >= 0 {
		return uint16(i)
	}
	code, _ := p.MarshalBinary() // the error is always nil
	i = slices.IndexFunc(l.programs, func(known loggedProgram) bool { return bytes.Equal(known.code, code) })
	if i >= 0 {
		return uint16(i)
	}
	if len(l.programs) == maxLoggedPrograms || len(code) > wire.MaxProgram {
		return unsentProgram
	}
	l.programs = append(l.programs, loggedProgram{p, code})
	return uint16(len(l.programs) - 1)
}

// appendParams appends parameters in wire form: four numbers for a vector, one for a
// scalar.
func appendParams(b wire.Floats, p *field.Program, params []field.Vec4) wire.Floats {
	for i, declared := range p.Params() {
		n := 4
		if declared.Scalar {
			n = 1
		}
		for _, x := range params[i][:n] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

func wirePath(p *motion.Path) wire.Path {
	vector := func(v motion.Vec3) [3]float32 { return [3]float32{v.X, v.Y, v.Z} }
	return wire.Path{
		Form: wire.PathForm(p.Form), Center: vector(p.Center), Velocity: vector(p.Velocity),
		Axes: [2][3]float32{vector(p.AxisU), vector(p.AxisV)}, Phase: p.Phase, Rate: p.Rate,
	}
}

// endedEarly reports whether a past effect ended before its last tick.
func (e *loggedEffect) endedEarly() bool { return e.last == 0 || e.end != e.last+1 }

// reachesCircle reports whether e reached a circle in the ticks (from, to], on the paths
// that it had in those ticks.
func (l *effectLog) reachesCircle(e *loggedEffect, center motion.Vec3, radius float32, from, to uint32) bool {
	if !e.reach.Boxed {
		return true
	}
	if e.end != 0 {
		to = min(to, e.end-1)
	}
	from = min(max(from, e.first), to)
	if e.seen > from {
		changes := l.changesSince(from)
		for i := range changes {
			c := &changes[i]
			if c.id != e.id || !c.path {
				continue
			}
			if e.pathReachesCircle(l.stepper, &c.before.path, center, radius, from, c.seen) {
				return true
			}
			from = min(c.seen, to)
		}
	}
	return e.pathReachesCircle(l.stepper, &e.path, center, radius, from, to)
}

// sendMargin returns the distance beyond the leave radius within which effects are sent to
// a client whose newest snapshot is some ticks old. A body travels at most that distance in
// these ticks, whether it comes into view or leaves and returns.
func (l *effectLog) sendMargin(ticks uint32) float32 {
	const maxSpeed = 1.01 * motion.MaxSpeed // rounded positions included
	return max(minSendMargin, maxSpeed*l.stepper.TickSeconds*float32(ticks))
}

// pathReachesCircle reports whether e, on path p, reached the circle in the ticks (from,
// to].
func (e *loggedEffect) pathReachesCircle(s *motion.Stepper, p *motion.Path, center motion.Vec3, radius float32, from, to uint32) bool {
	a, b := p.At(s, uint64(max(from, e.born)-e.born)), p.At(s, uint64(max(to, e.born)-e.born))
	bulgeX, bulgeZ := float32(0), float32(0)
	if p.Form == motion.Orbit {
		a, b, bulgeX, bulgeZ = arcBetween(p, a, b, to-from)
	}
	x := distanceOutside(center.X, min(a.X, b.X)-bulgeX+e.reach.Box.Min[0], max(a.X, b.X)+bulgeX+e.reach.Box.Max[0])
	z := distanceOutside(center.Z, min(a.Z, b.Z)-bulgeZ+e.reach.Box.Min[2], max(a.Z, b.Z)+bulgeZ+e.reach.Box.Max[2])
	return float32(x*x)+float32(z*z) <= float32(radius*radius)
}

// arcBetween returns two points, and margins along x and z: in the ticks between, the orbit
// stays within these margins around the box of the points. The points are the ends of the
// arc, or twice the centre if the arc is a quarter turn or more.
func arcBetween(p *motion.Path, a, b motion.Vec3, ticks uint32) (from, to motion.Vec3, bulgeX, bulgeZ float32) {
	x, z := max(p.AxisU.X, -p.AxisU.X)+max(p.AxisV.X, -p.AxisV.X), max(p.AxisU.Z, -p.AxisU.Z)+max(p.AxisV.Z, -p.AxisV.Z)
	turn := float32(ticks) * float32(uint32(max(int32(p.Rate), -int32(p.Rate)))) / (1 << 32)
	if turn >= 0.25 {
		return p.Center, p.Center, x, z
	}
	bulge := float32(5 * turn * turn) // at least 1 - cos(pi * turn)
	return a, b, float32(x * bulge), float32(z * bulge)
}

// distanceOutside returns how far x is outside [low, high].
func distanceOutside(x, low, high float32) float32 { return max(low-x, x-high, 0) }

// disturbByWithheld disturbs the bodies that a withheld effect may have moved or woken in
// the last tick (P3). An effect is withheld if it follows an entity or its program has no
// number.
func (c *clean) disturbByWithheld(w *world.World, tick uint32) {
	for i := range c.effects.withheld {
		e := &c.effects.withheld[i]
		for slot := range c.slots {
			s := &c.slots[slot]
			if !s.exact || s.moved == tick {
				continue
			}
			state, ok := w.Slots().Exact(uint32(slot))
			if !ok || !state.Awake && !w.Slots().WasAwake(uint32(slot)) || w.Slots().Handle(uint32(slot)) != s.handle {
				continue
			}
			kind, _ := w.KindOf(s.handle)
			k := &c.kinds[kind].Kind
			if k.Feels(e.Layers) && mayHaveReached(e, c.effects.stepper, k, &state) {
				s.moved = tick
				c.recordDisturbance(w, uint32(slot), tick)
				c.touched = append(c.touched, uint32(slot))
			}
		}
	}
}

// withheldMargin covers an effect's motion in one tick, in metres.
const withheldMargin = 2

// mayHaveReached reports whether e may have reached a body of kind k in the last tick. The
// body moved at the velocity of its state, except along an axis on which the ground or a
// bound may have stopped it.
func mayHaveReached(e *motion.Reach, s *motion.Stepper, k *motion.Kind, body *motion.State) bool {
	if !e.Boxed {
		return true
	}
	at, v, half := &body.Position, &body.Velocity, &s.HalfExtent
	return meetsInterval(s, at.X, v.X, -half.X, half.X, e.Center.X+e.Box.Min[0], e.Center.X+e.Box.Max[0]) &&
		meetsInterval(s, at.Y, v.Y, k.Radius, half.Y, e.Center.Y+e.Box.Min[1], e.Center.Y+e.Box.Max[1]) &&
		meetsInterval(s, at.Z, v.Z, -half.Z, half.Z, e.Center.Z+e.Box.Min[2], e.Center.Z+e.Box.Max[2])
}

// meetsInterval reports whether a coordinate, which has moved at speed v between bounds, came within
// withheldMargin of the interval [from, to].
func meetsInterval(s *motion.Stepper, at, v, low, high, from, to float32) bool {
	before, after := at-float32(v*s.TickSeconds), at
	if at <= low || at >= high {
		step := motion.MaxSpeed * s.TickSeconds
		before, after = at-step, at+step
	}
	return max(before, after)+withheldMargin >= from && min(before, after)-withheldMargin <= to
}
