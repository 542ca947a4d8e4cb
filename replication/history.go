package replication

import (
	"slices"

	"github.com/worldd/worldd/internal/fault"
)

const (
	// historyDepth is how many states of a row can serve as baselines. A row that
	// changes in each of 60 ticks a second is remembered for 0.8 s: beyond any
	// round trip that is playable. A row whose baseline has fallen out is sent
	// whole.
	historyDepth = 48
	// restedTicks is how long a row keeps its past after its newest change:
	// viewers that are there at all have acknowledged that by then.
	restedTicks = 600
	// sweptSlots are looked at in each frame for rows that rest.
	sweptSlots = 256
	// maxSparePasts bounds the memory that is kept for rows that will change again:
	// 8 MB for rows of 9 words. More is left to the collector.
	maxSparePasts = 4096
)

// history is the last states of a row. Memory: one row for one that rests, and
// historyDepth rows for one that changed in the last restedTicks.
type history struct {
	known bool
	tick  uint32   // at which the newest state came about
	row   []uint32 // the newest state
	past  *past    // those before it; nil: none is remembered
}

// past is a ring of states: ticks[newest] is the newest.
type past struct {
	newest, count uint8
	ticks         [historyDepth - 1]uint32
	words         []uint32
}

func (p *past) push(row []uint32, tick uint32) {
	p.newest = (p.newest + 1) % uint8(len(p.ticks))
	p.count = min(p.count+1, uint8(len(p.ticks)))
	p.ticks[p.newest] = tick
	copy(p.words[int(p.newest)*len(row):], row)
}

// back is the place of the state that is so many before the newest.
func (p *past) back(age uint8) int {
	return int(p.newest+uint8(len(p.ticks))-age) % len(p.ticks)
}

// oldest is the tick at which the oldest state that is remembered came about.
func (h *history) oldest() uint32 {
	if h.past == nil {
		return h.tick
	}
	return h.past.ticks[h.past.back(h.past.count-1)]
}

// at returns the words of h as they were at a tick that it reaches.
func (h *history) at(tick uint32) []uint32 {
	if h.tick <= tick || fault.BaselineNewest {
		return h.row
	}
	p, age := h.past, uint8(0)
	for p.ticks[p.back(age)] > tick {
		age++
	}
	n, from := len(h.row), p.back(age)
	return p.words[from*n : (from+1)*n : (from+1)*n]
}

// push makes the scratch row the newest state of a history, if it is another one.
func (f *Frame) push(p *present, h *history) {
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
func (f *Frame) forget(t *tenant) {
	f.pasts.give(&t.history)
	t.known = false
	if t.whole != nil {
		f.pasts.give(&t.whole.history)
		t.whole.history.known = false
	}
}

// letRest takes the past of some of the rows that have not changed for long. All
// are looked at in turn.
func (f *Frame) letRest() {
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

func (f *Frame) letOneRest(p *present, h *history) {
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
	p := &past{}
	p.words = make([]uint32, len(p.ticks)*words)
	return p
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
