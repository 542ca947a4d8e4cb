package world

import "github.com/worldd/worldd/world/motion"

// Names of package motion that users of world need.
type (
	// Vec3 is a point, direction or velocity in metres and seconds; Y is up.
	Vec3 = motion.Vec3
	// Bounds selects what happens to a body that moves out of the world. A position
	// passed to Spawn or SetPosition is always clamped.
	Bounds = motion.Bounds
	// EffectMode is the meaning of a program's vectors.
	EffectMode = motion.Mode
	// Layers is a set of up to 32 layers, one bit each, with meanings defined by the
	// game: players, leaves, ships. Kinds are in layers; effects and volumes select
	// layers.
	Layers = motion.Layers
)

// Constants of package motion.
const (
	BoundsClamp   = motion.BoundsClamp
	BoundsBounce  = motion.BoundsBounce
	BoundsDestroy = motion.BoundsDestroy

	Wind         = motion.Wind
	Acceleration = motion.Acceleration

	// MaxSpeed is the highest speed of a body in m/s.
	MaxSpeed = motion.MaxSpeed
)

// DefaultLayer is the layer of kinds that name none.
const DefaultLayer Layers = 1

// row returns the row of a live entity's body. It reads generations instead of the pool,
// because event handling reads generations too: two arrays are in the cache, not three. A
// free slot keeps its newest generation, but has no row.
func (w *World) row(e Entity) (int, bool) {
	slot := e.Index()
	if uint64(slot) >= uint64(len(w.generations)) || w.generations[slot] != e.Generation() {
		return 0, false
	}
	r := w.rowOf[slot]
	return int(r), r != noRow
}

// Position returns a body's position; false unless the entity is live and has a body.
func (w *World) Position(e Entity) (Vec3, bool) {
	row, ok := w.row(e)
	if !ok {
		return Vec3{}, false
	}
	return w.bodies.Position(row), true
}

// Velocity returns a body's velocity; false unless the entity is live and has a body.
func (w *World) Velocity(e Entity) (Vec3, bool) {
	row, ok := w.row(e)
	if !ok {
		return Vec3{}, false
	}
	return w.bodies.Velocity(row), true
}

// SetPosition moves a body to a position clamped to the bounds, and wakes the body and all
// bodies that touch it before or after the move. A body that could not have moved as far in
// one tick at MaxSpeed is teleported: see MarkTeleported. SetPosition returns false and does
// nothing unless the entity is live, has a body, and the position is finite. If a system
// passes a position that is not finite, the body is Quarantined.
func (w *World) SetPosition(e Entity, to Vec3) bool {
	row, ok := w.row(e)
	if !ok {
		return false
	}
	if !motion.Finite(to) {
		return w.rejectNonFinite(e, row)
	}
	w.disturbRow(row)
	w.recordMove(row, false)
	w.requestGroupWake(row) // at its old position
	w.markLeap(e.Index(), w.bodies.Position(row), w.motion.Clamp(to))
	w.bodies.SetPosition(row, w.motion.Clamp(to))
	w.updateCell(row)
	w.volumes.markDisplaced(e.Index())
	w.requestGroupWake(row)
	w.dirty.Set(e.Index())
	for _, r := range w.recording() {
		r.vectorOp(opPosition, e, to)
	}
	return true
}

// SetVelocity sets a body's velocity, capped at MaxSpeed, and wakes it. It returns
// false and does nothing unless the entity is live, has a body, and the velocity is
// finite. If a system passes another number, the body is Quarantined.
func (w *World) SetVelocity(e Entity, v Vec3) bool {
	row, ok := w.row(e)
	if !ok {
		return false
	}
	if !motion.Finite(v) {
		return w.rejectNonFinite(e, row)
	}
	w.disturbRow(row)
	w.bodies.SetVelocity(row, motion.CapSpeed(v))
	if w.motion.NearRest(&w.motion.Kinds[w.bodies.Kind[row]], v) {
		w.requestWake(row)
	} else {
		w.requestGroupWake(row)
	}
	w.dirty.Set(e.Index())
	for _, r := range w.recording() {
		r.vectorOp(opVelocity, e, v)
	}
	return true
}

// Impulse applies an impulse in N s to a body and wakes it. It returns false and does
// nothing unless the entity is live, has a body that is not kinematic, and the impulse
// and the resulting velocity are finite. If a system causes a velocity that is not
// finite, the body is Quarantined.
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
