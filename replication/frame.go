package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// frame is the quantised state of the world at one tick. It keeps the last
// states of every row, since viewers acknowledge at different times. Memory: 120
// bytes a used slot, and its history; as much again for a row with fields that only
// owners are sent.
type frame struct {
	tick    uint32
	schema  *schema.Schema
	codec   *rowcodec.Codec
	bound   []int
	issued  func(bulk.Handle) bool // says whether the world ever gave out a handle
	present []present              // by slot
	tenants []tenant               // by slot
	pasts   pasts
	swept   int // the slot that letRest has looked at last
	scratch schema.Row
	body    schema.Body
	coded   func(schema.Row, *rowcodec.Past) // Config.Coded
	// replaced are the slots that the last capture found with another tenant.
	replaced []uint32
	dirty    []uint32 // slots that the capture reads
	warmed   uint32   // a sum of words, so that they are read
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

// as is the history of what owners are sent, or everybody else.
func (t *tenant) as(owned bool) *history {
	if owned && t.whole != nil {
		return &t.whole.history
	}
	return &t.history
}

func newFrame(c *rowcodec.Codec, bound []int) *frame {
	s := c.Schema()
	return &frame{schema: s, codec: c, bound: bound, scratch: schema.Row{Words: make([]uint32, s.Words())}}
}

// updateRun is for how many rows the memory that they write is fetched at the same
// time.
const updateRun = 16

// capture brings the frame to the world's present tick, which is the protocol's
// tick. Only dirty slots are read: the cost is what changed, not what exists.
func (f *frame) capture(w *world.World, tick uint32) {
	f.tick = tick
	f.replaced = f.replaced[:0]
	if n := int(w.Slots()); n > len(f.tenants) {
		f.tenants = slices.Grow(f.tenants, n-len(f.tenants))[:n]
		f.present = slices.Grow(f.present, n-len(f.present))[:n]
	}
	f.dirty = f.dirty[:0]
	for slot := range w.Dirty().All() {
		f.dirty = append(f.dirty, slot)
	}
	for run := range slices.Chunk(f.dirty, updateRun) {
		for _, slot := range run {
			f.warmed += f.tenants[slot].history.ahead()
		}
		for _, slot := range run {
			f.update(w, slot)
		}
	}
	f.letRest()
	w.ClearDirty()
}

// vacate empties the slot of a destroyed entity, which no later frame holds.
func (f *frame) vacate(h bulk.Handle) {
	if t := f.tenantOf(h); t != nil {
		f.present[h.Index()].handle = 0
		f.forget(t)
	}
}

// update reads one slot, whose tenant lives: the world takes the destroyed out
// of its dirty slots.
func (f *frame) update(w *world.World, slot uint32) {
	t, p := &f.tenants[slot], &f.present[slot]
	h := w.HandleAt(slot)
	if h != p.handle {
		p.handle, p.shape = h, f.tick
		f.forget(t)
		f.replaced = append(f.replaced, slot)
	}
	t.kind, _ = w.KindOf(h)
	t.position, _, t.placed = w.Body(slot)
	f.quantise(w, slot, &f.scratch)
	if t.mask != f.scratch.Mask {
		// Deltas need equal masks, so another set of components is another
		// life of the row: viewers are sent Enter again.
		t.mask, p.shape = f.scratch.Mask, f.tick
		f.forget(t)
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

// current returns the newest row of t, as owners are sent it or everybody else.
func (f *frame) current(t *tenant, owned bool) schema.Row {
	return schema.Row{Mask: t.mask, Owned: owned, Words: t.as(owned).row}
}

// states are those that a row is coded from: its owners', or everybody else's, by
// the key. The two are forgotten at different times, also where they have the same
// words: a state that the key names is sure to be in its own alone.
func (f *frame) states(k codingKey) *history { return f.tenants[k.slot()].as(k.owned()) }

// tenantOf returns the tenant that h names, or nil if h names nobody in this
// frame.
func (f *frame) tenantOf(h bulk.Handle) *tenant {
	if slot := h.Index(); h != 0 && int(slot) < len(f.present) && f.present[slot].handle == h {
		return &f.tenants[slot]
	}
	return nil
}
