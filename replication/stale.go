package replication

import (
	"sync"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// staleRows are the slots whose newest row is older than the frame. Their bodies are exact,
// and only motion has changed them since: while all clients simulate, these rows are rarely
// sent. A stale row has no version, and no states of the ticks after its own: no client was
// sent them.
type staleRows struct {
	slots bulk.Bitset
	any   bool       // some slot was stale after the capture; constant while snapshots are made
	lock  sync.Mutex // guards slots, and the version, oldest and history of stale rows, while workers make snapshots
}

// hasSlot reports whether a slot is stale. It is valid from selectDirty to the first
// snapshot.
func (s *staleRows) hasSlot(slot uint32) bool { return s.any && s.slots.Has(slot) }

// selectDirty returns the slots to read in a capture, in the memory of dirty: the changed
// slots, and the stale slots whose bodies became ordinary. Bodies whose slots are in
// changed but not in written only moved. If deferring is set, their rows become stale where
// possible.
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
	s.endSelection()
	return dirty
}

// endSelection fixes whether any slot is stale until the next capture.
func (s *staleRows) endSelection() { s.any = s.slots.Any() }

// moveStale moves the tenant of a stale slot to the present position of its body.
func (f *frame) moveStale(slots world.SlotView, slot uint32) {
	f.tenants[slot].position, _, _ = slots.Body(slot)
}

// mayBeStale reports whether a row that only motion changed may become stale. A slot with
// an owners' row may not: that row has its own versions.
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
