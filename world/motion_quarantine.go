package world

import (
	"iter"
	"math/bits"
	"slices"
)

// Quarantine reports a body that was stopped instead of receiving a position or velocity
// that is not finite.
type Quarantine struct {
	Entity Entity
	System string // system that set the number; empty if effects or motion caused it
}

// Quarantined yields the bodies that were stopped during the last step, each once:
// by Before systems, then by effects and motion in ascending order of slots, then by
// After systems. Valid until the next Step.
//
// Between steps nothing is quarantined: the call returns false, and its caller handles the
// error. A system's call returns false too, but a system is part of the world: a body whose
// rule failed must not continue as if there were no rule.
func (w *World) Quarantined() iter.Seq[Quarantine] { return slices.Values(w.events.quarantined) }

// rejectNonFinite rejects a number for a body, and stops the body inside a system.
func (w *World) rejectNonFinite(e Entity, row int) bool {
	if w.current != "" {
		w.disturbRow(row)
		if w.bodies.Velocity(row) != (Vec3{}) {
			w.bodies.SetVelocity(row, Vec3{})
			w.dirty.Set(e.Index())
		}
		w.quarantine(e.Index())
	}
	return false
}

// quarantine records that the body of a slot was stopped.
func (w *World) quarantine(slot uint32) {
	w.counts.quarantined++
	if !w.events.stopped.Has(slot) {
		w.events.stopped.Set(slot)
		w.events.quarantined = append(w.events.quarantined, Quarantine{w.tenant(slot), w.current})
	}
}

// quarantineStopped quarantines the bodies that motion stopped.
func (w *World) quarantineStopped() {
	b, slotSet := &w.bodies, &w.sleepState.slotSet
	for i, word := range b.Stopped[:min((b.awakeEnd(b.len())+63)>>6, len(b.Stopped))] {
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
