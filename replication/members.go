package replication

import "math/bits"

// members finds a viewer's rows by slot, and lists the slots of its interest
// set by words of 64, to be compared with others. It takes 24 bytes a word that
// has a member and 4 a member, whatever the size of the world.
type members struct {
	words     []memberWord // that have a member, ascending
	rows      []uint32     // places of the members' rows, in ascending order of slots
	anyActive bool         // some may be active
}

// memberWord is 64 neighbours of whom some are members.
type memberWord struct {
	mask     uint64
	active   uint64 // of the members, those that are not dormant (R6)
	number   uint32
	firstRow uint32 // members in the words before
}

// noRow is the place of a member that is about to be taken out.
const noRow = ^uint32(0)

// mask returns which of 64 neighbours are members.
func (m *members) mask(number uint32) uint64 {
	if i := m.searchWord(number); i < len(m.words) && m.words[i].number == number {
		return m.words[i].mask
	}
	return 0
}

// find returns the place of a slot's row.
func (m *members) find(slot uint32) (rowIndex uint32, ok bool) {
	if at := m.rowRef(slot); at != nil {
		return *at, *at != noRow
	}
	return 0, false
}

// at returns where the place of a slot's row is noted, or nil.
func (m *members) rowRef(slot uint32) *uint32 {
	i := m.searchWord(slot >> 6)
	if i == len(m.words) || m.words[i].number != slot>>6 || m.words[i].mask>>(slot&63)&1 == 0 {
		return nil
	}
	return &m.rows[m.words[i].rowAt(slot)]
}

// activate has the row of a member looked at in the next snapshot.
func (m *members) activate(slot uint32) {
	m.words[m.searchWord(slot>>6)].active |= 1 << (slot & 63)
	m.anyActive = true
}

// search returns the first word from a number on.
func (m *members) searchWord(number uint32) int {
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

// row is the number of the members below a slot of the word, among all.
func (w *memberWord) rowAt(slot uint32) int {
	return int(w.firstRow) + bits.OnesCount64(w.mask&(1<<(slot&63)-1))
}

// count is how many members there are, without those that are about to be taken out.
func (m *members) count() (n int) {
	for _, rowIndex := range m.rows {
		if rowIndex != noRow {
			n++
		}
	}
	return n
}

// compact takes out the members whose row is noRow.
func (m *members) compact() {
	words, rows, from := 0, 0, 0
	for i := range m.words {
		w := m.words[i]
		kept := w.mask
		w.firstRow = uint32(rows)
		for rest := w.mask; rest != 0; rest &= rest - 1 {
			if rowIndex := m.rows[from]; rowIndex == noRow {
				kept &^= rest & -rest
			} else {
				m.rows[rows] = rowIndex
				rows++
			}
			from++
		}
		if kept != 0 {
			w.mask, w.active = kept, w.active&kept
			m.words[words] = w
			words++
		}
	}
	m.words, m.rows = m.words[:words], m.rows[:rows]
}

// newcomer is a slot that becomes a member, and the place of its row.
type newcomer struct{ slot, row uint32 }

// insert takes in newcomers, which are in ascending order of slots and not
// members. They are dormant. It works from the end, in place.
func (m *members) insert(list []newcomer) {
	if len(list) == 0 {
		return
	}
	i, from := len(m.words)-1, len(m.rows)
	m.words, m.rows = grow(m.words, m.countNewWords(list)), grow(m.rows, len(list))
	to := len(m.rows)
	for w := len(m.words) - 1; w > i || len(list) > 0; w-- {
		// The highest word of those that are there and those that come.
		var old memberWord
		if i >= 0 {
			old = m.words[i]
		}
		if n := len(list); i < 0 || n > 0 && list[n-1].slot>>6 > old.number {
			old = memberWord{number: list[n-1].slot >> 6}
		} else {
			i--
		}
		word, first := old, len(list)
		for ; first > 0 && list[first-1].slot>>6 == word.number; first-- {
			word.mask |= 1 << (list[first-1].slot & 63)
		}
		come := list[first:]
		list = list[:first]
		for rest := word.mask; rest != 0; {
			bit := 63 - bits.LeadingZeros64(rest)
			rest &^= 1 << bit
			to--
			if old.mask>>bit&1 != 0 {
				from--
				m.rows[to] = m.rows[from]
			} else {
				m.rows[to] = come[len(come)-1].row
				come = come[:len(come)-1]
			}
		}
		word.firstRow = uint32(to)
		m.words[w] = word
	}
}

// newWords counts the words of the newcomers that no member is in.
func (m *members) countNewWords(list []newcomer) int {
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

// grown lengthens s by n. It takes a sixteenth more than it needs, where append
// would take a quarter: there are thousands of viewers.
func grow[T any](s []T, n int) []T {
	need := len(s) + n
	if need <= cap(s) {
		return s[:need]
	}
	more := make([]T, need, need+need/16+4)
	copy(more, s)
	return more
}
