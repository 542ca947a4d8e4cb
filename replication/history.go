package replication

import "slices"

const (
	// historyDepth is how many states of a row can serve as baselines. A row that
	// changes in each of 60 ticks a second is remembered for 1.3 s: longer than any
	// playable round trip, and as long as a row may wait when the server has time for
	// only four snapshots a second. A row whose baseline is forgotten is sent in full.
	historyDepth = 80
	// idleTicks is how long a row keeps its past states after its newest change. Every
	// viewer that still acknowledges has done so by then.
	idleTicks = 600
	// reclaimSlots is how many slots each frame examines for idle rows.
	reclaimSlots = 256
	// maxSpareRings bounds the memory kept for rows that will change again: 6 MB for
	// rows of 9 values. The garbage collector frees the rest.
	maxSpareRings = 2048
)

// history holds the last states of a row. Memory: one state for an idle row,
// historyDepth states for a row that changed in the last idleTicks.
type history struct {
	valid bool
	tick  uint32     // of the newest state
	row   []uint32   // newest state
	ring  *stateRing // earlier states; nil: none
}

// stateRing is a ring of states. A state is its tick followed by its values: reading
// states of many rows is bound by memory latency, so the two lie together.
type stateRing struct {
	newest, count uint8
	states        []uint32
}

const ringStates = historyDepth - 1

func (r *stateRing) push(row []uint32, tick uint32) {
	r.newest = (r.newest + 1) % ringStates
	r.count = min(r.count+1, ringStates)
	state := r.states[int(r.newest)*(len(row)+1):][:len(row)+1]
	state[0] = tick
	copy(state[1:], row)
}

// stateAt returns the state that is age states before the newest, for rows of so many
// values.
func (r *stateRing) stateAt(age, values int) []uint32 {
	at := int(r.newest) - age
	if at < 0 {
		at += ringStates
	}
	at *= values + 1
	return r.states[at : at+values+1 : at+values+1]
}

// prefetch reads the memory that the next push writes and the state that is then the
// oldest. Calling it for many rows first makes their cache misses overlap.
func (h *history) prefetch() uint32 {
	if h.ring == nil {
		return 0
	}
	r, values := h.ring, len(h.row)
	return r.stateAt(ringStates-1, values)[0] + r.stateAt(ringStates-2, values)[0]
}

// oldest returns the tick of the oldest remembered state.
func (h *history) oldest() uint32 {
	if h.ring == nil {
		return h.tick
	}
	return h.ring.stateAt(int(h.ring.count)-1, len(h.row))[0]
}

// at returns the values that h had at a tick. The tick must not precede oldest.
func (h *history) at(tick uint32) []uint32 {
	if h.tick <= tick {
		return h.row
	}
	r, values := h.ring, len(h.row)
	// A moving row changes in every tick, so its state is found without a search.
	if age := h.tick - 1 - tick; age < uint32(r.count) {
		if state := r.stateAt(int(age), values); state[0] == tick {
			return state[1:]
		}
	}
	age := 0
	for r.stateAt(age, values)[0] > tick {
		age++
	}
	return r.stateAt(age, values)[1:]
}

// pushState makes the scratch row the newest state of h if it differs.
func (f *frame) pushState(p *slotSummary, h *history) {
	if h.valid && slices.Equal(h.row, f.scratch.Values) {
		return
	}
	if h.row == nil {
		h.row = make([]uint32, f.schema.Values())
	}
	if h.valid {
		if h.ring == nil {
			h.ring = f.rings.get(len(h.row))
		}
		h.ring.push(h.row, h.tick)
	}
	copy(h.row, f.scratch.Values)
	h.valid, h.tick = true, f.tick
	p.version, p.oldest = f.tick, h.oldest()
}

func (f *frame) forgetStates(t *tenant) {
	f.rings.put(&t.history)
	t.valid = false
	if t.ownerRow != nil {
		f.rings.put(&t.ownerRow.history)
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
	if p.oldest != p.version && f.tick-p.version > idleTicks {
		f.rings.put(h)
		p.oldest = p.version
	}
}

// ringPool reuses the rings of rows that became idle.
type ringPool struct{ spare []*stateRing }

func (s *ringPool) get(values int) *stateRing {
	if n := len(s.spare); n > 0 {
		p := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return p
	}
	return &stateRing{states: make([]uint32, ringStates*(values+1))}
}

// put takes the ring of h.
func (s *ringPool) put(h *history) {
	if h.ring == nil {
		return
	}
	if len(s.spare) < maxSpareRings {
		h.ring.count = 0
		s.spare = append(s.spare, h.ring)
	}
	h.ring = nil
}
