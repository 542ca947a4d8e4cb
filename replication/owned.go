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

// Own makes the viewer an owner of h: it is shown at any distance and through
// any filter, Config.Private included, and is sent those of its fields that only
// owners are. An entity may have several owners. Unless h is live nothing happens:
// a handle that was never issued may be somebody else's one day.
func (v *Viewer) Own(h bulk.Handle) {
	if v.replicator.world.Status(h) != bulk.Live || v.owned.has(h) {
		return
	}
	mine := v.Owns(h) // as its focus, perhaps, which may change
	v.owned.add(h)
	if !mine {
		v.reenter(h)
	}
}

// Disown is the reverse of Own. What the viewer sees the world from stays its own.
func (v *Viewer) Disown(h bulk.Handle) {
	mine := v.Owns(h)
	v.owned.remove(h)
	v.ruleChanged = true
	if mine && !v.Owns(h) {
		v.reenter(h)
	}
}

// Owns says whether h is what the viewer sees the world from, or was given to it
// by Own.
func (v *Viewer) Owns(h bulk.Handle) bool {
	return h == v.focus || v.owned.has(h)
}

// reenter has the next snapshots enter h again, and send nothing of it before: it
// became the viewer's own, or ceased to be, so that what the client is sent of it
// is another row (R7).
func (v *Viewer) reenter(h bulk.Handle) {
	if rowIndex, ok := v.members.find(h.Index()); ok && v.handles[rowIndex] == h {
		v.rows[rowIndex].enterTick = 0 // before any shape
		v.members.activate(h.Index())
	}
}

// check audits the set just after a snapshot of f.
func (o *ownedSet) check(f *frame) error {
	for word, mask := range o.slots.words() {
		for slot := range bulk.Bits(word<<6, mask) {
			h := bulk.NewHandle(slot, o.generations[slot])
			if !h.Valid() || int(slot) < len(f.summaries) && f.summaries[slot].handle != h && f.summaries[slot].handle != 0 {
				return fmt.Errorf("R7: %v is owned, and the frame's tenant of its slot is %v", h, f.summaries[slot].handle)
			}
		}
	}
	if len(o.generations) != o.slots.size {
		return fmt.Errorf("R7: %d entities are owned, of %d slots", len(o.generations), o.slots.size)
	}
	return nil
}
