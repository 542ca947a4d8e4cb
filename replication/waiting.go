package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// collectWaiting collects the rows whose newest state the client is not known to have,
// ascending by slot, and reports whether there are any. It also requests enters for
// members whose rows start over. Dormant rows are not examined.
func (v *Viewer) collectWaiting() bool {
	r, w, m := v.replicator, v.work, &v.members
	rows, present, resend := v.members.rows, r.frame.summaries, resendAfter*r.interval
	h := horizon{r.frame.tick, (wire.MaxStates - 1) * r.interval}
	w.waiting, w.waitingRows = w.waiting[:0], w.waitingRows[:0]
	if !m.anyActive {
		return false
	}
	waiting, rowIndexes, left := w.waiting, w.waitingRows, uint64(0)
	w.memberWords = m.activeWords(w.memberWords)
	for _, i := range w.memberWords {
		word := &m.words[i]
		for rest := word.active; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			rowIndex := m.indexes[word.rowAt(slot)]
			row, p, owned := &rows[rowIndex], &present[slot], codingKey(0)
			if p.hasOwnerRow && v.Owns(v.members.handles[rowIndex]) {
				p, owned = &r.frame.tenants[slot].ownerRow.summary, ownedKey
			}
			switch {
			case p.maskSince > row.enterTick:
				w.requests = append(w.requests, enterRequest{v.members.handles[rowIndex], row.enterTick, rowIndex})
			case p.version <= row.ackedTick:
				word.active &^= rest & -rest // dormant
				v.members.resetPriority(row, rowIndex)
			case row.flags&inFlight != 0 && row.sentTick >= p.version && h.tick-row.sentTick <= resend:
			default:
				waiting = append(waiting, h.keyFor(slot, row, p)|owned)
				rowIndexes = append(rowIndexes, rowIndex)
			}
		}
		left |= word.active
	}
	m.anyActive = left != 0
	w.waiting, w.waitingRows = waiting, rowIndexes
	return len(waiting) > 0
}

// markAnchored marks the rows whose parents wait as well.
func (v *Viewer) markAnchored() {
	w := v.work
	for i := range w.waiting {
		if _, ok := v.findAnchor(i); ok {
			w.waiting[i] |= anchoredKey
		}
	}
}

// findAnchor returns the index of the waiting row that is the parent of waiting row i,
// if the two have the same baselines. A row with a parent of its own is no anchor:
// anchors come first, and none depends on another.
func (v *Viewer) findAnchor(i int) (at int, ok bool) {
	w, f := v.work, v.replicator.frame
	key := w.waiting[i]
	if key.age() == 0 || !f.schema.HasParents() {
		return 0, false
	}
	component, h := f.parentOf(key)
	if f.tenantOf(h) == nil {
		return 0, false
	}
	at, ok = slices.BinarySearchFunc(w.waiting, h.Index(), func(k codingKey, slot uint32) int {
		return int(k.slot()) - int(slot)
	})
	if !ok || w.waiting[at].baselineBits() != key.baselineBits() {
		return 0, false
	}
	_, grandparent := f.parentOf(w.waiting[at])
	return at, grandparent == 0 && f.tenants[h.Index()].mask>>component&1 != 0
}

// parentOf returns the parent that a row named in its baseline, and the component that
// named it.
func (f *frame) parentOf(k codingKey) (component int, h bulk.Handle) {
	return f.schema.Parent(schema.Row{Mask: f.tenants[k.slot()].mask, Values: f.historyOf(k).at(f.tick - k.age())})
}
