package predict

import "github.com/worldd/worldd/internal/rowschema"

// inputRing holds the newest inputs by tick, and the input in force at the confirmed tick.
type inputRing struct {
	values Ring
	ticks  []uint32 // by slot; 0: none
	newest uint32   // 0: none
	held   uint32   // tick of the input in heldSlot; 0: none
}

// resizeSlots makes new slots, all empty.
func (r *inputRing) resizeSlots(slots int) {
	r.ticks = make([]uint32, slots)
	r.values.resize(slots)
}

func (r *inputRing) slotOf(tick uint32) int {
	return ringSlot + int(tick%uint32(len(r.ticks)-ringSlot))
}

// hasInput reports whether an input for tick is recorded.
func (r *inputRing) hasInput(tick uint32) bool { return r.ticks[r.slotOf(tick)] == tick }

// recordInput records the input for tick, a body of m, and drops those for later ticks.
func (r *inputRing) recordInput(tick uint32, m *rowschema.Message, body *rowschema.Payload) error {
	if tick < r.newest { // the server's time went back
		r.dropRange(tick, r.newest)
	}
	slot := r.slotOf(tick)
	r.values.zero(slot)
	if err := m.Restore(body, r.values.at(slot)); err != nil {
		return err
	}
	r.ticks[slot], r.newest = tick, tick
	return nil
}

// dropRange drops the inputs for the ticks from first to last.
func (r *inputRing) dropRange(first, last uint32) {
	for i, t := range r.ticks {
		if t >= first && t <= last {
			r.ticks[i] = 0
		}
	}
}

// dropAll drops all recorded inputs.
func (r *inputRing) dropAll() {
	clear(r.ticks)
	r.newest = 0
}

// newestUntil returns the newest recorded tick not after tick, 0 if there is none.
func (r *inputRing) newestUntil(tick uint32) uint32 {
	newest := uint32(0)
	for _, t := range r.ticks {
		if t <= tick {
			newest = max(newest, t)
		}
	}
	return newest
}

// holdInput copies the recorded input for a tick to heldSlot; tick 0 is none.
func (r *inputRing) holdInput(tick uint32) {
	r.held = tick
	if tick == 0 {
		r.values.zero(heldSlot)
	} else {
		r.values.copyValue(heldSlot, r.slotOf(tick))
	}
}

// slotOfInput returns the slot of the input for a tick, which must be recorded, held or 0: none.
func (r *inputRing) slotOfInput(tick uint32) int {
	switch {
	case tick == 0:
		return zeroSlot
	case r.hasInput(tick):
		return r.slotOf(tick)
	}
	return heldSlot
}
