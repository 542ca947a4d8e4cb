package replication

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// ownedSet is the set of live entities that a viewer owns. A lookup takes constant time,
// and a snapshot one step per word of slots. Deaths are recorded before the next frame, so
// the frame's tenant of an owned slot is the owned entity, or the frame has no tenant there
// yet.
type ownedSet struct {
	generations map[uint32]uint32 // by slot
	slots       slotSet           // the same slots
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
}

func (o *ownedSet) remove(h bulk.Handle) {
	if o.has(h) {
		delete(o.generations, h.Index())
		o.slots.clear(h.Index())
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
