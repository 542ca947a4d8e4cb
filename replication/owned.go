package replication

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
)

// ownedSet is the live entities that a viewer owns. A lookup costs the same however
// many they are, and a snapshot costs a step for every 64 neighbouring slots. A slot
// changes hands only in a step, whose deaths are taken in before the next frame: the
// frame's tenant of one of these slots is the owned entity, or not there yet.
type ownedSet struct {
	generations map[uint32]uint32 // by slot
	slots       slotSet           // the same slots
}

func (o *ownedSet) has(h bulk.Handle) bool {
	generation, ok := o.generations[h.Index()]
	return ok && generation == h.Generation()
}

// add adds h, which is live, in place of an earlier tenant of its slot.
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

// check audits the set just after a snapshot of f.
func (o *ownedSet) check(f *frame) error {
	for word, mask := range o.slots.all() {
		for slot := range bulk.Bits(word<<6, mask) {
			h := bulk.NewHandle(slot, o.generations[slot])
			if !h.Valid() || int(slot) < len(f.present) && f.present[slot].handle != h && f.present[slot].handle != 0 {
				return fmt.Errorf("R7: %v is owned, and the frame's tenant of its slot is %v", h, f.present[slot].handle)
			}
		}
	}
	if len(o.generations) != o.slots.size {
		return fmt.Errorf("R7: %d entities are owned, of %d slots", len(o.generations), o.slots.size)
	}
	return nil
}
