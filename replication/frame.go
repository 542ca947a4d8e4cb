package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// historyDepth is how many past states of a row can serve as baselines. A row
// that changes in each of 60 ticks a second is remembered for 0.8 s: beyond any
// round trip that is playable. A row whose baseline has fallen out is sent
// whole. Memory: 270 bytes a used slot, one row for a tenant that never
// changed, and historyDepth rows for any other; as much again for one with
// fields that only owners are sent.
const historyDepth = 48

// Frame is the quantised state of the world at one tick. It keeps the last
// states of every row, since viewers acknowledge at different times.
type Frame struct {
	tick    uint32
	schema  *wire.Schema
	codec   *wire.Codec
	bound   []int
	issued  func(bulk.Handle) bool // says whether the world ever gave out a handle
	present []present              // by slot
	tenants []tenant               // by slot
	scratch wire.Row
	body    wire.Body
	coded   func(wire.Row, *wire.Past) // Config.Coded
	// replaced are the slots that the last capture found with another tenant.
	replaced []uint32
}

// present is what every viewer asks about the tenant of a slot, apart from the
// rest: for each row of each viewer 24 bytes are read instead of four lines of
// memory.
type present struct {
	handle  bulk.Handle // none: nobody is there
	version uint32      // tick at which its newest state came about
	oldest  uint32      // tick from which on it is remembered how it was
	shape   uint32      // tick since which its set of components is what it is
	secret  bool        // what owners are sent of it is another row: tenant.whole
}

// tenant is the entity in one slot as of the frame.
type tenant struct {
	kind     world.KindID
	mask     uint32
	position world.Vec3
	placed   bool // has a body, so it can be near or far

	history        // as everybody is sent it: less what only owners are
	whole   *whole // as owners are sent it, if that is another row
}

// whole is a row with what only owners are sent. It has versions and a history of
// its own, so that nobody else's baselines depend on how often that changes (R7).
type whole struct {
	present present // but for handle and secret
	history history
}

// history is the last states of a row.
type history struct {
	newest, count uint8 // ring of states: ticks[newest] is the newest
	ticks         [historyDepth]uint32
	words         []uint32 // one row, or historyDepth of them once it changed
}

// as is the history of what owners are sent, or everybody else.
func (t *tenant) as(owned bool) *history {
	if owned && t.whole != nil {
		return &t.whole.history
	}
	return &t.history
}

// parts is how many components t has.
func (t *tenant) parts() int { return bits.OnesCount32(t.mask) }

// forget drops all states.
func (t *tenant) forget() {
	t.count = 0
	if t.whole != nil {
		t.whole.history.count = 0
	}
}

func newFrame(c *wire.Codec, bound []int) *Frame {
	s := c.Schema()
	return &Frame{schema: s, codec: c, bound: bound, scratch: wire.Row{Words: make([]uint32, s.Words())}}
}

// capture brings the frame to the world's present tick. Only dirty slots are
// read: the cost is what changed, not what exists.
func (f *Frame) capture(w *world.World) {
	f.tick = uint32(w.Tick())
	f.replaced = f.replaced[:0]
	if n := int(w.Slots()); n > len(f.tenants) {
		f.tenants = slices.Grow(f.tenants, n-len(f.tenants))[:n]
		f.present = slices.Grow(f.present, n-len(f.present))[:n]
	}
	for slot := range w.Dirty().All() {
		f.update(w, slot)
	}
	w.ClearDirty()
}

// vacate empties the slot of a destroyed entity, which no later frame holds.
func (f *Frame) vacate(h bulk.Handle) {
	if t := f.tenantOf(h); t != nil {
		f.present[h.Index()].handle = 0
		t.forget()
	}
}

// update reads one slot, whose tenant lives: the world takes the destroyed out
// of its dirty slots.
func (f *Frame) update(w *world.World, slot uint32) {
	t, p := &f.tenants[slot], &f.present[slot]
	h := w.HandleAt(slot)
	if h != p.handle {
		p.handle, p.shape = h, f.tick
		t.forget()
		f.replaced = append(f.replaced, slot)
	}
	t.kind, _ = w.KindOf(h)
	t.position, _, t.placed = w.Body(slot)
	f.quantise(w, slot, &f.scratch)
	if t.mask != f.scratch.Mask {
		// Deltas need equal masks, so another set of components is another
		// life of the row: viewers are sent Enter again.
		t.mask, p.shape = f.scratch.Mask, f.tick
		t.forget()
	}
	if p.secret = f.schema.OwnedMask()&t.mask != 0; p.secret {
		if t.whole == nil {
			t.whole = &whole{}
		}
		t.whole.present.shape = p.shape
		f.push(&t.whole.present, &t.whole.history)
		f.schema.HideOwned(f.scratch)
	} else {
		t.whole = nil
	}
	f.push(p, &t.history)
}

// push makes the scratch row the newest state of a history, if it is another one.
func (f *Frame) push(p *present, t *history) {
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
	p.version, p.oldest = f.tick, t.oldest()
}

// state returns the words of the age-th newest state of t.
func (f *Frame) state(t *history, age uint8) []uint32 {
	n := f.schema.Words()
	at := int((t.newest+historyDepth-age)%historyDepth) * n
	return t.words[at : at+n : at+n]
}

// current returns the newest row of t, as owners are sent it or everybody else.
func (f *Frame) current(t *tenant, owned bool) wire.Row {
	return wire.Row{Mask: t.mask, Owned: owned, Words: f.state(t.as(owned), 0)}
}

// oldest is the tick at which the oldest state that is remembered came about.
func (t *history) oldest() uint32 {
	return t.ticks[(t.newest+historyDepth+1-t.count)%historyDepth]
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
	if slot := h.Index(); h != 0 && int(slot) < len(f.present) && f.present[slot].handle == h {
		return &f.tenants[slot]
	}
	return nil
}
