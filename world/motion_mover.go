package world

import (
	"fmt"

	"github.com/worldd/worldd/world/motion"
)

// Mover moves the awake bodies of a step instead of the world's own motion: the hook for an
// external physics engine. The world calls it once per step, after forces and gravity have
// changed velocities (a negative Config.Gravity leaves gravity to the engine). It sets each
// body's new position and velocity with Moving.Set, and is responsible for ground, bounds,
// friction and contacts.
//
// The world still puts slow bodies to sleep, each body alone even if it touches others,
// unless an effect that changes with time acts on it. Only the engine knows whether
// something supports a body: it can keep the body awake with World.Wake, or put it to sleep
// earlier with World.Sleep. A velocity set afterwards wakes the body.
//
// A Mover must depend on the state of the world alone, or replays diverge.
type Mover func(w *World, m *Moving)

// SetMover makes all later steps use f; nil restores the world's own motion. The error
// is ErrValue for a call inside a step.
func (w *World) SetMover(f Mover) error {
	if w.running {
		return fmt.Errorf("%w: SetMover inside a step", ErrValue)
	}
	w.mover = f
	w.noteSetupChange()
	return nil
}

// Moving is the set of awake bodies of one step, numbered from 0 in ascending order of
// slots. It is valid until the Mover returns.
type Moving struct {
	w     *World
	slots []uint32
}

// Len returns the number of bodies.
func (m *Moving) Len() int { return len(m.slots) }

// Entity returns body i's entity.
func (m *Moving) Entity(i int) Entity { return m.w.pool.HandleAt(m.slots[i]) }

// Kind returns body i's kind.
func (m *Moving) Kind(i int) KindID { return m.w.bodies.Kind[m.w.rowOf[m.slots[i]]] }

// Body returns body i's position, and its velocity after the forces.
func (m *Moving) Body(i int) (position, velocity Vec3) {
	row := int(m.w.rowOf[m.slots[i]])
	return m.w.bodies.Position(row), m.w.bodies.Velocity(row)
}

// Set moves body i, within the bounds and at most at MaxSpeed. If a number is not finite,
// the body is stopped where it is and Quarantined.
func (m *Moving) Set(i int, position, velocity Vec3) {
	w := m.w
	row := int(w.rowOf[m.slots[i]])
	b := &w.bodies
	if !motion.Finite(position) || !motion.Finite(velocity) {
		position, velocity = b.Position(row), Vec3{}
		b.Stopped[row>>6] |= 1 << (row & 63)
	}
	position, velocity = w.motion.Enclose(&w.motion.Kinds[b.Kind[row]], position, motion.CapSpeed(velocity))
	if position == b.Position(row) && velocity == b.Velocity(row) {
		return
	}
	if velocity != (Vec3{}) && !b.willBeAwake(row) {
		b.requestWake(row) // the last call wins (W4)
	}
	b.SetPosition(row, position)
	b.SetVelocity(row, velocity)
	b.Moved[row>>6] |= 1 << (row & 63)
	b.crossed[row>>6] |= 1 << (row & 63)
}

// runMover calls the Mover.
func (w *World) runMover() {
	w.moving.w = w
	w.moving.slots = w.sleepState.awake.AppendTo(w.moving.slots[:0])
	w.mover(w, &w.moving)
	w.ApplyDeferred() // before the step destroys doomed entities: changes may refer to them
	w.markSpawned()
}
