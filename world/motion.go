package world

import "github.com/worldd/worldd/world/motion"

// Names of package motion that the world's users need.
type (
	// Vec3 is a point, direction or velocity in metres and seconds; Y is up.
	Vec3 = motion.Vec3
	// Bounds says what happens to a body that moves out of the world. A place that
	// is given to Spawn or SetPosition is clamped, whatever the rule.
	Bounds = motion.Bounds
	// EffectMode says what a program's vectors mean.
	EffectMode = motion.Mode
	// Layers is a set of up to 32 layers, a bit each, which the game gives meaning
	// to: players, leaves, ships. A kind is in some, and an effect or a volume is
	// about some.
	Layers = motion.Layers
)

// What package motion says of them.
const (
	BoundsClamp   = motion.BoundsClamp
	BoundsBounce  = motion.BoundsBounce
	BoundsDestroy = motion.BoundsDestroy

	Wind         = motion.Wind
	Acceleration = motion.Acceleration

	// MaxSpeed is the speed in m/s that no body exceeds.
	MaxSpeed = motion.MaxSpeed
)

// DefaultLayer is where kinds are that say nothing else.
const DefaultLayer Layers = 1

// row returns the row of a live entity's body. It asks the noted generations and not
// the pool, since events read them, too: two arrays are in the cache, not three. Of a
// slot that is free the newest generation is noted, and it has no row.
func (w *World) row(e Entity) (int, bool) {
	slot := e.Index()
	if uint64(slot) >= uint64(len(w.generations)) || w.generations[slot] != e.Generation() {
		return 0, false
	}
	r := w.rowOf[slot]
	return int(r), r != noRow
}

// Position returns where a body is; false unless the entity is live and has one.
func (w *World) Position(e Entity) (Vec3, bool) {
	row, ok := w.row(e)
	if !ok {
		return Vec3{}, false
	}
	return w.bodies.Position(row), true
}

// Velocity returns a body's velocity; false unless the entity is live and has
// one.
func (w *World) Velocity(e Entity) (Vec3, bool) {
	row, ok := w.row(e)
	if !ok {
		return Vec3{}, false
	}
	return w.bodies.Velocity(row), true
}

// Body returns the position and velocity of a slot's tenant; false if the slot
// is free or its tenant has no body.
func (w *World) Body(slot uint32) (position, velocity Vec3, ok bool) {
	if uint64(slot) >= uint64(len(w.rowOf)) || w.rowOf[slot] == noRow {
		return Vec3{}, Vec3{}, false
	}
	row := int(w.rowOf[slot])
	return w.bodies.Position(row), w.bodies.Velocity(row), true
}

// SetPosition puts a body somewhere else, clamped to the bounds, and wakes it and
// what it touches, there and here.
// False, and nothing happens, unless the entity is live, has a body, and the
// position is finite; a system that gives one which is not has the body
// Quarantined.
func (w *World) SetPosition(e Entity, to Vec3) bool {
	row, ok := w.row(e)
	if !ok {
		return false
	}
	if !motion.Finite(to) {
		return w.rejectNonFinite(e, row)
	}
	w.recordMove(row, false)
	w.wakeGroup(row) // where it was
	w.bodies.SetPosition(row, w.motion.Clamp(to))
	w.updateCell(row)
	w.volumes.markDisplaced(e.Index())
	w.wakeGroup(row)
	w.dirty.Set(e.Index())
	if r := w.recording(); r != nil {
		r.vectorOp(opPosition, e, to)
	}
	return true
}

// SetVelocity gives a body a velocity, capped at MaxSpeed, and wakes it. False,
// and nothing happens, unless the entity is live, has a body, and the velocity
// is finite; a system that gives one which is not has the body Quarantined.
func (w *World) SetVelocity(e Entity, v Vec3) bool {
	row, ok := w.row(e)
	if !ok {
		return false
	}
	if !motion.Finite(v) {
		return w.rejectNonFinite(e, row)
	}
	w.bodies.SetVelocity(row, motion.CapSpeed(v))
	if w.motion.NearRest(&w.motion.Kinds[w.bodies.Kind[row]], v) {
		w.wake(row)
	} else {
		w.wakeGroup(row)
	}
	w.dirty.Set(e.Index())
	if r := w.recording(); r != nil {
		r.vectorOp(opVelocity, e, v)
	}
	return true
}

// Impulse pushes a body by so many N s, and wakes it. False, and nothing happens,
// unless the entity is live, has a body that is not kinematic, and the impulse
// and the velocity that it leads to are finite; a system whose impulse does not
// lead to one has the body Quarantined.
func (w *World) Impulse(e Entity, push Vec3) bool {
	row, ok := w.row(e)
	if !ok {
		return false
	}
	params := &w.motion.Kinds[w.bodies.Kind[row]]
	v := w.bodies.Velocity(row).Add(push.Scale(params.InvMass))
	if params.InvMass == 0 {
		return false
	}
	return w.SetVelocity(e, v)
}

// Wake says that a body is to be awake in the next flush: the last word of Wake
// and Sleep wins. False unless the entity is live and has a body.
func (w *World) Wake(e Entity) bool {
	row, ok := w.row(e)
	if ok {
		w.wake(row)
		if r := w.recording(); r != nil {
			r.handleOp(opWake, e)
		}
	}
	return ok
}

// Sleep stops a body and says that it is to be asleep in the next flush: the last
// word of Wake and Sleep wins. Whatever touches the body later wakes it. False
// unless the entity is live and has a body.
func (w *World) Sleep(e Entity) bool {
	row, ok := w.row(e)
	if !ok {
		return false
	}
	if w.bodies.Velocity(row) != (Vec3{}) {
		w.dirty.Set(e.Index())
	}
	w.bodies.sleep(row)
	if r := w.recording(); r != nil {
		r.handleOp(opSleep, e)
	}
	return true
}

// Awake says whether the next step will move the entity's body: words that are
// still to be carried out count as done.
func (w *World) Awake(e Entity) bool {
	row, ok := w.row(e)
	return ok && w.bodies.willBeAwake(row)
}
