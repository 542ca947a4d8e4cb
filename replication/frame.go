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
	rings         ringPool
	idleTicks     uint32 // ticks without a change after which a row forgets its past states
	reclaimCursor int    // slot that reclaimIdle examined last
	scratch       rowschema.Row
	body          schema.Body
	textFields    textFields
	clean         *clean // shared with the Replicator; may be nil
	stale         staleRows
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

func newFrame(c *rowcodec.Codec, bound []int) *frame {
	s := c.Schema()
	return &frame{
		schema: s, rows: c.Layout(), events: rowschema.NewMessages(s).Events, codec: c, bindings: bound, scratch: rowschema.Row{Values: make([]uint32, s.Values())},
		textFields: textFields{fields: s.TextFields(), mask: c.Layout().TextMask()},
	}
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

// keptCaptures bounds the captures between two snapshots of a viewer that examines changed
// rows only. A viewer with rarer snapshots, fewer than 2 a second at 60 ticks a second or
// 32 at 1,000, examines all its rows. Memory: four sets per kept capture, one bit per slot
// each.
const keptCaptures = 32

// changeLog remembers which slots changed in each of the last captures. A viewer gets the
// changes since its own last snapshot, and does not examine dormant rows.
type changeLog struct {
	captures uint64                    // number of captures made
	sets     [keptCaptures]bulk.Bitset // by capture; the entry after the newest collects changes for the next
	unions   [keptCaptures]bulk.Bitset // by captures back
	unionAt  [keptCaptures]uint64      // capture at which each union was computed
	counts   [keptCaptures]int         // sizes of the unions
}

// openSet returns the set that collects changes for the next capture.
func (c *changeLog) openSet() *bulk.Bitset { return &c.sets[c.captures%keptCaptures] }

// closeSet closes the open set and returns it.
func (c *changeLog) closeSet() *bulk.Bitset {
	closed := c.openSet()
	c.captures++
	c.openSet().Reset()
	return closed
}

// changedSince returns the slots that changed after a capture, or nil if any slot may have
// changed.
func (c *changeLog) changedSince(capture uint64) *bulk.Bitset {
	back := c.captures - capture
	if back >= keptCaptures {
		return nil
	}
	union := &c.unions[back]
	if c.unionAt[back] != c.captures {
		c.unionAt[back] = c.captures
		union.Reset()
		for n := range back {
			union.SetOr(union.View(), c.sets[(capture+n)%keptCaptures].View())
		}
		c.counts[back] = union.Count()
	}
	return union
}

// isSmall reports whether at most 1/share of all slots changed after a capture.
// changedSince must have returned a set for it.
func (c *changeLog) isSmall(capture uint64, share, slots int) bool {
	return c.counts[c.captures-capture]*share <= slots
}
