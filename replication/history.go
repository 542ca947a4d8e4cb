package replication

import (
	"slices"
)

const (
	// historyDepth is how many states of a row can serve as baselines. A row that
	// changes in each of 60 ticks a second is remembered for 1.3 s: beyond any
	// round trip that is playable, and for as long as a row may wait for its turn
	// where a server has time for four snapshots a second. A row whose baseline has
	// fallen out is sent whole.
	historyDepth = 80
	// restedTicks is how long a row keeps its past after its newest change:
	// viewers that are there at all have acknowledged that by then.
	restedTicks = 600
	// sweptSlots are looked at in each frame for rows that rest.
	sweptSlots = 256
	// maxSparePasts bounds the memory that is kept for rows that will change again:
	// 6 MB for rows of 9 words. More is left to the collector.
	maxSparePasts = 2048
)

// history is the last states of a row. Memory: one row for one that rests, and
// historyDepth rows for one that changed in the last restedTicks.
type history struct {
	known bool
	tick  uint32   // at which the newest state came about
	row   []uint32 // the newest state
	past  *past    // those before it; nil: none is remembered
}

// past is a ring of states, each the tick at which it came about and its words.
// Who asks for a state of many rows waits for memory, so the two lie together.
type past struct {
	newest, count uint8
	states        []uint32
}

const pastStates = historyDepth - 1

func (p *past) push(row []uint32, tick uint32) {
	p.newest = (p.newest + 1) % pastStates
	p.count = min(p.count+1, pastStates)
	state := p.states[int(p.newest)*(len(row)+1):][:len(row)+1]
	state[0] = tick
	copy(state[1:], row)
}

// back is the state of so many words that is age before the newest.
func (p *past) back(age, words int) []uint32 {
	at := int(p.newest) - age
	if at < 0 {
		at += pastStates
	}
	at *= words + 1
	return p.states[at : at+words+1 : at+words+1]
}

// ahead reads where the next state is put, and the one that is then the oldest: who
// does so for many rows waits for all of them at once.
func (h *history) ahead() uint32 {
	if h.past == nil {
		return 0
	}
	p, words := h.past, len(h.row)
	return p.back(pastStates-1, words)[0] + p.back(pastStates-2, words)[0]
}

// oldest is the tick at which the oldest state that is remembered came about.
func (h *history) oldest() uint32 {
	if h.past == nil {
		return h.tick
	}
	return h.past.back(int(h.past.count)-1, len(h.row))[0]
}

// at returns the words of h as they were at a tick that it reaches.
func (h *history) at(tick uint32) []uint32 {
	if h.tick <= tick {
		return h.row
	}
	p, words := h.past, len(h.row)
	// Who moves changes in every tick, and so is looked for no further.
	if age := h.tick - 1 - tick; age < uint32(p.count) {
		if state := p.back(int(age), words); state[0] == tick {
			return state[1:]
		}
	}
	age := 0
	for p.back(age, words)[0] > tick {
		age++
	}
	return p.back(age, words)[1:]
}

// push makes the scratch row the newest state of a history, if it is another one.
func (f *frame) push(p *present, h *history) {
	if h.known && slices.Equal(h.row, f.scratch.Words) {
		return
	}
	if h.row == nil {
		h.row = make([]uint32, f.schema.Words())
	}
	if h.known {
		if h.past == nil {
			h.past = f.pasts.take(len(h.row))
		}
		h.past.push(h.row, h.tick)
	}
	copy(h.row, f.scratch.Words)
	h.known, h.tick = true, f.tick
	p.version, p.oldest = f.tick, h.oldest()
}

// forget drops all states of t.
func (f *frame) forget(t *tenant) {
	f.pasts.give(&t.history)
	t.known = false
	if t.whole != nil {
		f.pasts.give(&t.whole.history)
		t.whole.history.known = false
	}
}

// letRest takes the past of some of the rows that have not changed for long. All
// are looked at in turn.
func (f *frame) letRest() {
	for range min(sweptSlots, len(f.present)) {
		f.swept = (f.swept + 1) % len(f.present)
		p := &f.present[f.swept]
		if p.handle == 0 {
			continue
		}
		f.letOneRest(p, &f.tenants[f.swept].history)
		if p.secret {
			w := f.tenants[f.swept].whole
			f.letOneRest(&w.present, &w.history)
		}
	}
}

func (f *frame) letOneRest(p *present, h *history) {
	if p.oldest != p.version && f.tick-p.version > restedTicks {
		f.pasts.give(h)
		p.oldest = p.version
	}
}

// pasts is memory for rows that change, used again.
type pasts struct{ spare []*past }

func (s *pasts) take(words int) *past {
	if n := len(s.spare); n > 0 {
		p := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return p
	}
	return &past{states: make([]uint32, pastStates*(words+1))}
}

// give takes the past of h.
func (s *pasts) give(h *history) {
	if h.past == nil {
		return
	}
	if len(s.spare) < maxSparePasts {
		h.past.count = 0
		s.spare = append(s.spare, h.past)
	}
	h.past = nil
}
