package world

import (
	"fmt"

	"github.com/worldd/worldd/world/motion"
)

// Mover moves the awake bodies of a step in place of the world's own motion: an
// engine of the user's. It is called once a step with velocities that forces and
// gravity have changed already (Config.Gravity below zero leaves gravity to the
// engine), and says with Moving.Set where each body gets to. Ground, bounds,
// friction and contacts are then its business, but not sleep: a body that is slow
// for long enough is put to sleep by itself, touching others or not, unless the
// engine keeps it awake with World.Wake, or puts it to sleep earlier with
// World.Sleep; a velocity that it is Set to after that wakes it again.
//
// What it does must follow from the state of the world alone, or replays differ.
type Mover func(w *World, m *Moving)

// SetMover makes every later step use f; nil gives the motion back to the world.
// The error is ErrValue, for a call inside a step.
func (w *World) SetMover(f Mover) error {
	if w.running {
		return fmt.Errorf("%w: SetMover inside a step", ErrValue)
	}
	w.mover = f
	w.noteSetupChange()
	return nil
}

// Moving is the awake bodies of one step, numbered from 0 in ascending order of
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

// Body returns where body i is, and its velocity after the forces.
func (m *Moving) Body(i int) (position, velocity Vec3) {
	row := int(m.w.rowOf[m.slots[i]])
	return m.w.bodies.Position(row), m.w.bodies.Velocity(row)
}

// Set puts body i somewhere else with a velocity, within the bounds and at most
// at MaxSpeed. A body that is given a number which is not finite is stopped where
// it is, and Quarantined.
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
		b.wake(row) // the last word counts (W4)
	}
	b.SetPosition(row, position)
	b.SetVelocity(row, velocity)
	b.Moved[row>>6] |= 1 << (row & 63)
	b.crossed[row>>6] |= 1 << (row & 63)
}

// letMove calls the Mover.
func (w *World) runMover() {
	w.moving.w = w
	w.moving.slots = w.sleepState.awake.AppendTo(w.moving.slots[:0])
	w.mover(w, &w.moving)
	w.ApplyDeferred() // ahead of the step's end, which destroys: it may be about the doomed
	w.markSpawned()
}
