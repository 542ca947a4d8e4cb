package world

// disturb records a disturbance of the body in a slot, in the present tick or, between
// steps, in the next tick.
func (w *World) disturb(slot uint32) {
	if w.disturbed[slot] != w.disturbing {
		w.disturbed[slot] = w.disturbing
		w.recent[w.disturbing&1].Set(slot)
	}
	if int(slot) < len(w.spawned) {
		w.spawned[slot].known = false
	}
}

// disturbNext makes disturb record for the next tick.
func (w *World) disturbNext() {
	w.disturbing = w.tick + 1
	w.recent[w.disturbing&1].Reset()
	w.teleported[w.disturbing&1].Reset()
}

// disturbRow records a disturbance of the body in a row.
func (w *World) disturbRow(row int) { w.disturb(w.bodies.slot[row]) }

// disturbMoved disturbs the bodies that a Mover may move (C6).
func (w *World) disturbMoved() {
	for slot := range w.sleepState.awake.All() {
		w.disturb(slot)
	}
}

// disturbTouching disturbs the awake bodies in the list of contacts, even if no contact
// moved them: their groups decide when they fall asleep (C4).
func (w *World) disturbTouching() {
	for i := range w.contacts.bodies {
		row := int(w.contacts.bodies[i].row)
		if w.bodies.isAwake(row) || w.bodies.willBeAwake(row) {
			w.disturbRow(row)
		}
	}
}

// disturbReached disturbs the awake bodies that a hidden effect acts on (C9).
func (w *World) disturbReached(e *effect) {
	w.eachReached(e, func(row int) {
		if w.bodies.isAwake(row) {
			w.disturbRow(row)
		}
	})
}

// eachReached calls f for the rows that an effect acts on.
func (w *World) eachReached(e *effect, f func(row int)) {
	b := &w.bodies
	act := func(row int) {
		if e.ActsOn(&w.motion.Kinds[b.Kind[row]], b.Position(row)) {
			f(row)
		}
	}
	if !e.Boxed {
		for row := range b.len() {
			act(row)
		}
		return
	}
	r := w.grid.coverBox(e)
	for z := r.z0; z <= r.z1; z++ {
		for x := r.x0; x <= r.x1; x++ {
			for _, slot := range w.grid.slots(z*w.grid.columns + x) {
				act(int(w.rowOf[slot]))
			}
		}
	}
}

// stage returns a number that increases with each motion of bodies and with each end of a
// step.
func (w *World) stage() uint64 {
	if w.moved {
		return w.disturbing<<1 | 1
	}
	return w.disturbing << 1
}

// noteChange records that a call changes an effect, and decides whether the wakes that the
// change causes are disturbances (C9). An effect's first change after a step, before bodies
// move, disturbs no body: clients can repeat its wakes.
func (w *World) noteChange(id EffectID, e *effect) {
	stage := w.stage()
	if w.moved && e.changed != stage && e.first <= w.tick {
		w.effects.keepActed(w, id)
	}
	e.disturbs = e.hidden || w.moved || e.changed == stage
	e.changed = stage
}
