package world

import "github.com/worldd/worldd/bulk"

// wakefulness is what the last sleep flush left, by slot: rows are in an order
// of their own, which nobody outside may depend on.
type wakefulness struct {
	awake   bulk.Bitset // bodies that were awake after the flush
	newborn bulk.Bitset // bodies added since: they have neither slept nor woken
	turned  flips       // memory: slots, to be taken in ascending order,
	slots   []uint32    // and as they were taken
}

// flushSleep carries out the words about who is to sleep and who to wake, and
// notes who did.
func (w *World) flushSleep() {
	b, rest := &w.bodies, &w.wakefulness
	b.collect()
	for _, row := range b.low {
		slot := b.slot[row]
		rest.awake.Clear(slot)
		rest.turned.put(slot, true)
	}
	w.events.slept = w.noteTurned(w.events.slept)
	for _, row := range b.high {
		slot := b.slot[row]
		rest.awake.Set(slot)
		if !rest.newborn.Has(slot) {
			rest.turned.put(slot, true)
		}
	}
	w.events.woke = w.noteTurned(w.events.woke)
	if rest.newborn.Any() {
		rest.newborn.Reset()
	}
	b.carryOut(w.rowOf)
}

// noteTurned appends who is in turned to list, in ascending order, and empties
// it.
func (w *World) noteTurned(list []Entity) []Entity {
	for _, slot := range w.wakefulness.takeTurned() {
		list = append(list, w.tenant(slot))
	}
	return list
}

// takeTurned returns the slots in turned in ascending order, until it is called
// again, and empties it.
func (r *wakefulness) takeTurned() []uint32 {
	r.slots = r.turned.appendTo(r.slots[:0])
	r.turned.reset()
	return r.slots
}
