package world

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world/motion"
)

// maxEffects bounds the cost of a step: every effect may be evaluated for every awake
// body.
const maxEffects = 4096

// EffectDef describes an effect. The program receives points relative to its centre, and
// the seconds since the effect was added as its time. A program with a box acts only on
// points inside it, faces included. Velocity, Orbit or Follow move the centre as a function
// of the tick (MOTION.md in package motion), so that clients compute it; MoveEffect moves
// it in any other way. The effect first acts in the next motion of bodies; if a Before
// system adds it, that is in the present step. Effects only move bodies: for a fire that
// also burns bodies, give the entity that it follows a Volume, which reports the bodies
// inside.
type EffectDef struct {
	Program   *field.Program
	Params    []field.Vec4 // copied; nil means the program's defaults
	Mode      EffectMode
	Center    Vec3
	Velocity  Vec3        // m/s of the centre, which starts at Center; each coordinate at most 1e6
	Orbit     EffectOrbit // ellipse around Center, or zero
	Follow    Entity      // entity, or zero; Center is relative to its body's position before bodies move, and the effect ends with the entity
	Layers    Layers      // layers of the kinds that feel it; 0 means all
	LifeTicks uint32      // number of steps in which it acts; 0 means no limit
	Hidden    bool        // not replicated: bodies that it moves or wakes count as disturbed; implied by LifeTicks 1
}

// EffectID names an effect: a weak handle like Entity, from a separate pool.
type EffectID = bulk.Handle

// effects holds the effects of the world: pointer-free records in the pool, the rest in
// slices by slot.
type effects struct {
	pool      *bulk.Pool[effect]
	programs  []*field.Program
	params    [][]field.Vec4
	ended     []endedEffect  // effects that ended since the step before the last
	acted     []EffectState  // see SlotView.AppendActedEffects
	forces    motion.Forces  // of the current step
	hidden    []motion.Reach // reaches of the hidden effects among forces
	boxed     int            // number of forces with a box
	followers int            // number of effects that follow an entity
	moving    int            // number of effects whose path moves by itself

	interpreted []InterpretedEffect // scratch of interpretedEffects
}

type effect struct {
	born    uint64 // tick at which it was added
	first   uint64 // first tick in which it acts
	expires uint64 // last tick; 0 for none
	follows Entity // or 0
	path    motion.Path
	mode    EffectMode
	hidden  bool
	motion.Reach

	changed  uint64 // stage of the last change by a call; see noteChange
	disturbs bool   // the bodies that the effect wakes now are disturbed
}

func newEffects() (effects, error) {
	pool, err := bulk.NewPool[effect](bulk.Options{MaxSlots: maxEffects})
	if err != nil {
		return effects{}, fmt.Errorf("world: effects: %w", err)
	}
	return effects{pool: pool}, nil
}

// AddEffect adds an effect and wakes the bodies in its box, or all bodies if it has
// none. The error is ErrFull or ErrValue: no program, an unknown mode, parameters that
// are too many or few, not finite or outside the program's ranges, a path that is not
// finite, or a Follow that is not live or has no body.
func (w *World) AddEffect(d EffectDef) (EffectID, error) {
	if d.Program == nil || d.Program.Hash() == 0 { // an image with the zero Program could not be read back
		return 0, fmt.Errorf("%w: the effect has no program", ErrValue)
	}
	if d.Mode > Acceleration {
		return 0, fmt.Errorf("%w: no effect mode %d; use Wind or Acceleration", ErrValue, d.Mode)
	}
	path, err := d.path()
	if err != nil {
		return 0, err
	}
	params, err := resolveParams(d.Program, d.Params)
	if err != nil {
		return 0, err
	}
	first := w.nextMotion()
	center := path.At(&w.motion, first-w.tick)
	if d.Follow != 0 {
		at, ok := w.Position(d.Follow)
		if !ok {
			return 0, fmt.Errorf("%w: the effect follows %v, which is %v or has no body", ErrValue, d.Follow, w.Status(d.Follow))
		}
		center = at.Add(d.Center)
	}
	id, e := w.effects.pool.Add()
	if e == nil {
		return 0, fmt.Errorf("%w: the world already has %d effects, the maximum", ErrFull, maxEffects)
	}
	*e = effect{born: w.tick, first: first, path: path, follows: d.Follow, mode: d.Mode, hidden: d.Hidden || d.LifeTicks == 1}
	e.Center, e.Layers = center, d.Layers
	e.Reach.Set(d.Program, params)
	if d.LifeTicks != 0 {
		e.expires = first + uint64(d.LifeTicks) - 1
	}
	w.effects.countPath(e, 1)
	w.effects.set(id.Index(), d.Program, params)
	w.noteChange(id, e)
	w.wakeEffect(e)
	for _, r := range w.recording() {
		r.addEffect(id, &d, params)
	}
	return id, nil
}

// resolveParams checks the given parameters, or returns the defaults of p.
func resolveParams(p *field.Program, given []field.Vec4) ([]field.Vec4, error) {
	declared := p.Params()
	params := make([]field.Vec4, len(declared))
	for i, d := range declared {
		params[i] = d.Default
	}
	if given == nil {
		return params, nil
	}
	if len(given) != len(declared) {
		return nil, fmt.Errorf("%w: %d effect parameters; the program declares %d", ErrValue, len(given), len(declared))
	}
	for i, v := range given {
		if !finiteVec4(v) {
			return nil, fmt.Errorf("%w: effect parameter %q is %v: not finite", ErrValue, declared[i].Name, v)
		}
		if d := declared[i]; !d.Allows(v) {
			return nil, fmt.Errorf("%w: effect parameter %q is %v; its range is %v to %v", ErrValue, d.Name, v, d.Min, d.Max)
		}
	}
	copy(params, given)
	return params, nil
}

func finiteVec4(v field.Vec4) bool {
	return v[0]-v[0] == 0 && v[1]-v[1] == 0 && v[2]-v[2] == 0 && v[3]-v[3] == 0
}

func (f *effects) set(slot uint32, p *field.Program, params []field.Vec4) {
	for uint32(len(f.programs)) <= slot {
		f.programs, f.params = append(f.programs, nil), append(f.params, nil)
	}
	f.programs[slot], f.params[slot] = p, params
}

// MoveEffect moves the effect's centre, ends its Velocity or Orbit, and wakes the bodies in
// its old and new box. If the effect follows a body, to is relative to that body. It
// returns false and does nothing unless the effect is live and the position finite.
func (w *World) MoveEffect(id EffectID, to Vec3) bool {
	e := w.effects.pool.Get(id)
	if e == nil || !motion.Finite(to) {
		return false
	}
	for _, r := range w.recording() {
		r.vectorOp(opMoveEffect, id, to)
	}
	w.noteChange(id, e)
	w.effects.countPath(e, -1)
	e.path = motion.Path{Form: e.path.Form, Center: to}
	if e.follows == 0 {
		e.path.Form = motion.Fixed
	}
	w.effects.countPath(e, 1)
	if e.follows != 0 {
		w.followEntity(e)
		return true
	}
	w.moveCenter(e, to)
	return true
}

// moveCenter moves an effect's centre.
func (w *World) moveCenter(e *effect, to Vec3) {
	if e.Center == to {
		return
	}
	old := *e
	e.Center = to
	if e.Boxed {
		w.wakeBoxes(&old, e)
	} else {
		w.wakeEffect(e)
	}
}

// SetEffectParams changes the effect's parameters, in the order of the program's
// declarations, and wakes the bodies in its box. Equal parameters change nothing and
// wake nothing. It returns false and does nothing unless the effect is live and the
// parameters are as many as declared, within their ranges, and finite.
func (w *World) SetEffectParams(id EffectID, params []field.Vec4) bool {
	e := w.effects.pool.Get(id)
	if e == nil {
		return false
	}
	own := w.effects.params[id.Index()]
	if !w.effects.programs[id.Index()].Allows(params) {
		return false
	}
	for _, v := range params {
		if !finiteVec4(v) {
			return false
		}
	}
	if slices.Equal(own, params) {
		return true // stores nothing: recordings omit this call, so not even the sign of a zero may change
	}
	w.noteChange(id, e) // keeps the state in which the effect acted
	copy(own, params)
	e.Reach.Set(w.effects.programs[id.Index()], own)
	w.wakeEffect(e)
	for _, r := range w.recording() {
		r.effectParams(id, params)
	}
	return true
}

// RemoveEffect removes the effect at once and wakes the bodies in its box: they may fall
// now. It returns false unless the effect is live.
func (w *World) RemoveEffect(id EffectID) bool {
	e := w.effects.pool.Get(id)
	if e == nil {
		return false
	}
	for _, r := range w.recording() {
		r.handleOp(opRemoveEffect, id)
	}
	w.noteChange(id, e)
	w.removeEffect(id, e)
	return true
}

// removeEffect removes an effect without recording a call.
func (w *World) removeEffect(id EffectID, e *effect) {
	w.wakeEffect(e)
	w.effects.countPath(e, -1)
	slot := id.Index()
	w.effects.programs[slot], w.effects.params[slot] = nil, nil
	w.effects.ended = append(w.effects.ended, endedEffect{id, w.nextMotion()})
	w.effects.pool.Remove(id)
}

// expireEffects removes the effects whose last tick is this one.
func (w *World) expireEffects() {
	pool := w.effects.pool
	live := pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		if e := pool.At(slot); e.expires != 0 && e.expires <= w.tick {
			kept := e.changed == w.stage() // noteChange has kept its state: it changed after its last motion
			if !kept && (e.changed == w.tick<<1 || e.path.Form != motion.Fixed) {
				w.effects.keepActed(w, pool.HandleAt(slot))
			}
			e.disturbs = e.hidden
			w.removeEffect(pool.HandleAt(slot), e)
		}
	}
}

func (w *World) wakeEffect(e *effect) {
	if e.Boxed {
		w.wakeBoxes(e, e)
		return
	}
	for row := range w.bodies.len() {
		w.wakeByForce(e, row)
	}
}

// wakeByForce wakes a body if it feels the effect.
func (w *World) wakeByForce(e *effect, row int) {
	if w.motion.Kinds[w.bodies.Kind[row]].Feels(e.Layers) {
		if e.disturbs {
			w.disturbRow(row)
		}
		w.requestWake(row)
	}
}

// wakeBoxes wakes the bodies in either box. If the boxes are close, which is usual, one
// search covers both; after a jump, each box has its own search.
func (w *World) wakeBoxes(a, b *effect) {
	ra, rb := w.grid.coverBox(a), w.grid.coverBox(b)
	both := ra.union(rb)
	if both.size() > ra.size()+rb.size() {
		w.wakeRegion(ra, a, a)
		w.wakeRegion(rb, b, b)
		return
	}
	w.wakeRegion(both, a, b)
}

func (w *World) wakeRegion(r region, a, b *effect) {
	for z := r.z0; z <= r.z1; z++ {
		for x := r.x0; x <= r.x1; x++ {
			for _, slot := range w.grid.slots(z*w.grid.columns + x) {
				row := int(w.rowOf[slot])
				if p := w.bodies.Position(row); a.Contains(p) || b.Contains(p) {
					w.wakeByForce(a, row)
				}
			}
		}
	}
}

// InterpretedEffect counts the live effects of one name that are interpreted, at about 40
// times the cost of vector kernels.
type InterpretedEffect struct {
	Name   string // name of the program, "unnamed", or "other" for programs beyond 15 names
	Live   int
	Reason error // reason for one of these effects; see field.Program.Interpreted
}

// maxInterpretedNames bounds the names reported to operators when a game compiles
// untrusted programs.
const maxInterpretedNames = 16

func (w *World) interpretedEffects() []InterpretedEffect {
	f := &w.effects
	f.interpreted = f.interpreted[:0]
	live := f.pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		if reason := f.programs[slot].Interpreted(); reason != nil {
			f.countInterpreted(cmp.Or(f.programs[slot].Name(), "unnamed"), reason)
		}
	}
	return f.interpreted
}

func (f *effects) countInterpreted(name string, reason error) {
	named := func(name string) int {
		return slices.IndexFunc(f.interpreted, func(e InterpretedEffect) bool { return e.Name == name })
	}
	at := named(name)
	if at < 0 && len(f.interpreted) >= maxInterpretedNames-1 {
		name = "other"
		at = named(name)
	}
	if at < 0 {
		at = len(f.interpreted)
		f.interpreted = append(f.interpreted, InterpretedEffect{Name: name, Reason: reason})
	}
	f.interpreted[at].Live++
}
