package replication

import (
	"math/bits"

	"github.com/worldd/worldd/replication/wire"
)

// newHorizon returns the horizon of the newest frame.
func (m *members) newHorizon(r *Replicator) horizon {
	return horizon{tick: r.frame.tick, keptTicks: (wire.MaxStates - 1) * r.interval, plain: m.plain}
}

// collectWaiting collects the rows whose newest state the client is not known to have,
// ascending by slot, and reports whether it found any. It also requests enters for members
// whose rows start over. It skips dormant rows.
func (m *members) collectWaiting(w *workspace, r *Replicator, in *interest) bool {
	if !m.anyActive {
		return false
	}
	rows, present, resend := m.rows, r.frame.summaries, resendAfter*r.interval
	h := m.newHorizon(r)
	waiting, rowIndexes, left := w.packer.waiting, w.packer.waitingRows, uint64(0)
	w.memberWords = m.activeWords(w.memberWords)
	for _, i := range w.memberWords {
		word := &m.words[i]
		for rest := word.active; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			rowIndex := m.indexes[word.rowAt(slot)]
			row, p, owned := &rows[rowIndex], &present[slot], codingKey(0)
			if p.hasOwnerRow && in.owns(m.handles[rowIndex]) {
				p, owned = &r.frame.tenants[slot].ownerRow.summary, ownedKey
			}
			switch {
			case p.maskSince > row.enterTick:
				w.requests = append(w.requests, enterRequest{m.handles[rowIndex], row.enterTick, rowIndex})
			case p.version <= row.ackedTick:
				m.makeDormant(word, rest&-rest)
				m.resetPriority(row, rowIndex)
			case row.flags&inFlight != 0 && row.sentTick >= p.version && h.tick-row.sentTick <= resend:
			default:
				waiting = append(waiting, h.keyFor(slot, row, p)|owned)
				rowIndexes = append(rowIndexes, rowIndex)
			}
		}
		left |= word.active
	}
	m.noteActive(left != 0)
	w.packer.setWaiting(waiting, rowIndexes)
	return len(waiting) > 0
}

// collectOwed is collectWaiting for a client that simulates: a row of an exact body is owed
// if and only if the exact state that the client has acknowledged is older than the body's
// last disturbance (P2). Each snapshot contains that row until it is acknowledged: a
// complete snapshot must not lack such a row.
func (m *members) collectOwed(w *workspace, r *Replicator, in *interest) bool {
	present, resend := r.frame.summaries, resendAfter*r.interval
	h, packer := m.newHorizon(r), &w.packer
	left := uint64(0)
	for i := range m.words {
		word := &m.words[i]
		for rest := word.active; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			rowIndex := m.indexes[word.rowAt(slot)]
			row, p, owned := &m.rows[rowIndex], &present[slot], codingKey(0)
			if p.hasOwnerRow && in.owns(m.handles[rowIndex]) {
				p, owned = &r.frame.tenants[slot].ownerRow.summary, ownedKey
			}
			var version uint32
			required := false
			if s := r.clean.slotOf(slot, m.handles[rowIndex]); s != nil {
				version, required = s.oldestValidTick(p, owned != 0), s.isRequired(row.ackedTick)
			} else {
				version = p.version
			}
			switch {
			case p.maskSince > row.enterTick:
				w.requests = append(w.requests, enterRequest{m.handles[rowIndex], row.enterTick, rowIndex})
			case version <= row.ackedTick:
				m.makeDormant(word, rest&-rest)
				m.resetPriority(row, rowIndex)
			case !required && row.flags&inFlight != 0 && row.sentTick >= version && h.tick-row.sentTick <= resend:
			default:
				r.frame.refreshRow(r.world.Slots(), slot)
				packer.addWaiting(h.keyFor(slot, row, p)|owned, rowIndex)
				if required {
					packer.requireLast()
				}
			}
		}
		left |= word.active
	}
	m.noteActive(left != 0)
	return len(packer.waiting) > 0
}
