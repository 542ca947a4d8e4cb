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
	tick          uint32
	schema        *schema.Schema
	codec         *rowcodec.Codec
	bindings      []int
	issued        func(bulk.Handle) bool // says whether the world ever gave out a handle
	summaries     []slotSummary          // by slot
	tenants       []tenant               // by slot
	rings         ringPool
	reclaimCursor int // the slot that letRest has looked at last
	scratch       schema.Row
	body          schema.Body
	coded         func(schema.Row, *rowcodec.Past) // Config.Coded
	// replaced are the slots that the last capture found with another tenant.
	replaced    []uint32
	dirty       []uint32 // slots that the capture reads
	prefetchSum uint32   // a sum of words, so that they are read
}

// present is what every viewer asks about the tenant of a slot, apart from the
// rest: for each row of each viewer 24 bytes are read instead of four lines of
// memory.
type slotSummary struct {
	handle      bulk.Handle // none: nobody is there
	version     uint32      // tick at which its newest state came about
	oldest      uint32      // tick from which on it is remembered how it was
	maskSince   uint32      // tick since which its set of components is what it is
	hasOwnerRow bool        // what owners are sent of it is another row: tenant.whole
}

// tenant is the entity in one slot as of the frame.
type tenant struct {
	kind     world.KindID
	mask     uint32
	position world.Vec3
	hasBody  bool // has a body, so it can be near or far

	history            // as everybody is sent it: less what only owners are
	ownerRow *ownerRow // as owners are sent it, if that is another row
}

// whole is a row with what only owners are sent. It has versions and a history of
// its own, so that nobody else's baselines depend on how often that changes (R7).
type ownerRow struct {
	summary slotSummary // but for handle and secret
	history history
}

// as is the history of what owners are sent, or everybody else.
func (t *tenant) historyFor(owned bool) *history {
	if owned && t.ownerRow != nil {
		return &t.ownerRow.history
	}
	return &t.history
}

func newFrame(c *rowcodec.Codec, bound []int) *frame {
	s := c.Schema()
	return &frame{schema: s, codec: c, bindings: bound, scratch: schema.Row{Words: make([]uint32, s.Words())}}
}

// updateRun is for how many rows the memory that they write is fetched at the same
// time.
const prefetchBatch = 16

// capture brings the frame to the world's present tick, which is the protocol's
// tick. Only dirty slots are read: the cost is what changed, not what exists.
func (f *frame) capture(w *world.World, tick uint32) {
	f.tick = tick
	f.replaced = f.replaced[:0]
	if n := int(w.Slots()); n > len(f.tenants) {
		f.tenants = slices.Grow(f.tenants, n-len(f.tenants))[:n]
		f.summaries = slices.Grow(f.summaries, n-len(f.summaries))[:n]
	}
	f.dirty = f.dirty[:0]
	for slot := range w.Dirty().All() {
		f.dirty = append(f.dirty, slot)
	}
	for run := range slices.Chunk(f.dirty, prefetchBatch) {
		for _, slot := range run {
			f.prefetchSum += f.tenants[slot].history.prefetch()
		}
		for _, slot := range run {
			f.updateSlot(w, slot)
		}
	}
	f.reclaimIdle()
	w.ClearDirty()
}

// vacate empties the slot of a destroyed entity, which no later frame holds.
func (f *frame) vacate(h bulk.Handle) {
	if t := f.tenantOf(h); t != nil {
		f.summaries[h.Index()].handle = 0
		f.forgetStates(t)
	}
}

// update reads one slot, whose tenant lives: the world takes the destroyed out
// of its dirty slots.
func (f *frame) updateSlot(w *world.World, slot uint32) {
	t, p := &f.tenants[slot], &f.summaries[slot]
	h := w.HandleAt(slot)
	if h != p.handle {
		p.handle, p.maskSince = h, f.tick
		f.forgetStates(t)
		f.replaced = append(f.replaced, slot)
	}
	t.kind, _ = w.KindOf(h)
	t.position, _, t.hasBody = w.Body(slot)
	f.quantise(w, slot, &f.scratch)
	if t.mask != f.scratch.Mask {
		// Deltas need equal masks, so another set of components is another
		// life of the row: viewers are sent Enter again.
		t.mask, p.maskSince = f.scratch.Mask, f.tick
		f.forgetStates(t)
	}
	if p.hasOwnerRow = f.schema.OwnedMask()&t.mask != 0; p.hasOwnerRow {
		if t.ownerRow == nil {
			t.ownerRow = &ownerRow{}
		}
		t.ownerRow.summary.maskSince = p.maskSince
		f.pushState(&t.ownerRow.summary, &t.ownerRow.history)
		f.schema.HideOwned(f.scratch)
	} else {
		t.ownerRow = nil
	}
	f.pushState(p, &t.history)
}

// current returns the newest row of t, as owners are sent it or everybody else.
func (f *frame) currentRow(t *tenant, owned bool) schema.Row {
	return schema.Row{Mask: t.mask, Owned: owned, Words: t.historyFor(owned).row}
}

// states are those that a row is coded from: its owners', or everybody else's, by
// the key. The two are forgotten at different times, also where they have the same
// words: a state that the key names is sure to be in its own alone.
func (f *frame) historyOf(k codingKey) *history { return f.tenants[k.slot()].historyFor(k.owned()) }

// tenantOf returns the tenant that h names, or nil if h names nobody in this
// frame.
func (f *frame) tenantOf(h bulk.Handle) *tenant {
	if slot := h.Index(); h != 0 && int(slot) < len(f.summaries) && f.summaries[slot].handle == h {
		return &f.tenants[slot]
	}
	return nil
}

// changesKept is how many captures back a viewer may have been sent its last
// snapshot and still be told what changed since, instead of looking at all of
// its rows. At 60 ticks a second it serves two a second and more. A set
// takes a bit a slot, and there are four of them for each capture that is kept.
const keptCaptures = 32

// changes remembers which slots changed in each of the last captures: another
// state, another set of components, another tenant or none. Viewers whose turns
// are ticks apart are each told what is new to them, and what is dormant is not
// looked at.
type changeLog struct {
	captures uint64                    // so far
	sets     [keptCaptures]bulk.Bitset // by capture; the one after the newest gathers what is not captured yet
	unions   [keptCaptures]bulk.Bitset // by captures back
	unionAt  [keptCaptures]uint64      // the capture that a union is of
	counts   [keptCaptures]int         // of the members of unions
}

// open is the set of the capture to come.
func (c *changeLog) openSet() *bulk.Bitset { return &c.sets[c.captures%keptCaptures] }

// capture closes the open set and returns it.
func (c *changeLog) close() *bulk.Bitset {
	closed := c.openSet()
	c.captures++
	c.openSet().Reset()
	return closed
}

// since returns the slots that changed after a capture; nil means any.
func (c *changeLog) since(capture uint64) *bulk.Bitset {
	back := c.captures - capture
	if back >= keptCaptures {
		return nil
	}
	union := &c.unions[back]
	if c.unionAt[back] != c.captures {
		c.unionAt[back] = c.captures
		union.Reset()
		for n := range back {
			union.SetOr(union, &c.sets[(capture+n)%keptCaptures])
		}
		c.counts[back] = union.Count()
	}
	return union
}

// few says whether at most one in so many slots is in the set that since returned
// for a capture.
func (c *changeLog) isSmall(capture uint64, share, slots int) bool {
	return c.counts[c.captures-capture]*share <= slots
}
