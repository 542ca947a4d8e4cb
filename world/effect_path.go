package world

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world/motion"
)

// EffectOrbit is an ellipse around an effect's centre, in the plane of two axes. Angles
// are in turns of 1<<32, which wrap.
type EffectOrbit struct {
	AxisU, AxisV Vec3   // metres from Center at angle 0, and a quarter turn later; each coordinate at most 1e6
	Phase        uint32 // angle in the step before the first, or in the first step if a Before system adds the effect
	Rate         uint32 // angle per step; negate it to reverse the orbit
}

// path returns the path that the fields of d select.
func (d *EffectDef) path() (motion.Path, error) {
	p, ways := motion.Path{Center: d.Center}, 0
	if d.Velocity != (Vec3{}) {
		p.Form, p.Velocity = motion.Linear, d.Velocity
		ways++
	}
	if o := d.Orbit; o != (EffectOrbit{}) {
		p.Form, p.AxisU, p.AxisV, p.Phase, p.Rate = motion.Orbit, o.AxisU, o.AxisV, o.Phase, o.Rate
		ways++
	}
	if d.Follow != 0 {
		p.Form = motion.Following
		ways++
	}
	if ways > 1 {
		return p, fmt.Errorf("%w: the effect has several of Velocity, Orbit and Follow", ErrValue)
	}
	if err := p.Check(); err != nil {
		return p, fmt.Errorf("%w: the effect's path: %w", ErrValue, err)
	}
	return p, nil
}

// countPath adds an effect to the counts of effects that move, or removes it.
func (f *effects) countPath(e *effect, by int) {
	switch e.path.Form {
	case motion.Linear, motion.Orbit:
		f.moving += by
	case motion.Following:
		f.followers += by
	}
}

// advancePaths moves effects to their centres of this tick.
func (w *World) advancePaths() {
	if w.effects.moving+w.effects.followers == 0 {
		return
	}
	pool := w.effects.pool
	live := pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		switch e := pool.At(slot); e.path.Form {
		case motion.Linear, motion.Orbit:
			e.disturbs = e.hidden
			w.moveCenter(e, e.path.At(&w.motion, w.tick-e.born))
		case motion.Following:
			e.disturbs = e.hidden || e.changed == w.stage() // the body that it follows moved since the change
			w.followEntity(e)
		}
	}
}

// EffectState is the state of an effect for the next motion of bodies. Only the centre of a
// Velocity or Orbit moves once more before that motion.
type EffectState struct {
	ID     EffectID
	Follow Entity
	Hidden bool
	Center Vec3 // now
	// Changed is the first tick to which the newest call applies: the call that added the
	// effect or changed its path or parameters.
	Changed uint64
	motion.Source
}

// Effect returns the state of a live effect. Last is 0 if the effect has no limit.
func (w *World) Effect(id EffectID) (EffectState, bool) {
	if w.effects.pool.Get(id) == nil {
		return EffectState{}, false
	}
	return w.effectState(id, nil), true
}

// effectState returns the state of a live effect, with a copy of its parameters in params.
func (w *World) effectState(id EffectID, params []field.Vec4) EffectState {
	e := w.effects.pool.Get(id)
	return EffectState{ID: id, Follow: e.follows, Hidden: e.hidden, Center: e.Center, Changed: e.changed>>1 + e.changed&1, Source: motion.Source{
		Program: w.effects.programs[id.Index()], Params: append(params[:0], w.effects.params[id.Index()]...), Mode: e.mode, Layers: e.Layers,
		Path: e.path, Leader: e.follows.Index(), Born: e.born, First: e.first, Last: e.expires,
	}}
}

// endedEffect is an effect that ended, and the first tick without it.
type endedEffect struct {
	id    EffectID
	first uint64
}

// forgetEnded drops the effects that ended before the last step.
func (f *effects) forgetEnded(tick uint64) {
	f.ended = slices.DeleteFunc(f.ended, func(e endedEffect) bool { return e.first <= tick })
}

// AppendEffects appends the states of all effects to list, ascending by slot. It reuses the
// Params of the elements that it overwrites, up to list's capacity.
func (w *World) AppendEffects(list []EffectState) []EffectState {
	live := w.effects.pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		var params []field.Vec4
		list, params = growEffects(list)
		list[len(list)-1] = w.effectState(w.effects.pool.HandleAt(slot), params)
	}
	return list
}

// growEffects appends an element to list, and returns its former Params for reuse.
func growEffects(list []EffectState) (longer []EffectState, params []field.Vec4) {
	list = slices.Grow(list, 1)[:len(list)+1]
	return list, list[len(list)-1].Params
}

// keepActed stores the state of an effect for AppendActedEffects.
func (f *effects) keepActed(w *World, id EffectID) {
	var params []field.Vec4
	f.acted, params = growEffects(f.acted)
	f.acted[len(f.acted)-1] = w.effectState(id, params)
}

// endOrphans removes the effects that follow a destroyed entity.
func (w *World) endOrphans() {
	if w.effects.followers == 0 {
		return
	}
	pool := w.effects.pool
	live := pool.Live()
	for slot, ok := live.Next(0); ok; slot, ok = live.Next(slot + 1) {
		e := pool.At(slot)
		if e.follows == 0 {
			continue
		}
		if _, ok := w.row(e.follows); !ok {
			w.noteChange(pool.HandleAt(slot), e)
			w.removeEffect(pool.HandleAt(slot), e)
		}
	}
}

// followEntity moves e to the body that it follows.
func (w *World) followEntity(e *effect) {
	if at, ok := w.Position(e.follows); ok {
		w.moveCenter(e, at.Add(e.path.Center))
	}
}
