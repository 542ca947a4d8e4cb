package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
)

// members is a viewer's interest set: the entities that its client has in view, with a row
// each.
type members struct {
	memberSlots
	memberRows
	plain bool // rows have no baselines: the client cannot read coded rows
}

// sendPlainRows makes all later rows plain.
func (m *members) sendPlainRows() { m.plain = true }

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

// reenterMember makes the next snapshots enter h again before they send its row, if h is a
// member: its ownership changed, so the client must receive another row (R7).
func (m *members) reenterMember(h bulk.Handle) {
	if rowIndex, ok := m.indexOf(h); ok {
		m.restartRow(rowIndex)
		m.activateRow(h.Index())
	}
}

// reenterAll makes the next snapshots enter every member again.
func (m *members) reenterAll() {
	for _, rowIndex := range m.indexes {
		if rowIndex != noRow {
			m.restartRow(rowIndex)
		}
	}
	m.activateAll()
}

// freeRow frees the row of a member. removeFreed removes the member.
func (m *members) freeRow(ref *uint32) { m.returnRow(m.freeMember(ref)) }

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
