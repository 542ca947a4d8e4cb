package replication

import (
	"sync"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// staleRows are the slots whose newest row is older than the frame. Their bodies are exact
// and only motion has changed them since, so while all clients simulate, few are sent their
// rows. A stale row has no version or state of the ticks since: no client was sent one.
type staleRows struct {
	slots bulk.Bitset
	any   bool       // some were stale after the capture; constant while snapshots are made
	lock  sync.Mutex // while workers make snapshots: of slots, and of version, oldest and history of their rows
}

// hasSlot reports whether a slot is stale, between the capture and the next one.
func (s *staleRows) hasSlot(slot uint32) bool { return s.any && s.slots.Has(slot) }

// selectDirty returns the slots to read in a capture, in the place of dirty: those in changed, and
// those whose rows may not stay stale, since their bodies became ordinary. Slots in changed but not
// in written were only moved; if deferring, the rows that they leave to clean bodies become stale.
// Members of a viewer that does not simulate have none: their Enters refreshed them.
func (f *frame) selectDirty(dirty []uint32, changed, written bulk.BitsetView, deferring bool) []uint32 {
	s := &f.stale
	dirty = changed.AppendTo(dirty[:0])
	if !deferring && !s.any {
		return dirty
	}
	for _, slot := range dirty {
		if deferring && !written.Has(slot) && f.mayBeStale(slot) {
			s.slots.Set(slot)
		} else {
			s.slots.Clear(slot)
		}
	}
	for word, mask := range bulk.And(s.slots.View(), f.clean.ordinary.View()) {
		for slot := range bulk.Bits(word<<6, mask) {
			dirty = append(dirty, slot)
			s.slots.Clear(slot)
		}
	}
	s.any = s.slots.Any()
	return dirty
}

// mayBeStale reports whether a row that only motion changed may stay as it is. The owners' row
// may not: it has versions of its own.
func (f *frame) mayBeStale(slot uint32) bool {
	p := &f.summaries[slot]
	s := f.clean.slotOf(slot, p.handle)
	return s != nil && s.exact && !p.hasOwnerRow && f.tenants[slot].valid
}

// refreshRow quantises the row of a slot if it is stale. The world must not have changed since
// the capture.
func (f *frame) refreshRow(slots world.SlotView, slot uint32) {
	s := &f.stale
	if !s.any {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.slots.Has(slot) {
		s.slots.Clear(slot)
		position, velocity, hasBody := slots.Body(slot)
		f.quantiseSlot(slots, slot, position, velocity, hasBody)
		f.pushState(&f.summaries[slot], &f.tenants[slot].history)
	}
}

// allSimulate reports whether there are viewers, and the clients of all simulate.
func (r *Replicator) allSimulate() bool {
	return r.clean != nil && r.clean.viewers > 0 && r.clean.viewers == len(r.viewers)
}
