package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// historyDepth is how many past states of a row can serve as baselines. A row
// that changes in each of 60 ticks a second is remembered for 0.8 s: beyond any
// round trip that is playable. A row whose baseline has fallen out is sent
// whole. Memory: 250 bytes a used slot, one row for a tenant that never
// changed, and historyDepth rows for any other; as much again for one with
// fields that only owners are sent.
const historyDepth = 48

// Frame is the quantised state of the world at one tick. It keeps the last
// states of every row, since viewers acknowledge at different times.
type Frame struct {
	tick    uint32
	schema  *wire.Schema
	codec   *wire.Codec
	codings codings
	bound   []int
	issued  func(bulk.Handle) bool // says whether the world ever gave out a handle
	tenants []tenant
	scratch wire.Row
	body    wire.Body
	coded   func(wire.Row, *wire.Past) // Config.Coded
	past    wire.Past
	anchor  wire.Anchor
}

// tenant is the entity in one slot as of the frame.
type tenant struct {
	handle   bulk.Handle
	kind     world.KindID
	mask     uint32
	shape    uint32 // tick since which mask is what it is
	position world.Vec3
	placed   bool // has a body, so it can be near or far

	history          // as everybody is sent it: less what only owners are
	whole   *history // as owners are sent it; nil: as everybody is
}

// history is the last states of a row. What only owners are sent has one of its
// own, so that nobody else's baselines depend on how often it changes.
type history struct {
	newest, count uint8 // ring of states: ticks[newest] is the newest
	ticks         [historyDepth]uint32
	words         []uint32 // one row, or historyDepth of them once it changed
}

// as is the history of what is sent to owners, or to everybody else.
func (t *tenant) as(owned bool) *history {
	if owned && t.whole != nil {
		return t.whole
	}
	return &t.history
}

func newFrame(c *wire.Codec, bound []int) *Frame {
	s := c.Schema()
	return &Frame{schema: s, codec: c, bound: bound, scratch: wire.Row{Words: make([]uint32, s.Words())}}
}

// capture brings the frame to the world's present tick. Only dirty slots are
// read: the cost is what changed, not what exists.
func (f *Frame) capture(w *world.World) {
	f.tick = uint32(w.Tick())
	f.codings.reset()
	if n := int(w.Slots()); n > len(f.tenants) {
		f.tenants = slices.Grow(f.tenants, n-len(f.tenants))[:n]
	}
	for slot := range w.Dirty().All() {
		f.update(w, slot)
	}
	w.ClearDirty()
}

// vacate empties the slot of a destroyed entity, which no later frame holds.
func (f *Frame) vacate(h bulk.Handle) {
	if t := f.tenantOf(h); t != nil {
		t.handle = 0
		t.forget()
	}
}

// update reads one slot, whose tenant lives: the world takes the destroyed out
// of its dirty slots.
func (f *Frame) update(w *world.World, slot uint32) {
	t := &f.tenants[slot]
	h := w.HandleAt(slot)
	if h != t.handle {
		t.handle, t.shape = h, f.tick
		t.forget()
	}
	t.kind, _ = w.KindOf(h)
	t.position, _, t.placed = w.Body(slot)
	f.quantise(w, slot, &f.scratch)
	if t.mask != f.scratch.Mask {
		// Deltas need equal masks, so another set of components is another
		// life of the row: viewers are sent Enter again.
		t.mask, t.shape = f.scratch.Mask, f.tick
		t.forget()
	}
	if f.schema.OwnedMask()&t.mask != 0 {
		if t.whole == nil {
			t.whole = &history{}
		}
		f.push(t.whole)
		f.schema.HideOwned(f.scratch)
	} else {
		t.whole = nil
	}
	f.push(&t.history)
}

// forget drops all states, of a tenant that died or has another set of components.
func (t *tenant) forget() {
	t.count = 0
	if t.whole != nil {
		t.whole.count = 0
	}
}

// push makes the scratch row the newest state of a history, if it is another one.
func (f *Frame) push(t *history) {
	if t.count > 0 && slices.Equal(f.state(t, 0), f.scratch.Words) {
		return
	}
	switch n := f.schema.Words(); {
	case t.words == nil:
		t.words = make([]uint32, n)
		fallthrough
	case t.count == 0:
		t.newest = historyDepth - 1 // so that the first state is the first row
	case len(t.words) == n && n > 0:
		t.words = append(make([]uint32, 0, historyDepth*n), t.words...)[:historyDepth*n]
	}
	t.newest = (t.newest + 1) % historyDepth
	t.count = min(t.count+1, historyDepth)
	t.ticks[t.newest] = f.tick
	copy(f.state(t, 0), f.scratch.Words)
}

// state returns the words of the age-th newest state of t.
func (f *Frame) state(t *history, age uint8) []uint32 {
	n := f.schema.Words()
	at := int((t.newest+historyDepth-age)%historyDepth) * n
	return t.words[at : at+n : at+n]
}

// current returns the newest row of t, as its owners are sent it or everybody
// else.
func (f *Frame) current(t *tenant, owned bool) wire.Row {
	return wire.Row{Mask: t.mask, Owned: owned, Words: f.state(t.as(owned), 0)}
}

// version is the tick at which the newest state of t came about.
func (t *history) version() uint32 { return t.ticks[t.newest] }

// reaches says whether it is known how t was at an earlier tick.
func (t *history) reaches(tick uint32) bool {
	return t.ticks[(t.newest+historyDepth+1-t.count)%historyDepth] <= tick
}

// at returns the words of t as they were at a tick that its history reaches.
func (f *Frame) at(t *history, tick uint32) []uint32 {
	age := uint8(0)
	for t.ticks[(t.newest+historyDepth-age)%historyDepth] > tick && !fault.BaselineNewest {
		age++
	}
	return f.state(t, age)
}

// tenantOf returns the tenant that h names, or nil if h names nobody in this
// frame.
func (f *Frame) tenantOf(h bulk.Handle) *tenant {
	if h == 0 || int(h.Index()) >= len(f.tenants) {
		return nil
	}
	if t := &f.tenants[h.Index()]; t.handle == h {
		return t
	}
	return nil
}
