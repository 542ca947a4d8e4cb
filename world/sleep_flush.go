package world

import (
	"iter"
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// flips is a set of rows that change state at the next flush: one bit per row, a summary
// bit per word that may be non-empty, and a top bit per such summary. (slotSet uses it for
// slots.) Unlike in bulk.Bitset, summary and top bits may stay set when a word empties, so
// put costs three stores and no branch.
type flips struct {
	words   []uint64
	summary []uint64
	top     []uint64
}

// reserve makes room for this many rows.
func (f *flips) reserve(rows int) {
	for len(f.words)*64 < rows {
		f.words = append(f.words, 0)
	}
	for len(f.summary)*64 < len(f.words) {
		f.summary = append(f.summary, 0)
	}
	for len(f.top)*64 < len(f.summary) {
		f.top = append(f.top, 0)
	}
}

// put adds row to the set or removes it.
func (f *flips) put(row uint32, member bool) {
	var bit uint64
	if member {
		bit = 1
	}
	word := &f.words[row>>6]
	*word = *word&^(1<<(row&63)) | bit<<(row&63)
	f.summary[row>>12] |= 1 << (row >> 6 & 63)
	f.top[row>>18] |= 1 << (row >> 12 & 63)
}

func (f *flips) has(row uint32) bool { return f.words[row>>6]>>(row&63)&1 != 0 }

// marked yields the numbers of the words that may be non-empty, ascending.
func (f *flips) marked() iter.Seq[int] {
	return func(yield func(int) bool) {
		for t, top := range f.top {
			for ; top != 0; top &= top - 1 {
				s := t<<6 | bits.TrailingZeros64(top)
				for summary := f.summary[s]; summary != 0; summary &= summary - 1 {
					if !yield(s<<6 | bits.TrailingZeros64(summary)) {
						return
					}
				}
			}
		}
	}
}

// appendTo appends the members to list in ascending order.
func (f *flips) appendTo(list []uint32) []uint32 {
	for w := range f.marked() {
		for word := f.words[w]; word != 0; word &= word - 1 {
			list = append(list, uint32(w<<6|bits.TrailingZeros64(word)))
		}
	}
	return list
}

// reset empties the set.
func (f *flips) reset() {
	for w := range f.marked() {
		f.words[w] = 0
	}
	for t, top := range f.top {
		for ; top != 0; top &= top - 1 {
			f.summary[t<<6|bits.TrailingZeros64(top)] = 0
		}
		f.top[t] = 0
	}
}

// check reports whether the upper levels cover every non-empty word and all members
// are below end.
func (f *flips) check(end int) bool {
	for w, word := range f.words {
		covered := (f.summary[w>>6]>>(w&63))&(f.top[w>>12]>>(w>>6&63))&1 != 0
		if word != 0 && (!covered || w<<6+bits.Len64(word) > end) {
			return false
		}
	}
	return len(f.words)*64 >= end
}

// sleepState holds the result of the last sleep flush by slot.
type sleepState struct {
	awake   bulk.Bitset // bodies awake after the flush
	newborn bulk.Bitset // bodies added since the flush: they have neither slept nor woken
	slotSet flips       // scratch: slots to be drained in ascending order
	slots   []uint32    // scratch: the drained slots
}

// flushSleep applies the sleep and wake requests and records the bodies that changed
// state.
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

// appendDrained drains slotSet and appends the entities to list.
func (w *World) appendDrained(list []Entity) []Entity {
	for _, slot := range w.sleepState.drainSlots() {
		list = append(list, w.tenant(slot))
	}
	return list
}

// drainSlots empties slotSet and returns its members in ascending order. The result
// is valid until the next call.
func (r *sleepState) drainSlots() []uint32 {
	r.slots = r.slotSet.appendTo(r.slots[:0])
	r.slotSet.reset()
	return r.slots
}
