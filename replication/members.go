package replication

import "math/bits"

// members finds a viewer's rows by slot, and lists the slots of its interest
// set by words of 64, to be compared with others. It takes 20 bytes a word that
// has a member and 4 a member, whatever the size of the world.
type members struct {
	numbers []uint32 // of the words that have a member, ascending
	masks   []uint64
	active  []uint64 // of the members, those that are not dormant (R6)
	rows    []uint32 // places of the members' rows, in ascending order of slots
	ranks   []uint32 // members before each rankStride-th word
}

const (
	rankStride = 8
	noRow      = ^uint32(0) // the place of a member that is about to be taken out
)

// find returns the place of a slot's row.
func (m *members) find(slot uint32) (place uint32, ok bool) {
	if at := m.at(slot); at != nil {
		return *at, *at != noRow
	}
	return 0, false
}

// at returns where the place of a slot's row is noted, or nil.
func (m *members) at(slot uint32) *uint32 {
	i := m.search(slot >> 6)
	if i == len(m.numbers) || m.numbers[i] != slot>>6 || m.masks[i]>>(slot&63)&1 == 0 {
		return nil
	}
	return &m.rows[m.rank(i, slot)]
}

// activate has the row of a member looked at in the next snapshot.
func (m *members) activate(slot uint32) {
	m.active[m.search(slot>>6)] |= 1 << (slot & 63)
}

// search returns the first word from a number on.
func (m *members) search(number uint32) int {
	low, n := 0, len(m.numbers)
	for n > 0 {
		half := n / 2
		if m.numbers[low+half] < number {
			low += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return low
}

// rank is the number of members below a slot, which is in word i.
func (m *members) rank(i int, slot uint32) int {
	n := int(m.ranks[i/rankStride])
	for _, mask := range m.masks[i/rankStride*rankStride : i] {
		n += bits.OnesCount64(mask)
	}
	return n + bits.OnesCount64(m.masks[i]&(1<<(slot&63)-1))
}

// compact takes out the members whose row is noRow.
func (m *members) compact() {
	words, rows, from := 0, 0, 0
	for i, mask := range m.masks {
		kept := mask
		for rest := mask; rest != 0; rest &= rest - 1 {
			if place := m.rows[from]; place == noRow {
				kept &^= rest & -rest
			} else {
				m.rows[rows] = place
				rows++
			}
			from++
		}
		if kept != 0 {
			m.numbers[words], m.masks[words], m.active[words] = m.numbers[i], kept, m.active[i]&kept
			words++
		}
	}
	m.numbers, m.masks, m.active, m.rows = m.numbers[:words], m.masks[:words], m.active[:words], m.rows[:rows]
	m.count()
}

// newcomer is a slot that becomes a member, and the place of its row.
type newcomer struct{ slot, place uint32 }

// insert takes in newcomers, which are in ascending order of slots and not
// members. They are dormant. It works from the end, in place.
func (m *members) insert(list []newcomer) {
	if len(list) == 0 {
		return
	}
	oldWords, oldRows := len(m.numbers), len(m.rows)
	added := m.newWords(list)
	m.numbers, m.masks, m.active = grown(m.numbers, added), grown(m.masks, added), grown(m.active, added)
	m.rows = grown(m.rows, len(list))
	from, to := oldRows, len(m.rows)
	w := len(m.numbers)
	for i := oldWords - 1; i >= 0 || len(list) > 0; {
		// The highest word of those that are there and those that come.
		number := uint32(0)
		if i >= 0 {
			number = m.numbers[i]
		}
		if n := len(list); n > 0 {
			number = max(number, list[n-1].slot>>6)
		}
		old, active := uint64(0), uint64(0)
		if i >= 0 && m.numbers[i] == number {
			old, active = m.masks[i], m.active[i]
			i--
		}
		mask := old
		first := len(list)
		for first > 0 && list[first-1].slot>>6 == number {
			first--
			mask |= 1 << (list[first].slot & 63)
		}
		come := list[first:]
		list = list[:first]
		for rest := mask; rest != 0; {
			bit := 63 - bits.LeadingZeros64(rest)
			rest &^= 1 << bit
			to--
			if old>>bit&1 != 0 {
				from--
				m.rows[to] = m.rows[from]
			} else {
				m.rows[to] = come[len(come)-1].place
				come = come[:len(come)-1]
			}
		}
		w--
		m.numbers[w], m.masks[w], m.active[w] = number, mask, active
		if len(list) == 0 && w == i+1 && to == from {
			break // the rest stays where it is
		}
	}
	m.count()
}

// newWords counts the words of the newcomers that no member is in.
func (m *members) newWords(list []newcomer) int {
	added := 0
	for i, c := range list {
		if i > 0 && list[i-1].slot>>6 == c.slot>>6 {
			continue
		}
		if at := m.search(c.slot >> 6); at == len(m.numbers) || m.numbers[at] != c.slot>>6 {
			added++
		}
	}
	return added
}

// count makes the ranks anew.
func (m *members) count() {
	n := uint32(0)
	m.ranks = m.ranks[:0]
	for i, mask := range m.masks {
		if i%rankStride == 0 {
			m.ranks = append(m.ranks, n)
		}
		n += uint32(bits.OnesCount64(mask))
	}
}

// grown lengthens s by n. It takes a sixteenth more than it needs, where append
// would take a quarter: there are thousands of viewers.
func grown[T any](s []T, n int) []T {
	need := len(s) + n
	if need <= cap(s) {
		return s[:need]
	}
	more := make([]T, need, need+need/16+4)
	copy(more, s)
	return more
}
