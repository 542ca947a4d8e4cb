package replication

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// ownedSet is the set of live entities that a viewer owns. A lookup takes constant time,
// and a snapshot one step per word of slots. Each snapshot drops the dead first, so
// the frame's tenant of an owned slot is the owned entity, or the frame has no tenant there
// yet.
type ownedSet struct {
	generations map[uint32]uint32 // by slot
	slots       slotSet           // the same slots
	changes     uint64            // calls of add and remove that changed the set
}

func (o *ownedSet) has(h bulk.Handle) bool {
	generation, ok := o.generations[h.Index()]
	return ok && generation == h.Generation()
}

// add adds the live entity h, replacing an earlier tenant of its slot.
func (o *ownedSet) add(h bulk.Handle) {
	if o.generations == nil {
		o.generations = map[uint32]uint32{}
	}
	o.generations[h.Index()] = h.Generation()
	o.slots.set(h.Index())
	o.changes++
}

func (o *ownedSet) remove(h bulk.Handle) {
	if o.has(h) {
		delete(o.generations, h.Index())
		o.slots.clear(h.Index())
		o.changes++
	}
}

// appendHandles appends the entities, in ascending order of slots.
func (o *ownedSet) appendHandles(b []bulk.Handle) []bulk.Handle {
	for word, mask := range o.slots.words() {
		for slot := range bulk.Bits(word<<6, mask) {
			b = append(b, bulk.NewHandle(slot, o.generations[slot]))
		}
	}
	return b
}

// dropDead drops the destroyed entities. replaced holds the slots that have had another
// tenant, or none, since the last call; nil: any slot may have.
func (o *ownedSet) dropDead(w *world.World, replaced *bulk.Bitset) {
	var dead []bulk.Handle
	for word, mask := range o.slots.words() {
		for slot := range bulk.Bits(word<<6, intersectSet(mask, replaced, word)) {
			if h := bulk.NewHandle(slot, o.generations[slot]); w.Status(h) == bulk.Stale {
				dead = append(dead, h)
			}
		}
	}
	for _, h := range dead {
		o.remove(h)
	}
}

// checkFrame audits the set just after a snapshot of f.
func (o *ownedSet) checkFrame(f *frame) error {
	for word, mask := range o.slots.words() {
		for slot := range bulk.Bits(word<<6, mask) {
			h := bulk.NewHandle(slot, o.generations[slot])
			if !h.Valid() || int(slot) < len(f.summaries) && f.summaries[slot].handle != h && f.summaries[slot].handle != 0 {
				return fmt.Errorf("R7: %v is owned, and the frame's tenant of its slot is %v", h, f.summaries[slot].handle)
			}
		}
	}
	if len(o.generations) != o.slots.size {
		return fmt.Errorf("R7: %d owned entities in %d slots", len(o.generations), o.slots.size)
	}
	return nil
}

// AppendOwned appends the entities for which Own was called, without those that a snapshot has found dead, in
// ascending order of slots.
func (in *interest) AppendOwned(b []bulk.Handle) []bulk.Handle { return in.owned.appendHandles(b) }

// OwnedChanges returns the number of changes of AppendOwned's result.
func (in *interest) OwnedChanges() uint64 { return in.owned.changes }
