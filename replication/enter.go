package replication

import (
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// enterRequest is an entity that needs an Enter: a newcomer, or a member whose row starts
// over.
type enterRequest struct {
	handle bulk.Handle
	since  uint32 // tick of a newcomer's first request, or of a member's last Enter
	row    uint32 // row index; noRow: a newcomer without a row yet
}

// minEnterBytes is a lower bound for the size of an Enter record. It bounds the number of
// enters that the budget allows, and so the number of waiting entities that are sorted.
const minEnterBytes = 6

// writeEnters writes Enter records, most urgent first, within the budget and while the
// client keeps up. If rows wait, enters may take half of the budget: a joining crowd must
// not starve moving entities. The first newcomers requests are newcomers, the rest
// members.
func (v *Viewer) writeEnters(w *workspace, newcomers int, rowsWaiting bool) {
	if len(w.requests) == 0 {
		v.interest.queueNewcomers(nil)
		return
	}
	allowance := v.outbox.tokens
	if rowsWaiting {
		allowance /= 2
	}
	if allowance > 0 {
		w.keys = v.interest.enterKeys(v.replicator, w.requests, w.keys)
		for _, key := range lowestKeys(w.keys, allowance/minEnterBytes+1) {
			if allowance <= 0 || v.outbox.structure.outstandingBytes() >= maxOutstandingBytes {
				break
			}
			allowance -= v.writeEnter(w, &w.requests[uint32(key)])
		}
	}
	v.knowledge.admitNewcomers(w, &v.members, w.requests[:newcomers])
	v.interest.queueNewcomers(w.requests[:newcomers])
}

// enterKeys returns a sort key for each request, in the memory of keys: its urgency, then
// its index. Urgency is the priority of a row that waited as long. It grows with waiting
// and starts over with each Enter, so that no request starves behind a member whose
// components keep changing, or behind a stream of newcomers nearby.
func (in *interest) enterKeys(r *Replicator, requests []enterRequest, keys []uint64) []uint64 {
	keys = keys[:0]
	for i := range requests {
		e := &requests[i]
		urgency := in.priorityGain(r, &r.frame.tenants[e.handle.Index()]) * float32(1+r.frame.tick-e.since)
		keys = append(keys, descendingKey(urgency, uint32(i)))
	}
	return keys
}

// descendingKey returns a key that sorts by descending weight, then by ascending number.
// The bits of positive floats are ordered like their values.
func descendingKey(weight float32, number uint32) uint64 {
	return uint64(^math.Float32bits(weight))<<32 | uint64(number)
}

// lowestKeys returns the n lowest keys in order, or all if there are fewer. It keeps them
// in a max-heap, so that most keys of a crowd cost one comparison each.
func lowestKeys(keys []uint64, n int) []uint64 {
	if n < len(keys) {
		heap := keys[:n]
		for i := n/2 - 1; i >= 0; i-- {
			restoreHeap(heap, i)
		}
		for _, key := range keys[n:] {
			if key < heap[0] {
				heap[0] = key
				restoreHeap(heap, 0)
			}
		}
		keys = heap
	}
	slices.Sort(keys)
	return keys
}

// restoreHeap restores the heap below i.
func restoreHeap(heap []uint64, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1] > heap[child] {
			child++
		}
		if heap[i] >= heap[child] {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// writeEnter writes the Enter record of an entity with its whole present state, and returns
// the record's size. A newcomer becomes a member in knowledge.admitNewcomers.
func (v *Viewer) writeEnter(w *workspace, e *enterRequest) int {
	r, m := v.replicator, &v.members
	slot := e.handle.Index()
	r.frame.refreshRow(r.world.Slots(), slot)
	t := &r.frame.tenants[slot]
	row := r.frame.currentRow(t, v.interest.owns(e.handle))
	r.frame.rows.References(row, func(h bulk.Handle) { v.knowledge.noteSent(w, m, &v.outbox, h) })
	texts := w.enterTexts(r.frame.rows, t, row.Owned)
	w.stats.countEnterTexts(len(texts))
	var exact wire.Exact
	if v.simulation != nil {
		v.simulation.sendKind(w, &v.outbox, r.clean, t.kind)
		row, exact = v.simulation.enterExact(r, &w.packer.parts, slot, row)
	}
	n := v.outbox.writeRecord(w, wire.Record{
		Op: wire.OpEnter, Owned: row.Owned, Handle: e.handle, Kind: uint32(t.kind), Exact: exact,
		Row: w.fullRow(r.frame.rows, row, exact.Form), Data: texts,
	})
	if e.row == noRow {
		e.row = m.allocRow(r.frame.textFields.mask != 0)
		w.newcomers = append(w.newcomers, newcomer{slot, e.row})
	}
	flags := uint8(0)
	if exact.Back > 0 {
		flags = noBase
	}
	m.startRow(e.row, e.handle, r.frame.tick, flags)
	return n
}

// isEntering reports whether the newcomer in a slot has its Enter, but is not a member yet.
func (w *workspace) isEntering(slot uint32) bool {
	return slices.ContainsFunc(w.newcomers, func(c newcomer) bool { return c.slot == slot })
}
