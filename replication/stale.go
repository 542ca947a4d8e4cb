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
	lock  sync.Mutex // of slots and of the rows in them, while workers make snapshots
}

// selectStale removes from frame.dirty the slots whose rows become stale, if deferring, and
// adds those whose rows may not stay so: their bodies became ordinary. Members of a viewer
// that does not simulate have none: their Enters refreshed them.
func (f *frame) selectStale(w *world.World, written bulk.BitsetView, deferring bool) {
	s := &f.stale
	if !deferring && !s.any {
		return
	}
	kept := f.dirty[:0]
	for _, slot := range f.dirty {
		if deferring && !written.Has(slot) && f.mayBeStale(slot) {
			f.tenants[slot].position, _, _ = w.Slots().Body(slot)
			s.slots.Set(slot)
			continue
		}
		kept = append(kept, slot)
		s.slots.Clear(slot)
	}
	for word, mask := range bulk.And(s.slots.View(), f.clean.ordinary.View()) {
		for slot := range bulk.Bits(word<<6, mask) {
			kept = append(kept, slot) // updateSlot clears it
		}
	}
	f.dirty, s.any = kept, s.slots.Any()
}

// mayBeStale reports whether a row that only motion changed may stay as it is. The owners' row
// may not: it has versions of its own.
func (f *frame) mayBeStale(slot uint32) bool {
	p := &f.summaries[slot]
	s := f.clean.at(slot, p.handle)
	return s != nil && s.exact && !p.hasOwnerRow && f.tenants[slot].valid
}

// refresh quantises the row of a slot if it is stale. The world must not have changed since
// the capture.
func (f *frame) refresh(w *world.World, slot uint32) {
	s := &f.stale
	if !s.any {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.slots.Has(slot) {
		s.slots.Clear(slot)
		f.quantise(w, slot, &f.scratch)
		f.pushState(&f.summaries[slot], &f.tenants[slot].history)
	}
}

// allSimulate reports whether there are viewers, and the clients of all simulate.
func (r *Replicator) allSimulate() bool {
	return r.clean != nil && r.clean.viewers > 0 && r.clean.viewers == len(r.viewers)
}
