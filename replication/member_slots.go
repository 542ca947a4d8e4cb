package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
)

// memberSlots maps the slots of a viewer's members to row indexes, grouped by words for
// comparison with other sets. It takes 24 bytes per word with a member and 4 per member,
// whatever the size of the world.
type memberSlots struct {
	words     []memberWord // words with a member, ascending
	indexes   []uint32     // row indexes of the members, ascending by slot
	anyActive bool         // some word may have active members
	freed     int          // number of members with freed rows: removeFreed removes them
}

// memberWord is a word with members.
type memberWord struct {
	mask     uint64
	active   uint64 // members that are not dormant (R6)
	number   uint32
	firstRow uint32 // number of members in earlier words
}

// noRow is the row index of a member with a freed row, and of an entity without a row yet.
const noRow = ^uint32(0)

func (m *memberSlots) maskOf(number uint32) uint64 {
	if i := m.searchWord(number); i < len(m.words) && m.words[i].number == number {
		return m.words[i].mask
	}
	return 0
}

// findRow returns the row index of a slot.
func (m *memberSlots) findRow(slot uint32) (rowIndex uint32, ok bool) {
	if at := m.rowRef(slot); at != nil {
		return *at, *at != noRow
	}
	return 0, false
}

// rowRef returns the stored row index of a slot, or nil.
func (m *memberSlots) rowRef(slot uint32) *uint32 {
	i := m.searchWord(slot >> 6)
	if i == len(m.words) || m.words[i].number != slot>>6 || m.words[i].mask>>(slot&63)&1 == 0 {
		return nil
	}
	return &m.indexes[m.words[i].rowAt(slot)]
}

// refIn returns the stored row index of a member of a word.
func (m *memberSlots) refIn(word *memberWord, slot uint32) *uint32 {
	return &m.indexes[word.rowAt(slot)]
}

// activateRow makes the next snapshot examine the row of a member.
func (m *memberSlots) activateRow(slot uint32) {
	m.words[m.searchWord(slot>>6)].active |= 1 << (slot & 63)
	m.anyActive = true
}

// activateAll makes the next snapshot examine the rows of all members.
func (m *memberSlots) activateAll() {
	m.anyActive = true
	for i := range m.words {
		m.words[i].active = m.words[i].mask
	}
}

// makeDormant makes members of a word dormant. noteActive must follow.
func (m *memberSlots) makeDormant(word *memberWord, members uint64) { word.active &^= members }

// noteActive records whether any member is still active.
func (m *memberSlots) noteActive(anyActive bool) { m.anyActive = anyActive }

// freeMember marks a member as without a row, and returns the row index that it had.
func (m *memberSlots) freeMember(ref *uint32) (rowIndex uint32) {
	rowIndex, *ref = *ref, noRow
	m.freed++
	return rowIndex
}

// expectActive must precede updateWord calls that may activate members. owed tells whether
// any row may be owed.
func (m *memberSlots) expectActive(owed bool) { m.anyActive = m.anyActive || owed }

// changedWords returns the positions of the words with a member in changed, or with a slot
// in inside. Like activeWords it has no branch on the result of the test: the branch would
// be unpredictable.
func (m *memberSlots) changedWords(list []uint32, changed bulk.BitsetView, inside []uint64) []uint32 {
	list = slices.Grow(list[:0], len(m.words))[:len(m.words)]
	n := 0
	for i := range m.words {
		w := &m.words[i]
		list[n] = uint32(i)
		n += nonzero(w.mask&changed.Word(w.number) | inside[w.number])
	}
	return list[:n]
}

// activeWords returns the positions of the words with active members.
func (m *memberSlots) activeWords(list []uint32) []uint32 {
	list = slices.Grow(list[:0], len(m.words))[:len(m.words)]
	n := 0
	for i := range m.words {
		list[n] = uint32(i)
		n += nonzero(m.words[i].active)
	}
	return list[:n]
}

// nonzero returns 1 if v is not 0, otherwise 0.
func nonzero(v uint64) int { return int((v | -v) >> 63) }

// searchWord returns the position of the first word with at least this number.
func (m *memberSlots) searchWord(number uint32) int {
	low, n := 0, len(m.words)
	for n > 0 {
		half := n / 2
		if m.words[low+half].number < number {
			low += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return low
}

// rowAt returns the position in members.indexes of a slot of the word.
func (w *memberWord) rowAt(slot uint32) int {
	return int(w.firstRow) + bits.OnesCount64(w.mask&(1<<(slot&63)-1))
}

// countMembers returns the number of members, without members that have freed rows.
func (m *memberSlots) countMembers() int { return len(m.indexes) - m.freed }

// removeFreed removes the members whose rows were freed.
func (m *memberSlots) removeFreed() {
	if m.freed > 0 {
		m.compactRows()
		m.freed = 0
	}
}

// compactRows removes the members without a row; there is at least one. Such members are
// few: copy moves the row indexes between two of them.
func (m *memberSlots) compactRows() {
	to := slices.Index(m.indexes, noRow)
	first := m.wordOf(uint32(to))
	removed, kept := uint32(0), first // kept: words with a member so far
	next := to                        // the next member to remove
	for i := first; i < len(m.words); i++ {
		w := m.words[i]
		if next == len(m.indexes) && kept == i {
			for ; i < len(m.words); i++ {
				m.words[i].firstRow -= removed
			}
			kept = len(m.words)
			break
		}
		end := int(w.firstRow) + bits.OnesCount64(w.mask)
		gone := uint32(0) // members removed from this word
		for next < end {
			w.removeNth(next - int(w.firstRow) - int(gone))
			gone++
			run := m.indexes[next+1:]
			n := slices.Index(run, noRow)
			if n < 0 {
				n = len(run)
			}
			to += copy(m.indexes[to:], run[:n])
			next += 1 + n
		}
		w.firstRow -= removed
		removed += gone
		if w.mask != 0 {
			m.words[kept] = w
			kept++
		}
	}
	m.words, m.indexes = m.words[:kept], m.indexes[:to]
}

// wordOf returns the index of the word with the n-th member.
func (m *memberSlots) wordOf(n uint32) int {
	low, high := 0, len(m.words)
	for high-low > 1 {
		if middle := (low + high) / 2; m.words[middle].firstRow <= n {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// removeNth removes the n-th of the word's members, from 0.
func (w *memberWord) removeNth(n int) {
	rest := w.mask
	for range n {
		rest &= rest - 1
	}
	bit := rest & -rest
	w.mask &^= bit
	w.active &^= bit
}

// newcomer is a slot that becomes a member, with its row index.
type newcomer struct{ slot, row uint32 }

// insertNewcomers adds newcomers as dormant members. They ascend by slot and are not
// members yet.
func (m *memberSlots) insertNewcomers(list []newcomer) {
	if len(list) == 0 {
		return
	}
	end := len(m.indexes)
	m.indexes = grow(m.indexes, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		at := m.countBelow(list[i].slot, end)
		copy(m.indexes[at+i+1:], m.indexes[at:end])
		m.indexes[at+i] = list[i].row
		end = at
	}
	m.insertWords(list)
}

// countBelow returns how many of the first limit members have a lower slot.
func (m *memberSlots) countBelow(slot uint32, limit int) int {
	i := m.searchWord(slot >> 6)
	switch {
	case i == len(m.words):
		return limit
	case m.words[i].number == slot>>6:
		return m.words[i].rowAt(slot)
	}
	return int(m.words[i].firstRow)
}

// insertWords sets the bits of newcomers. It merges the words in place, from the end.
func (m *memberSlots) insertWords(list []newcomer) {
	i := len(m.words) - 1
	m.words = grow(m.words, m.countNewWords(list))
	for w := len(m.words) - 1; len(list) > 0; w-- {
		last := list[len(list)-1].slot >> 6
		var word memberWord
		switch {
		case i >= 0 && m.words[i].number >= last:
			word = m.words[i]
			i--
		case i >= 0:
			before := &m.words[i]
			word = memberWord{number: last, firstRow: before.firstRow + uint32(bits.OnesCount64(before.mask))}
		default:
			word = memberWord{number: last}
		}
		for ; len(list) > 0 && list[len(list)-1].slot>>6 == word.number; list = list[:len(list)-1] {
			word.mask |= 1 << (list[len(list)-1].slot & 63)
		}
		word.firstRow += uint32(len(list)) // newcomers in earlier words
		m.words[w] = word
	}
}

// countNewWords counts the words of newcomers that have no member yet.
func (m *memberSlots) countNewWords(list []newcomer) int {
	added := 0
	for i, c := range list {
		if i > 0 && list[i-1].slot>>6 == c.slot>>6 {
			continue
		}
		if at := m.searchWord(c.slot >> 6); at == len(m.words) || m.words[at].number != c.slot>>6 {
			added++
		}
	}
	return added
}
