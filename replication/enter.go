package replication

import (
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// wanted is an entity that is to be entered: a newcomer, or a member whose set
// of components changed.
type enterRequest struct {
	handle bulk.Handle
	since  uint32 // tick at which it was first wanted; of a member, of its last Enter
	row    uint32 // of its row; noRow: a newcomer that has none yet
}

// leastEnterBytes is less than any Enter record takes. It bounds how many can be
// afforded, so that a crowd which waits is not put in order for nothing.
const minEnterBytes = 6

// joinQueue lets newcomers that wait already keep their places. Both lists are in
// ascending order of slots.
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

// enterWanted writes Enter records, most urgent first, while the budget and the
// client keep up. While rows wait for their turn, enters may take half of the
// budget: a crowd that joins must not starve what moves. newcomers is how many
// of the wanted are that; members follow them.
func (v *Viewer) writeEnters(newcomers int, rowsWait bool) {
	all := v.work.requests
	allowance := v.tokens
	if rowsWait {
		allowance /= 2
	}
	if allowance > 0 {
		for _, key := range lowestKeys(v.enterKeys(), allowance/minEnterBytes+1) {
			if allowance <= 0 || v.structure.outstanding() >= maxOutstandingBytes {
				break
			}
			allowance -= v.enter(&all[uint32(key)])
		}
	}
	v.finishEnters(all[:newcomers])
}

// byUrgency returns a sort key for each of the wanted: urgency, then place in
// the list. Urgency is what a row's priority would be had it waited as long. It
// grows while one waits, and starts anew with each Enter: so neither a member
// whose components change all the time nor a stream of newcomers close by keeps
// the others out for ever.
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

// descending makes a key that sorts by a weight, most first, then by a number.
// The bits of positive floats are in the order of their values.
func descendingKey(weight float32, number uint32) uint64 {
	return uint64(^math.Float32bits(weight))<<32 | uint64(number)
}

// first returns the n lowest keys in order, or all. It keeps them in a heap with
// the highest on top, so that most of a crowd costs one comparison each.
func lowestKeys(keys []uint64, n int) []uint64 {
	if n < len(keys) {
		heap := keys[:n]
		for i := n/2 - 1; i >= 0; i-- {
			siftDown(heap, i)
		}
		for _, key := range keys[n:] {
			if key < heap[0] {
				heap[0] = key
				siftDown(heap, 0)
			}
		}
		keys = heap
	}
	slices.Sort(keys)
	return keys
}

// sink restores the heap below i.
func siftDown(heap []uint64, i int) {
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

// enter sends the whole present state of an entity and takes it into the
// interest set. A newcomer's row is found by its slot only after admit.
func (v *Viewer) enter(w *enterRequest) int {
	r := v.replicator
	slot := w.handle.Index()
	t := &r.frame.tenants[slot]
	row := r.frame.currentRow(t, v.Owns(w.handle))
	r.frame.schema.References(row, v.teachFunc)
	reason := wire.Reason(0)
	if row.Owned {
		reason = wire.ReasonOwned
	}
	n := v.writeRecord(wire.Record{
		Op: wire.OpEnter, Reason: reason, Handle: w.handle, Kind: uint32(t.kind), Row: v.work.fullRow(r.frame.schema, row),
	})
	if w.row == noRow {
		w.row = v.allocRow()
		v.work.newcomers = append(v.work.newcomers, newcomer{slot, w.row})
	}
	v.handles[w.row], v.priorities[w.row] = w.handle, 0
	v.rows[w.row] = viewerRow{enterTick: r.frame.tick, ackedTick: r.frame.tick}
	v.work.stats.Enters++
	return n
}

// entering says whether a newcomer in a slot was entered and is not a member yet.
func (v *Viewer) isEntering(slot uint32) bool {
	return slices.ContainsFunc(v.work.newcomers, func(c newcomer) bool { return c.slot == slot })
}

// admit makes the newcomers that were entered members, and has the others wait.
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
		v.queue = nil // what a crowd took
	}
	v.members.insert(work.newcomers)
	work.newcomers = work.newcomers[:0]
}
