package replication

import "slices"

const (
	// historyDepth is how many states of a row can serve as baselines. A row that
	// changes in each of 60 ticks a second is remembered for 1.3 s: beyond any
	// round trip that is playable, and for as long as a row may wait for its turn
	// where a server has time for four snapshots a second. A row whose baseline has
	// fallen out is sent whole.
	historyDepth = 80
	// restedTicks is how long a row keeps its past after its newest change:
	// viewers that are there at all have acknowledged that by then.
	idleTicks = 600
	// sweptSlots are looked at in each frame for rows that rest.
	reclaimSlots = 256
	// maxSparePasts bounds the memory that is kept for rows that will change again:
	// 6 MB for rows of 9 words. More is left to the collector.
	maxSpareRings = 2048
)

// history is the last states of a row. Memory: one row for one that rests, and
// historyDepth rows for one that changed in the last restedTicks.
type history struct {
	valid bool
	tick  uint32     // at which the newest state came about
	row   []uint32   // the newest state
	ring  *stateRing // those before it; nil: none is remembered
}

// past is a ring of states, each the tick at which it came about and its words.
// Who asks for a state of many rows waits for memory, so the two lie together.
type stateRing struct {
	newest, count uint8
	states        []uint32
}

const ringStates = historyDepth - 1

func (p *stateRing) push(row []uint32, tick uint32) {
	p.newest = (p.newest + 1) % ringStates
	p.count = min(p.count+1, ringStates)
	state := p.states[int(p.newest)*(len(row)+1):][:len(row)+1]
	state[0] = tick
	copy(state[1:], row)
}

// back is the state of so many words that is age before the newest.
func (p *stateRing) stateAt(age, words int) []uint32 {
	at := int(p.newest) - age
	if at < 0 {
		at += ringStates
	}
	at *= words + 1
	return p.states[at : at+words+1 : at+words+1]
}

// ahead reads where the next state is put, and the one that is then the oldest: who
// does so for many rows waits for all of them at once.
func (h *history) prefetch() uint32 {
	if h.ring == nil {
		return 0
	}
	p, words := h.ring, len(h.row)
	return p.stateAt(ringStates-1, words)[0] + p.stateAt(ringStates-2, words)[0]
}

// oldest is the tick at which the oldest state that is remembered came about.
func (h *history) oldest() uint32 {
	if h.ring == nil {
		return h.tick
	}
	return h.ring.stateAt(int(h.ring.count)-1, len(h.row))[0]
}

// at returns the words of h as they were at a tick that it reaches.
func (h *history) at(tick uint32) []uint32 {
	if h.tick <= tick {
		return h.row
	}
	p, words := h.ring, len(h.row)
	// Who moves changes in every tick, and so is looked for no further.
	if age := h.tick - 1 - tick; age < uint32(p.count) {
		if state := p.stateAt(int(age), words); state[0] == tick {
			return state[1:]
		}
	}
	age := 0
	for p.stateAt(age, words)[0] > tick {
		age++
	}
	return p.stateAt(age, words)[1:]
}

// push makes the scratch row the newest state of a history, if it is another one.
func (f *frame) pushState(p *slotSummary, h *history) {
	if h.valid && slices.Equal(h.row, f.scratch.Words) {
		return
	}
	if h.row == nil {
		h.row = make([]uint32, f.schema.Words())
	}
	if h.valid {
		if h.ring == nil {
			h.ring = f.rings.get(len(h.row))
		}
		h.ring.push(h.row, h.tick)
	}
	copy(h.row, f.scratch.Words)
	h.valid, h.tick = true, f.tick
	p.version, p.oldest = f.tick, h.oldest()
}

// forget drops all states of t.
func (f *frame) forgetStates(t *tenant) {
	f.rings.put(&t.history)
	t.valid = false
	if t.ownerRow != nil {
		f.rings.put(&t.ownerRow.history)
		t.ownerRow.history.valid = false
	}
}

// letRest takes the past of some of the rows that have not changed for long. All
// are looked at in turn.
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

// pasts is memory for rows that change, used again.
type ringPool struct{ spare []*stateRing }

func (s *ringPool) get(words int) *stateRing {
	if n := len(s.spare); n > 0 {
		p := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return p
	}
	return &stateRing{states: make([]uint32, ringStates*(words+1))}
}

// give takes the past of h.
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
