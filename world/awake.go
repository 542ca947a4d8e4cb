package world

import "github.com/worldd/worldd/bulk"

// wakefulness is what the last sleep flush left, by slot: rows are in an order
// of their own, which nobody outside may depend on.
type wakefulness struct {
	awake   bulk.Bitset // bodies that were awake after the flush
	newborn bulk.Bitset // bodies added since: they have neither slept nor woken
	turned  bulk.Bitset // memory: slots, to be taken in ascending order
}

// flushSleep carries out the words about who is to sleep and who to wake, and
// notes who did.
func (w *World) flushSleep() {
	b, rest := &w.bodies, &w.wakefulness
	b.collect()
	for _, row := range b.low {
		rest.awake.Clear(b.slot[row])
		rest.turned.Set(b.slot[row])
	}
	w.events.slept = w.noteTurned(w.events.slept)
	for _, row := range b.high {
		slot := b.slot[row]
		rest.awake.Set(slot)
		if !rest.newborn.Has(slot) {
			rest.turned.Set(slot)
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
	turned := &w.wakefulness.turned
	for word := range bulk.And(turned) {
		for slot := range bulk.Bits(word<<6, turned.Word(word)) {
			list = append(list, w.tenant(slot))
		}
		turned.SetWord(word, 0)
	}
	return list
}
