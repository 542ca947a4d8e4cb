package world

import "math/bits"

// Quarantine tells of a body that was to be given a position or velocity that is
// not finite. It was stopped where it was instead, and the world went on.
type Quarantine struct {
	Entity Entity
	System string // that tried; empty if fields or motion led there
}

// Quarantined returns the bodies that were stopped during the last step, each
// once: by Before systems, by fields and motion in ascending order of slots, and
// by After systems. Valid until the next Step; read only.
//
// Between steps nobody is quarantined: whoever calls then is told false, and the
// number is nobody's but the caller's. A system is told so, too, but it is part
// of the world, and a body whose rule has failed must not go on as if the rule
// did not exist.
func (w *World) Quarantined() []Quarantine { return w.events.quarantined }

// refuse is what happens to a number that is not finite.
func (w *World) rejectNonFinite(e Entity, row int) bool {
	if w.current != "" {
		if w.bodies.Velocity(row) != (Vec3{}) {
			w.bodies.SetVelocity(row, Vec3{})
			w.dirty.Set(e.Index())
		}
		w.quarantine(e.Index())
	}
	return false
}

// quarantine notes that the body of a slot was stopped.
func (w *World) quarantine(slot uint32) {
	w.counts.quarantined++
	if !w.events.stopped.Has(slot) {
		w.events.stopped.Set(slot)
		w.events.quarantined = append(w.events.quarantined, Quarantine{w.tenant(slot), w.current})
	}
}

// noteHalted quarantines the bodies that motion stopped.
func (w *World) quarantineStopped() {
	b, slotSet := &w.bodies, &w.sleepState.slotSet
	for i, word := range b.Stopped {
		if word == 0 {
			continue
		}
		for ; word != 0; word &= word - 1 {
			slotSet.put(b.slot[i<<6|bits.TrailingZeros64(word)], true)
		}
		b.Stopped[i] = 0
	}
	for _, slot := range w.sleepState.drainSlots() {
		w.quarantine(slot)
	}
}
