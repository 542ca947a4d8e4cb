package world

import "github.com/worldd/worldd/bulk"

// wakefulness is what the last sleep flush left, by slot: rows are in an order
// of their own, which nobody outside may depend on.
type wakefulness struct {
	awake   bulk.Bitset // bodies that were awake after the flush
	newborn bulk.Bitset // bodies added since: they have neither slept nor woken
	turned  bulk.Bitset // memory of noteTurned
}

// noteFlips follows a flush that puts some rows to sleep and wakes others.
func (w *World) noteFlips(asleep, awoken *bulk.Bitset) {
	rest, slots := &w.wakefulness, w.bodies.slot
	for row, ok := asleep.Next(0); ok; row, ok = asleep.Next(row + 1) {
		rest.awake.Clear(slots[row])
		rest.turned.Set(slots[row])
	}
	w.events.slept = w.noteTurned(w.events.slept)
	for row, ok := awoken.Next(0); ok; row, ok = awoken.Next(row + 1) {
		slot := slots[row]
		rest.awake.Set(slot)
		if !rest.newborn.Has(slot) {
			rest.turned.Set(slot)
		}
	}
	w.events.woke = w.noteTurned(w.events.woke)
	if rest.newborn.Any() {
		rest.newborn.Reset()
	}
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
