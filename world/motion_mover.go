package world

import (
	"fmt"

	"github.com/worldd/worldd/world/motion"
)

// MovingBody is an awake body, as the function of SetMover receives and moves it.
type MovingBody struct {
	Entity   Entity
	Kind     KindID
	Position Vec3
	Velocity Vec3 // after the forces
}

// SetMover replaces the world's own motion: in all later steps, move moves the awake bodies. It is
// the hook for an external physics engine. nil restores the world's motion. The error is
// ErrValue for a call inside a step.
//
// The world calls move once per step, after forces and gravity have changed velocities (a negative
// Config.Gravity leaves gravity to the engine). move writes the new positions and velocities into
// bodies, which are in ascending order of slots and valid during the call. It is responsible for
// ground, bounds, friction and contacts. The world then applies the state of each body
// that move changed, limited to the bounds and to MaxSpeed. A body with a number that is not finite is stopped
// where it is and Quarantined.
//
// The world still puts slow bodies to sleep, each body alone even if it touches others,
// unless an effect that changes with time acts on it. Only the engine knows whether
// something supports a body: it can keep the body awake with World.Wake, or put it to sleep
// earlier with World.Sleep. A body that it gives another velocity than zero stays awake.
//
// move must depend on the state of the world alone, or replays diverge.
func (w *World) SetMover(move func(w *World, bodies []MovingBody)) error {
	if w.running {
		return fmt.Errorf("%w: SetMover inside a step", ErrValue)
	}
	w.mover = nil
	if move != nil {
		w.mover = &mover{move: move}
	}
	w.noteSetupChange()
	return nil
}

// mover calls the function of SetMover.
type mover struct {
	move   func(*World, []MovingBody)
	slots  []uint32     // awake bodies
	before []MovingBody // their states ahead of the call
	bodies []MovingBody // their states after the call
}

// runMover lets the mover move the awake bodies.
func (w *World) runMover() {
	m, b := w.mover, &w.bodies
	m.slots, m.before = w.sleepState.awake.AppendTo(m.slots[:0]), m.before[:0]
	for _, slot := range m.slots {
		row := int(w.rowOf[slot])
		m.before = append(m.before, MovingBody{w.tenant(slot), b.Kind[row], b.Position(row), b.Velocity(row)})
	}
	m.bodies = append(m.bodies[:0], m.before...)
	m.move(w, m.bodies)
	for i, slot := range m.slots {
		if m.bodies[i] != m.before[i] {
			w.moveBody(int(w.rowOf[slot]), m.bodies[i].Position, m.bodies[i].Velocity)
		}
	}
	w.ApplyDeferred() // before the step destroys doomed entities: changes may refer to them
	w.markSpawned()
}

// moveBody moves the body in a row for the mover.
func (w *World) moveBody(row int, position, velocity Vec3) {
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
	w.markLeap(b.slot[row], b.Position(row), position)
	b.SetPosition(row, position)
	b.SetVelocity(row, velocity)
	b.Moved[row>>6] |= 1 << (row & 63)
	b.crossed[row>>6] |= 1 << (row & 63)
}
