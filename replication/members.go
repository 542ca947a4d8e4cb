package replication

import (
	"math"
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
)

// members is a viewer's interest set: the entities that its client has in view, with a row
// each. Slots map to row indexes, grouped by words for comparison with other sets. The map
// takes 24 bytes per word with a member and 4 per member, whatever the size of the world.
type members struct {
	words     []memberWord // words with a member, ascending
	indexes   []uint32     // row indexes of the members, ascending by slot
	anyActive bool         // some word may have active members
	freed     int          // number of members with freed rows: removeFreed removes them

	// By row index. An entity keeps its row index while it is a member.
	rows       []viewerRow
	handles    []bulk.Handle
	priorities []float32
	textRows   []textRow // empty without text fields in the schema
	free       []uint32  // unused row indexes
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

func (m *members) maskOf(number uint32) uint64 {
	if i := m.searchWord(number); i < len(m.words) && m.words[i].number == number {
		return m.words[i].mask
	}
	return 0
}

// findRow returns the row index of a slot.
func (m *members) findRow(slot uint32) (rowIndex uint32, ok bool) {
	if at := m.rowRef(slot); at != nil {
		return *at, *at != noRow
	}
	return 0, false
}

// rowRef returns the stored row index of a slot, or nil.
func (m *members) rowRef(slot uint32) *uint32 {
	i := m.searchWord(slot >> 6)
	if i == len(m.words) || m.words[i].number != slot>>6 || m.words[i].mask>>(slot&63)&1 == 0 {
		return nil
	}
	return &m.indexes[m.words[i].rowAt(slot)]
}

// refIn returns the stored row index of a member of a word.
func (m *members) refIn(word *memberWord, slot uint32) *uint32 { return &m.indexes[word.rowAt(slot)] }

// indexOf returns the row index of a member.
func (m *members) indexOf(h bulk.Handle) (rowIndex uint32, ok bool) {
	rowIndex, ok = m.findRow(h.Index())
	return rowIndex, ok && m.handles[rowIndex] == h
}

// handleIn returns the handle of the member in a slot, or 0. The member may have been
// destroyed since the last snapshot.
func (m *members) handleIn(slot uint32) bulk.Handle {
	if rowIndex, ok := m.findRow(slot); ok {
		return m.handles[rowIndex]
	}
	return 0
}

// activateRow makes the next snapshot examine the row of a member.
func (m *members) activateRow(slot uint32) {
	m.words[m.searchWord(slot>>6)].active |= 1 << (slot & 63)
	m.anyActive = true
}

// expectActive must precede updateWord calls that may activate members. owed tells whether
// any row may be owed.
func (m *members) expectActive(owed bool) { m.anyActive = m.anyActive || owed }

// reenterMember makes the next snapshots enter h again before they send its row, if h is a
// member: its ownership changed, so the client must receive another row (R7).
func (m *members) reenterMember(h bulk.Handle) {
	if rowIndex, ok := m.indexOf(h); ok {
		m.rows[rowIndex].enterTick = 0 // below any maskSince
		m.activateRow(h.Index())
	}
}

// reenterAll makes the next snapshots enter every member again.
func (m *members) reenterAll() {
	for _, rowIndex := range m.indexes {
		if rowIndex != noRow {
			m.rows[rowIndex].enterTick = 0 // below any maskSince
		}
	}
	m.anyActive = true
	for i := range m.words {
		m.words[i].active = m.words[i].mask
	}
}

// startRow begins the row of an entity that enters in a tick: its Enter holds the state of
// that tick and all texts. flags is 0 or noBase.
func (m *members) startRow(rowIndex uint32, h bulk.Handle, tick uint32, flags uint8) {
	m.handles[rowIndex], m.priorities[rowIndex] = h, 0
	m.rows[rowIndex] = viewerRow{enterTick: tick, ackedTick: tick, flags: flags}
	if len(m.textRows) > 0 {
		m.textRows[rowIndex].sent = tick
	}
}

// allocRow returns an unused row index. hasTexts must be the same in every call.
func (m *members) allocRow(hasTexts bool) uint32 {
	if n := len(m.free); n > 0 {
		rowIndex := m.free[n-1]
		m.free = m.free[:n-1]
		return rowIndex
	}
	m.rows, m.handles, m.priorities = grow(m.rows, 1), grow(m.handles, 1), grow(m.priorities, 1)
	if hasTexts {
		m.textRows = grow(m.textRows, 1)
	}
	return uint32(len(m.rows) - 1)
}

// freeRow frees a member's row. Datagrams in flight may still contain its index: see
// advanceBaselines.
func (m *members) freeRow(rowIndex *uint32) {
	m.rows[*rowIndex], m.handles[*rowIndex] = viewerRow{}, 0
	if len(m.textRows) > 0 {
		m.textRows[*rowIndex] = textRow{}
	}
	m.free = append(m.free, *rowIndex)
	*rowIndex = noRow
	m.freed++
}

// markSent records that a datagram of a tick holds these rows.
func (m *members) markSent(rowIndexes []uint32, tick uint32) {
	for _, rowIndex := range rowIndexes {
		row := &m.rows[rowIndex]
		m.resetPriority(row, rowIndex)
		row.sentTick, row.flags = tick, row.flags&noBase|inFlight
	}
}

// loseRows makes the rows of a lost datagram eligible for sending at once, unless they were
// sent again since, and returns their number. The next datagram holds the newest state of
// these rows, not the lost state.
func (m *members) loseRows(rowIndexes []uint32, tick uint32) (lost int) {
	rows := m.rows
	for _, rowIndex := range rowIndexes {
		if row := &rows[rowIndex]; row.sentTick == tick && row.flags&inFlight != 0 {
			row.flags &^= inFlight
			lost++
		}
	}
	return lost
}

// advanceBaselines makes the acknowledged state of a tick the baseline of a datagram's
// rows. It skips rows with a newer baseline. This covers a row index that another entity
// has taken over since: the baseline of its row is at least the tick of its Enter, which is
// later than the datagram.
func (m *members) advanceBaselines(rowIndexes []uint32, tick uint32) {
	rows := m.rows
	for _, rowIndex := range rowIndexes {
		if row := &rows[rowIndex]; row.ackedTick < tick {
			row.advanceBaseline(tick)
		}
	}
}

// missEnter reports whether a member that should enter again did not enter in the snapshot
// of a tick.
func (m *members) missEnter(requests []enterRequest, tick uint32) bool {
	for _, e := range requests {
		if m.rows[e.row].enterTick != tick {
			return true
		}
	}
	return false
}

// raisePriorities raises the priorities of the waiting rows, so that every row is sent
// eventually, and returns the rows' indexes, most urgent first. The focus comes first: the
// client predicts it, and concludes from a snapshot without its row that it has not
// changed. raisePriorities is not called if all rows fit.
func (m *members) raisePriorities(p *packer, r *Replicator, in *interest) []uint32 {
	p.ranking.beginRanking()
	for i, rowIndex := range p.waitingRows {
		m.priorities[rowIndex] += in.priorityGain(r, &r.frame.tenants[p.waiting[i].slot()])
		m.rows[rowIndex].flags |= passedOver
		weight := m.priorities[rowIndex]
		if m.handles[rowIndex] == in.focus {
			weight = math.MaxFloat32
		} else if p.isRequired(i) {
			weight *= requiredWeight
		}
		p.ranking.addWeight(weight)
	}
	return p.ranking.sortedIndexes()
}

// resetPriority clears the priority of a row that was sent or became dormant.
func (m *members) resetPriority(row *viewerRow, rowIndex uint32) {
	if row.flags&passedOver != 0 {
		m.priorities[rowIndex] = 0
		row.flags &^= passedOver
	}
}

// changedWords returns the positions of the words with a member in changed, or with a slot
// in inside. Like activeWords it has no branch on the result of the test: the branch would
// be unpredictable.
func (m *members) changedWords(list []uint32, changed bulk.BitsetView, inside []uint64) []uint32 {
	list = slices.Grow(list[:0], len(m.words))[:len(m.words)]
	n := 0
	for i := range m.words {
		w := &m.words[i]
		list[n] = uint32(i)
		n += nonzero(w.mask&changed.Word(w.number) | inside[w.number])
	}
	return list[:n]
}

// updateWord compares a word's members with the candidates of a query. It activates members
// in q.owing (call expectActive first), and removes the members from candidates. It returns
// the dead members (their slots have another tenant or none) and the members that are not
// candidates. Only replaced slots are examined one by one: a word without changes costs
// three loads and an AND.
func (m *members) updateWord(w *memberWord, q *interestQuery, candidates []uint64, present []slotSummary) (dead, outside uint64) {
	changed := intersectSet(w.mask, q.changed, w.number)
	if changed != 0 {
		for rest := intersectSet(changed, q.replaced, w.number); rest != 0; rest &= rest - 1 {
			slot := w.number<<6 | uint32(bits.TrailingZeros64(rest))
			if m.handles[m.indexes[w.rowAt(slot)]] != present[slot].handle {
				dead |= rest & -rest
			}
		}
	}
	living, inside := w.mask&^dead, candidates[w.number]
	w.active |= intersectSet(living, q.owing, w.number)
	candidates[w.number] = inside &^ living
	outside = living &^ inside
	if q.incremental {
		outside &= changed
	}
	return dead, outside
}

// intersectSet returns the slots of mask that are in set. A nil set holds every slot.
func intersectSet(mask uint64, set *bulk.Bitset, word uint32) uint64 {
	if set == nil {
		return mask
	}
	return mask & set.Word(word)
}

// activeWords returns the positions of the words with active members.
func (m *members) activeWords(list []uint32) []uint32 {
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

// rowAt returns the position in members.indexes of a slot of the word.
func (w *memberWord) rowAt(slot uint32) int {
	return int(w.firstRow) + bits.OnesCount64(w.mask&(1<<(slot&63)-1))
}

// countMembers returns the number of members, without members that have freed rows.
func (m *members) countMembers() int { return len(m.indexes) - m.freed }

// removeFreed removes the members whose rows were freed.
func (m *members) removeFreed() {
	if m.freed > 0 {
		m.compactRows()
		m.freed = 0
	}
}

// compactRows removes the members without a row; there is at least one. Such members are
// few: copy moves the row indexes between two of them.
func (m *members) compactRows() {
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
func (m *members) wordOf(n uint32) int {
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
func (m *members) insertNewcomers(list []newcomer) {
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
func (m *members) countBelow(slot uint32, limit int) int {
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
func (m *members) insertWords(list []newcomer) {
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

// grow lengthens s by n. It reserves a sixteenth more than needed (append reserves a
// quarter): there are thousands of viewers.
func grow[T any](s []T, n int) []T {
	need := len(s) + n
	if need <= cap(s) {
		return s[:need]
	}
	more := make([]T, need, need+need/16+4)
	copy(more, s)
	return more
}
