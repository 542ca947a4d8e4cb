package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// textFields holds the schema's text fields.
type textFields struct {
	fields []schema.TextField
	mask   uint32 // bitmap of the components with text fields
}

// isSentTo reports whether field i is sent to a receiver that owns the entity, or to one that does not.
func (t *textFields) isSentTo(i int, owner bool) bool { return owner || !t.fields[i].Owner }

// tenantTexts are the text fields of a tenant, shared by all viewers. The schema's field
// number indexes both lists.
type tenantTexts struct {
	values  []string // empty for absent components
	changed []uint32 // tick of each field's newest change
}

// captureTexts reads the text fields of a slot's tenant, and reports whether one changed.
func (f *frame) captureTexts(slots world.SlotView, slot uint32, t *tenant) bool {
	if t.mask&f.textFields.mask == 0 {
		t.texts = nil
		return false
	}
	if t.texts == nil {
		n := len(f.textFields.fields)
		t.texts = &tenantTexts{make([]string, n), make([]uint32, n)}
	}
	var changed uint64
	for mask := f.textFields.mask; mask != 0; mask &= mask - 1 {
		component := bits.TrailingZeros32(mask)
		first, end := f.rows.Component(component).TextFields()
		if t.mask>>component&1 == 0 {
			clear(t.texts.values[first:end]) // if the component returns, the entity enters again with all texts
			continue
		}
		news := f.rows.Component(component).UpdateTexts(slots.ComponentValue(f.bindings[component], slot), t.texts.values)
		for i := range bulk.Bits(uint32(first), news) {
			t.texts.changed[i] = f.tick
		}
		changed |= news
	}
	return changed != 0
}

// textRow is the state of a member's text fields, under its row index.
type textRow struct {
	sent   uint32 // tick up to which the client was sent every change
	due    uint32 // tick from which on the client may be sent further changes
	queued bool   // the member's handle is in outbox.textQueue
}

// enterTextQueue records that a member's row is in the queue of changed texts, and reports
// whether it was not.
func (m *memberRows) enterTextQueue(rowIndex uint32) bool {
	row := &m.textRows[rowIndex]
	entered := !row.queued
	row.queued = true
	return entered
}

// leaveTextQueue records that a member's row is no longer in the queue of changed texts.
func (m *memberRows) leaveTextQueue(rowIndex uint32) { m.textRows[rowIndex].queued = false }

// noteTextsWritten records that a member's texts were written in a tick, and blocks further texts
// for pause ticks.
func (m *memberRows) noteTextsWritten(rowIndex, tick, pause uint32) {
	m.leaveTextQueue(rowIndex)
	row := &m.textRows[rowIndex]
	row.sent, row.due = tick, tick+pause
}

// queueTexts appends the members with changed texts to a queue. sendTexts then decides
// whether to send them. A nil set means that any text may have changed.
func (m *members) queueTexts(queue []bulk.Handle, changed *bulk.Bitset) []bulk.Handle {
	if changed != nil && !changed.Any() {
		return queue
	}
	for i := range m.words {
		w := &m.words[i]
		for rest := intersectSet(w.mask, changed, w.number); rest != 0; rest &= rest - 1 {
			rowIndex := m.indexes[w.rowAt(w.number<<6|uint32(bits.TrailingZeros64(rest)))]
			if m.enterTextQueue(rowIndex) {
				queue = append(queue, m.handles[rowIndex])
			}
		}
	}
	return queue
}

// owesText reports whether a client is owed a text of its member h, which entered in tick
// enterTick. If the member's row starts over, it is owed none: the Enter has all texts.
// Changes of owner-only fields do not count for a client that is not an owner, because the
// order of its queue would reveal them (R7).
func (f *frame) owesText(h bulk.Handle, row *textRow, enterTick uint32, owned bool) bool {
	t := f.tenantOf(h)
	if t == nil || t.texts == nil || f.summaries[h.Index()].maskSince > enterTick {
		return false
	}
	for i, tick := range t.texts.changed {
		if tick > row.sent && f.textFields.isSentTo(i, owned) {
			return true
		}
	}
	return false
}

// textPause returns the number of ticks for which a viewer receives no further texts of an
// entity, after it was sent n bytes.
func (r *Replicator) textPause(n int) uint32 {
	hz := r.world.TickHz()
	return uint32(max((hz+textsPerSecond-1)/textsPerSecond, n*hz/textBytesPerSecond))
}

// enterTexts returns the texts of an Enter record, or nil if the entity has none. The
// result is valid until the next call.
func (w *workspace) enterTexts(rows *rowschema.Layout, t *tenant, owned bool) []byte {
	if t.texts == nil {
		return nil
	}
	w.textBuffer = rows.AppendTexts(w.textBuffer[:0], t.mask, owned, t.texts.values)
	return w.textBuffer
}

// bytesOf returns the bytes of a text, valid until the next call.
func (w *workspace) bytesOf(text string) []byte {
	w.textBuffer = append(w.textBuffer[:0], text...)
	return w.textBuffer
}
