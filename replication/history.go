package replication

import "slices"

const (
	// historyDepth is the number of states of a row that can serve as baselines. It bounds
	// memory. At 60 ticks a second, a row that changes in every tick is remembered for 1.3
	// s: longer than any playable round trip, and as long as a row may wait if the server
	// has time for four snapshots a second only. At 1,000 ticks a second that is 80 ms. A
	// row whose baseline is forgotten is sent in full.
	historyDepth = 80
	// idleSeconds is the time for which a row keeps its past states after its newest
	// change, but at least minIdleTicks. By then, every viewer that still acknowledges has
	// acknowledged the change.
	idleSeconds  = 10
	minIdleTicks = 600
	// reclaimSlots is the number of slots that each frame examines for idle rows.
	reclaimSlots = 256
	// maxSpareRings bounds the rings kept for reuse: 6.5 MB for rows of 9 values. The
	// garbage collector frees the others.
	maxSpareRings = 2048
)

// history holds the last states of a row. Memory: one state, and historyDepth states more
// if the row changed in the last ten seconds.
type history struct {
	valid         bool
	newest, count uint8    // position of the newest state in the ring, number of states in the ring
	tick          uint32   // tick of the newest state
	only          []uint32 // newest state of a row without a ring
	ring          []uint32 // historyDepth states; nil: the row has only one
}

// A state in a ring is its tick followed by its values. Coding rows is bound by memory
// latency, so a row's states lie next to each other.

// stateAt returns the state that is age states older than the newest in the ring.
func (h *history) stateAt(age int) []uint32 {
	size := len(h.only) + 1
	at := int(h.newest) - age
	if at < 0 {
		at += historyDepth
	}
	at *= size
	return h.ring[at : at+size : at+size]
}

// newestRow returns the newest values.
func (h *history) newestRow() []uint32 {
	if h.ring == nil {
		return h.only
	}
	return h.stateAt(0)[1:]
}

// pushRow adds a state to the ring.
func (h *history) pushRow(row []uint32, tick uint32) {
	h.newest++
	if h.newest == historyDepth {
		h.newest = 0
	}
	h.count = min(h.count+1, historyDepth)
	state := h.stateAt(0)
	state[0] = tick
	copy(state[1:], row)
}

// prefetchStates reads the memory that the next pushState reads and writes. Calling it for
// many rows in a row overlaps their cache misses.
func (h *history) prefetchStates() uint32 {
	if h.ring == nil {
		return 0
	}
	return h.stateAt(0)[0] + h.stateAt(historyDepth - 1)[0] + h.stateAt(historyDepth - 2)[0]
}

// oldestTick returns the tick of the oldest remembered state.
func (h *history) oldestTick() uint32 {
	if h.ring == nil {
		return h.tick
	}
	return h.stateAt(int(h.count) - 1)[0]
}

// rowAt returns the values that h had at a tick. The tick must not precede oldestTick.
func (h *history) rowAt(tick uint32) []uint32 {
	if h.tick <= tick {
		return h.newestRow()
	}
	// A moving row changes in every tick: no search is needed.
	if age := h.tick - tick; age < uint32(h.count) {
		if state := h.stateAt(int(age)); state[0] == tick {
			return state[1:]
		}
	}
	age := 1
	for h.stateAt(age)[0] > tick {
		age++
	}
	return h.stateAt(age)[1:]
}

// pushState makes the scratch row the newest state of h if it differs.
func (f *frame) pushState(p *slotSummary, h *history) {
	if h.valid && slices.Equal(h.newestRow(), f.scratch.Values) {
		return
	}
	if h.only == nil {
		h.only = make([]uint32, f.schema.Values())
	}
	switch {
	case !h.valid:
		copy(h.only, f.scratch.Values)
	case h.ring == nil:
		h.ring = f.rings.takeRing(len(h.only))
		h.count = 0
		h.pushRow(h.only, h.tick)
		fallthrough
	default:
		h.pushRow(f.scratch.Values, f.tick)
	}
	h.valid, h.tick = true, f.tick
	p.version, p.oldest = f.tick, h.oldestTick()
}

func (f *frame) forgetStates(t *tenant) {
	f.rings.returnRing(&t.history)
	t.valid = false
	if t.ownerRow != nil {
		f.rings.returnRing(&t.ownerRow.history)
		t.ownerRow.history.valid = false
	}
}

// reclaimIdle drops the past states of idle rows, examining the slots in rotation.
func (f *frame) reclaimIdle() {
	for range min(reclaimSlots, len(f.summaries)) {
		f.reclaimCursor = (f.reclaimCursor + 1) % len(f.summaries)
		p := &f.summaries[f.reclaimCursor]
		if p.handle == 0 {
			continue
		}
		f.reclaimIfIdle(p, &f.tenants[f.reclaimCursor].history)
		if p.hasOwnerRow {
			w := f.tenants[f.reclaimCursor].ownerRow
			f.reclaimIfIdle(&w.summary, &w.history)
		}
	}
}

func (f *frame) reclaimIfIdle(p *slotSummary, h *history) {
	if p.oldest != p.version && f.tick-p.version > f.idleTicks {
		f.rings.returnRing(h)
		p.oldest = p.version
	}
}

// ringPool reuses the rings of rows that became idle.
type ringPool struct{ spare [][]uint32 }

func (s *ringPool) takeRing(values int) []uint32 {
	if n := len(s.spare); n > 0 {
		ring := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return ring
	}
	return make([]uint32, historyDepth*(values+1))
}

// returnRing takes the ring from h, which keeps its newest state only.
func (s *ringPool) returnRing(h *history) {
	if h.ring == nil {
		return
	}
	copy(h.only, h.newestRow())
	if len(s.spare) < maxSpareRings {
		s.spare = append(s.spare, h.ring)
	}
	h.ring = nil
}
