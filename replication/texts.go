package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// textFields holds what a frame knows of the schema's text fields.
type textFields struct {
	fields []schema.TextField
	mask   uint32 // bitmap of the components with text fields
}

// tenantTexts are the text fields of a tenant, shared by all viewers. Both lists are by
// the schema's numbers.
type tenantTexts struct {
	values  []string // empty for absent components
	changed []uint32 // tick of the newest change
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
			clear(t.texts.values[first:end]) // should it return, the whole row enters again
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
	sent   uint32 // tick up to which the client was sent all changes
	due    uint32 // tick from which it may be sent the next ones
	queued bool   // its handle is in outbox.textQueue
}

// leaveQueue notes that the handle is no longer in the queue.
func (t *textRow) leaveQueue() { t.queued = false }

// noteWritten notes that the texts were written in a tick, and rest for pause ticks.
func (t *textRow) noteWritten(tick, pause uint32) {
	t.leaveQueue()
	t.sent, t.due = tick, tick+pause
}

// queueTexts appends to a queue the members with changed texts, for sendTexts to decide. A nil set
// means that any may have changed.
func (m *members) queueTexts(queue []bulk.Handle, changed *bulk.Bitset) []bulk.Handle {
	if changed != nil && !changed.Any() {
		return queue
	}
	for i := range m.words {
		w := &m.words[i]
		for rest := intersectSet(w.mask, changed, w.number); rest != 0; rest &= rest - 1 {
			rowIndex := m.indexes[w.rowAt(w.number<<6|uint32(bits.TrailingZeros64(rest)))]
			if row := &m.textRows[rowIndex]; !row.queued {
				row.queued = true
				queue = append(queue, m.handles[rowIndex])
			}
		}
	}
	return queue
}

// owesText reports whether a client is to be sent a text of its member h, which entered in a tick.
// If the member's row starts over, its Enter has them all. Changes of owner-only fields do not keep
// it in the queue of others, whose order would show them (R7).
func (f *frame) owesText(h bulk.Handle, row *textRow, enterTick uint32, owned bool) bool {
	t := f.tenantOf(h)
	if t == nil || t.texts == nil || f.summaries[h.Index()].maskSince > enterTick {
		return false
	}
	for i, tick := range t.texts.changed {
		if tick > row.sent && f.textFields.fields[i].SentTo(owned) {
			return true
		}
	}
	return false
}

// textPause returns for how many ticks no text of an entity is sent to a viewer that was
// just sent n bytes.
func (r *Replicator) textPause(n int) uint32 {
	hz := r.world.TickHz()
	return uint32(max((hz+textsPerSecond-1)/textsPerSecond, n*hz/textBytesPerSecond))
}

// enterTexts returns the texts of an Enter record, nil if the viewer receives none. The
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
