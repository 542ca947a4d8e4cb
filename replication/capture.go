package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// prefetchBatch is the number of rows that are prefetched together before they are written.
const prefetchBatch = 16

// Capture makes the frame of the present tick, from which snapshots are taken. It reads
// only changed slots. If viewers simulate, the world must not change between AfterStep and
// the last snapshot, because snapshots read exact states from it.
func (r *Replicator) Capture() {
	f, slots := r.frame, r.world.Slots()
	to, live := r.changes.beginCapture(), r.reader.Next()
	to.changed.SetOr(to.changed.View(), live)
	f.beginTick(r.Tick(), int(slots.Len()))
	r.dirty = f.selectDirty(r.dirty, live, r.reader.Written(), r.clean.servesAll(len(r.viewers)))
	for run := range slices.Chunk(r.dirty, prefetchBatch) {
		for _, slot := range run {
			r.prefetchSum += r.grid.prefetchBody(slot)
			if !f.stale.hasSlot(slot) {
				r.prefetchSum += f.tenants[slot].history.prefetchStates()
			}
		}
		for _, slot := range run {
			if !f.stale.hasSlot(slot) {
				f.captureSlot(r.world, slot, &to)
			} else {
				f.moveStale(slots, slot)
			}
			r.placeTenant(slot)
		}
	}
	r.grid.endCapture()
	f.reclaimIdle()
	r.frames++
}

// beginTick begins the frame of a tick in a world with this many slots.
func (f *frame) beginTick(tick uint32, slots int) {
	f.tick = tick
	if n := slots - len(f.tenants); n > 0 {
		f.tenants = slices.Grow(f.tenants, n)[:slots]
		f.summaries = slices.Grow(f.summaries, n)[:slots]
	}
}

// captureSlot reads the entity in a slot: its body, its components as a row, the same row
// without owner-only fields if there are any, and its texts. The entity is live: a
// ChangeReader omits destroyed entities.
func (f *frame) captureSlot(w *world.World, slot uint32, to *captureChanges) {
	slots, t, p := w.Slots(), &f.tenants[slot], &f.summaries[slot]
	h := slots.Handle(slot)
	if h != p.handle {
		p.handle, p.maskSince = h, f.tick
		t.texts = nil
		t.kind, _ = w.KindOf(h)
		if int(t.kind) >= len(f.kinds) {
			f.kinds = w.Kinds() // kinds are only ever added
		}
		f.forgetStates(t)
		to.replaced.Set(slot)
	}
	position, velocity, hasBody := slots.Body(slot)
	t.position, t.hasBody = position, hasBody
	f.quantiseSlot(slots, slot, position, velocity, hasBody)
	if t.mask != f.scratch.Mask {
		// Deltas need equal masks. If the set of components changed, the row starts over,
		// and viewers receive a new Enter.
		t.mask, p.maskSince = f.scratch.Mask, f.tick
		f.forgetStates(t)
	}
	p.hasOwnerRow = f.rows.OwnedMask()&t.mask != 0
	if p.hasOwnerRow {
		if t.ownerRow == nil {
			t.ownerRow = &ownerRow{}
		}
		t.ownerRow.summary.maskSince = p.maskSince
		f.noteOwing(slot, &t.ownerRow.history, true, to.owing)
		f.pushState(&t.ownerRow.summary, &t.ownerRow.history)
		f.rows.HideOwned(f.scratch)
	} else {
		t.ownerRow = nil
	}
	f.noteOwing(slot, &t.history, false, to.owing)
	f.pushState(p, &t.history)
	if f.captureTexts(slots, slot, t) {
		to.retexted.Set(slot)
	}
}

// quantiseSlot fills the scratch row with the present state of a slot. Its body is given.
func (f *frame) quantiseSlot(slots world.SlotView, slot uint32, position, velocity world.Vec3, hasBody bool) {
	row := &f.scratch
	row.Mask = 0
	f.body = schema.Body{
		Position: [3]float32{position.X, position.Y, position.Z},
		Velocity: [3]float32{velocity.X, velocity.Y, velocity.Z},
	}
	for component, id := range f.bindings {
		c := f.rows.Component(component)
		out := c.In(row.Values)
		var value any // bindComponents checked that its type is the schema's
		switch {
		case id != worldBody:
			value = slots.ComponentValue(id, slot)
		case hasBody:
			value = &f.body
		}
		if value != nil {
			row.Mask |= 1 << component
			c.Quantise(value, out)
		} else {
			clear(out)
		}
	}
	// A forged handle might be issued later, and its viewers would never receive its
	// Destroy (H3): a handle that was never issued becomes 0.
	f.rows.KeepReferences(*row, f.issued)
}

// noteOwing adds a slot to owing if simulating viewers may be owed the scratch row. It also
// records the tick if values other than the body differ from the newest state in h: motion
// alone does not make viewers owed the row of an exact body.
func (f *frame) noteOwing(slot uint32, h *history, owner bool, owing *bulk.Bitset) {
	if f.clean == nil || f.clean.viewers == 0 {
		return
	}
	s := f.clean.slotOf(slot, f.summaries[slot].handle)
	switch {
	case s == nil || !h.valid:
	case !f.clean.otherValuesDiffer(f.scratch.Values, h.newestRow()):
		if s.exact {
			return
		}
	default:
		f.clean.recordChange(slot, f.tick, owner)
	}
	owing.Set(slot)
}

// placeTenant updates the grid from the tenant of a slot.
func (r *Replicator) placeTenant(slot uint32) {
	t := &r.frame.tenants[slot]
	if t.hasBody {
		r.bodiless.Clear(slot)
		r.grid.putBody(slot, t.position)
	} else {
		r.bodiless.Set(slot)
		r.grid.removeBody(slot)
	}
}
