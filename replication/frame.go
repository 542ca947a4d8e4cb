package replication

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// frame is the quantised state of the world at one tick. It keeps past states of every row,
// since viewers acknowledge at different times. Memory: 120 bytes and a history for each
// used slot, and twice that for a row with owner-only fields.
type frame struct {
	tick          uint32
	schema        *schema.Schema
	rows          *rowschema.Layout
	events        []*rowschema.Message // by event number
	codec         *rowcodec.Codec
	bindings      []int
	issued        func(bulk.Handle) bool // reports whether the world ever issued a handle
	summaries     []slotSummary          // by slot
	tenants       []tenant               // by slot
	kinds         []world.Kind
	rings         ringPool
	idleTicks     uint32 // ticks without a change after which a row forgets its past states
	reclaimCursor int    // slot that reclaimIdle examined last
	scratch       rowschema.Row
	body          schema.Body
	textFields    textFields
	clean         *clean // shared with the Replicator; may be nil
	stale         staleRows
	teleports     teleports
}

// slotSummary is the part of a tenant that every viewer reads. It is stored apart, so that
// a viewer reads 24 bytes per row instead of four cache lines.
type slotSummary struct {
	handle      bulk.Handle // 0: empty
	version     uint32      // tick of the newest state
	oldest      uint32      // tick of the oldest remembered state
	maskSince   uint32      // tick since which the component set is unchanged
	hasOwnerRow bool        // owners receive tenant.ownerRow instead
}

// tenant is the entity in one slot of the frame.
type tenant struct {
	kind     world.KindID
	mask     uint32
	position world.Vec3
	hasBody  bool // position is valid

	history               // the row without its owner-only fields
	ownerRow *ownerRow    // the row with owner-only fields; nil: there are none
	texts    *tenantTexts // nil without text fields
}

// ownerRow is a row with its owner-only fields. It has its own versions and history, so
// that the baselines of other viewers do not depend on changes of owner-only fields (R7).
type ownerRow struct {
	summary slotSummary // without handle and hasOwnerRow
	history history
}

// historyFor returns the row's history for owners, or for everyone else.
func (t *tenant) historyFor(owned bool) *history {
	if owned && t.ownerRow != nil {
		return &t.ownerRow.history
	}
	return &t.history
}

func newFrame(w *world.World, c *rowcodec.Codec, bound []int, computed *clean) *frame {
	s := c.Schema()
	return &frame{
		schema: s, rows: c.Layout(), events: rowschema.NewMessages(s).Events, codec: c, bindings: bound, scratch: rowschema.Row{Values: make([]uint32, s.Values())},
		textFields: textFields{fields: c.Layout().TextFields(), mask: c.Layout().TextMask()},
		issued:     func(h bulk.Handle) bool { return w.Status(h) != bulk.Unissued },
		idleTicks:  uint32(max(idleSeconds*w.TickHz(), minIdleTicks)),
		clean:      computed,
		teleports:  teleports{window: uint32(teleportSeconds * w.TickHz())},
	}
}

// kindPriority returns the priority of a kind that is in the frame.
func (f *frame) kindPriority(k world.KindID) float32 {
	if p := f.kinds[k].Priority; p > 0 {
		return p
	}
	return 1
}

// vacateSlot empties the slot of a destroyed entity.
func (f *frame) vacateSlot(h bulk.Handle) {
	if t := f.tenantOf(h); t != nil {
		f.summaries[h.Index()].handle = 0
		t.texts = nil
		f.stale.slots.Clear(h.Index())
		f.forgetStates(t)
	}
}

// currentRow returns the newest row of t for owners, or for everyone else. It must not be
// stale: see frame.refreshRow.
func (f *frame) currentRow(t *tenant, owned bool) rowschema.Row {
	return rowschema.Row{Mask: t.mask, Owned: owned, Values: t.historyFor(owned).newestRow()}
}

// historyOf returns the history with the states that k names: the owners' history or the
// common one. Only that history is certain to hold the states that k names: the two
// histories drop states at different times, even if their values are equal.
func (f *frame) historyOf(k codingKey) *history { return f.tenants[k.slot()].historyFor(k.owned()) }

// tenantOf returns the tenant with handle h, or nil if h is not in this frame.
func (f *frame) tenantOf(h bulk.Handle) *tenant {
	if slot := h.Index(); h != 0 && int(slot) < len(f.summaries) && f.summaries[slot].handle == h {
		return &f.tenants[slot]
	}
	return nil
}
