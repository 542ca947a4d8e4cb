package world

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// flips is a set of rows: those that the next flush puts to sleep or wakes, one bit a
// row, and one for each word of 64 rows that may have any. (Slots that are to be taken
// in their order are kept in one, too.) It is a plain cousin
// of bulk.Bitset: a word that a body changes its mind costs two stores and no
// branch, since a summary bit may stay behind when its word empties.
type flips struct {
	words   []uint64
	summary []uint64
}

// reserve makes room for so many rows.
func (f *flips) reserve(rows int) {
	for len(f.words)*64 < rows {
		f.words = append(f.words, 0)
	}
	for len(f.summary)*64 < len(f.words) {
		f.summary = append(f.summary, 0)
	}
}

// put makes row a member or not.
func (f *flips) put(row uint32, member bool) {
	var bit uint64
	if member {
		bit = 1
	}
	word := &f.words[row>>6]
	*word = *word&^(1<<(row&63)) | bit<<(row&63)
	f.summary[row>>12] |= 1 << (row >> 6 & 63)
}

func (f *flips) has(row uint32) bool { return f.words[row>>6]>>(row&63)&1 != 0 }

// appendTo appends the members to list, in ascending order.
func (f *flips) appendTo(list []uint32) []uint32 {
	for s, summary := range f.summary {
		for ; summary != 0; summary &= summary - 1 {
			w := s<<6 | bits.TrailingZeros64(summary)
			for word := f.words[w]; word != 0; word &= word - 1 {
				list = append(list, uint32(w<<6|bits.TrailingZeros64(word)))
			}
		}
	}
	return list
}

// reset empties the set.
func (f *flips) reset() {
	for s, summary := range f.summary {
		for ; summary != 0; summary &= summary - 1 {
			f.words[s<<6|bits.TrailingZeros64(summary)] = 0
		}
		f.summary[s] = 0
	}
}

// check says whether every word with a member is in the summary, and no member
// is a row from end on.
func (f *flips) check(end int) bool {
	for w, word := range f.words {
		if word != 0 && (f.summary[w>>6]>>(w&63)&1 == 0 || w<<6+bits.Len64(word) > end) {
			return false
		}
	}
	return len(f.words)*64 >= end
}

// wakefulness is what the last sleep flush left, by slot: rows are in an order
// of their own, which nobody outside may depend on.
type sleepState struct {
	awake   bulk.Bitset // bodies that were awake after the flush
	newborn bulk.Bitset // bodies added since: they have neither slept nor woken
	slotSet flips       // memory: slots, to be taken in ascending order,
	slots   []uint32    // and as they were taken
}

// flushSleep carries out the words about who is to sleep and who to wake, and
// notes who did.
func (w *World) flushSleep() {
	b, rest := &w.bodies, &w.sleepState
	b.collect()
	for _, row := range b.low {
		slot := b.slot[row]
		rest.awake.Clear(slot)
		rest.slotSet.put(slot, true)
	}
	w.events.slept = w.appendDrained(w.events.slept)
	for _, row := range b.high {
		slot := b.slot[row]
		rest.awake.Set(slot)
		if !rest.newborn.Has(slot) {
			rest.slotSet.put(slot, true)
		}
	}
	w.events.woke = w.appendDrained(w.events.woke)
	if rest.newborn.Any() {
		rest.newborn.Reset()
	}
	b.applyFlips(w.rowOf)
}

// noteTurned appends who is in turned to list, in ascending order, and empties
// it.
func (w *World) appendDrained(list []Entity) []Entity {
	for _, slot := range w.sleepState.drainSlots() {
		list = append(list, w.tenant(slot))
	}
	return list
}

// takeTurned returns the slots in turned in ascending order, until it is called
// again, and empties it.
func (r *sleepState) drainSlots() []uint32 {
	r.slots = r.slotSet.appendTo(r.slots[:0])
	r.slotSet.reset()
	return r.slots
}
