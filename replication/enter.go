package replication

import (
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// enterRequest is an entity to be entered: a newcomer, or a member whose row starts
// over.
type enterRequest struct {
	handle bulk.Handle
	since  uint32 // tick of the first request; of a member, tick of its last Enter
	row    uint32 // row index; noRow: a newcomer that has none yet
}

// minEnterBytes is a lower bound for the size of an Enter record. It bounds how many
// the budget allows, so that no more of a waiting crowd is sorted.
const minEnterBytes = 6

// keepWaitingSince gives newcomers that are in the queue already their earlier ticks.
// Both lists ascend by slot.
func (v *Viewer) keepWaitingSince() {
	waiting := v.queue
	for i := range v.work.requests {
		w := &v.work.requests[i]
		for len(waiting) > 0 && waiting[0].handle.Index() < w.handle.Index() {
			waiting = waiting[1:]
		}
		if len(waiting) > 0 && waiting[0].handle == w.handle {
			w.since = waiting[0].since
		}
	}
}

// writeEnters writes Enter records, most urgent first, within the budget and while the
// client keeps up. While rows wait to be sent, enters may take half of the budget: a
// joining crowd must not starve moving entities. The first newcomers requests are
// newcomers, the rest are members.
func (v *Viewer) writeEnters(newcomers int, rowsWaiting bool) {
	requests := v.work.requests
	allowance := v.tokens
	if rowsWaiting {
		allowance /= 2
	}
	if allowance > 0 {
		for _, key := range lowestKeys(v.enterKeys(), allowance/minEnterBytes+1) {
			if allowance <= 0 || v.structure.outstanding() >= maxOutstandingBytes {
				break
			}
			allowance -= v.enter(&requests[uint32(key)])
		}
	}
	v.finishEnters(requests[:newcomers])
}

// enterKeys returns a sort key for each request: its urgency, then its index. Urgency
// is the priority of a row that had waited as long. It grows with waiting and starts
// over with each Enter, so that neither a member whose components keep changing nor a
// stream of newcomers nearby keeps the others out for ever.
func (v *Viewer) enterKeys() []uint64 {
	f, work := v.replicator.frame, v.work
	work.keys = work.keys[:0]
	for i := range work.requests {
		w := &work.requests[i]
		urgency := v.priorityGain(&f.tenants[w.handle.Index()]) * float32(1+f.tick-w.since)
		work.keys = append(work.keys, descendingKey(urgency, uint32(i)))
	}
	return work.keys
}

// descendingKey returns a key that sorts by weight, the greatest first, then by number.
// The bits of positive floats are ordered like their values.
func descendingKey(weight float32, number uint32) uint64 {
	return uint64(^math.Float32bits(weight))<<32 | uint64(number)
}

// lowestKeys returns the n lowest keys in order, or all of them. It keeps them in a
// max-heap, so that most keys of a crowd cost one comparison each.
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

// enter writes the Enter record of an entity with its whole present state, and returns
// the record's size. A newcomer becomes a member in finishEnters.
func (v *Viewer) enter(w *enterRequest) int {
	r := v.replicator
	slot := w.handle.Index()
	r.frame.refresh(r.world, slot)
	t := &r.frame.tenants[slot]
	row := r.frame.currentRow(t, v.Owns(w.handle))
	r.frame.schema.References(row, v.teachFunc)
	texts := v.work.enterTexts(r.frame.schema, t, row.Owned)
	v.work.stats.TextBytes += uint64(len(texts))
	var exact wire.Exact
	if v.simulation != nil {
		v.addKind(t.kind)
		row, exact = v.enterExact(slot, row)
	}
	n := v.writeRecord(wire.Record{
		Op: wire.OpEnter, Owned: row.Owned, Handle: w.handle, Kind: uint32(t.kind), Exact: exact,
		Row: v.work.fullRow(r.frame.schema, row, exact.Form), Data: texts,
	})
	if w.row == noRow {
		w.row = v.members.allocRow(r.frame.texts.mask != 0)
		v.work.newcomers = append(v.work.newcomers, newcomer{slot, w.row})
	}
	v.startTexts(w.row)
	v.members.handles[w.row], v.members.priorities[w.row] = w.handle, 0
	v.members.rows[w.row] = viewerRow{enterTick: r.frame.tick, ackedTick: r.frame.tick}
	if exact.Back > 0 {
		v.members.rows[w.row].flags = noBase
	}
	v.work.stats.Enters++
	return n
}

// isEntering reports whether the newcomer in a slot was entered and is not a member
// yet.
func (v *Viewer) isEntering(slot uint32) bool {
	return slices.ContainsFunc(v.work.newcomers, func(c newcomer) bool { return c.slot == slot })
}

// finishEnters makes the entered newcomers members and queues the others.
func (v *Viewer) finishEnters(list []enterRequest) {
	work := v.work
	work.newcomers = work.newcomers[:0]
	v.queue = v.queue[:0]
	for i := range list {
		w := &list[i]
		if w.row == noRow {
			v.queue = append(v.queue, queuedEnter{w.handle, w.since})
			continue
		}
		v.hidden.clear(w.handle.Index())
		work.newcomers = append(work.newcomers, newcomer{w.handle.Index(), w.row})
	}
	if len(v.queue) == 0 && cap(v.queue) > keptQueue {
		v.queue = nil // sized for a crowd
	}
	v.members.insert(work.newcomers)
	work.newcomers = work.newcomers[:0]
}
