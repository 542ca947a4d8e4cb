package client

import (
	"unsafe"

	"github.com/worldd/worldd/replication/wire"
)

// textEntity is how entities are allocated if the schema has text fields, which most lack:
// an Entity alone is one cache line.
type textEntity struct {
	Entity
	texts []string // by the schema's numbers; empty for fields that were not sent; nil if it cannot have any
}

const (
	bytesOfTextEntity = int(unsafe.Sizeof(textEntity{}))
	bytesOfString     = int(unsafe.Sizeof(""))
)

// textsOf returns the text fields of an entity whose schema has some.
func textsOf(e *Entity) *[]string { return &(*textEntity)(unsafe.Pointer(e)).texts }

// newEntity allocates an entity.
func (r *Replica) newEntity() *Entity {
	if len(r.textFields) > 0 {
		return &new(textEntity).Entity
	}
	return new(Entity)
}

// bytesOfNew returns the memory of an entity without states and texts.
func (r *Replica) bytesOfNew() int {
	if len(r.textFields) > 0 {
		return bytesOfTextEntity
	}
	return bytesOfEntity
}

// textBytes returns the memory of texts: their headers, and their bytes as the allocator
// rounds them up.
func textBytes(texts []string) int {
	n := bytesOfString * len(texts)
	for _, text := range texts {
		n += heapBytes(len(text))
	}
	return n
}

func heapBytes(n int) int { return (n + 15) &^ 15 }

// AppendTexts appends the newest values of all text fields of e to dst, by their numbers in
// the schema. Fields that e lacks or that were not sent are empty. It is for tools and
// exact comparisons; games use Component.Get.
func (r *Replica) AppendTexts(dst []string, e *Entity) []string {
	if len(r.textFields) == 0 {
		return dst
	}
	if texts := *textsOf(e); texts != nil {
		return append(dst, texts...)
	}
	return append(dst, make([]string, len(r.textFields))...)
}

// readTexts reads the texts of an Enter whose row has been read.
func (r *Replica) readTexts(record wire.Record, e *enterRow) error {
	if e.mask&r.textMask == 0 && len(record.Data) == 0 {
		return nil
	}
	fields := len(r.textFields)
	if err := r.charge(fields*bytesOfString + 16*fields + len(record.Data)); err != nil {
		return err
	}
	e.texts = make([]string, fields)
	return r.codec.Schema().ReadTexts(record.Data, e.mask, e.owned, e.texts)
}

// checkText checks a Text whose generation is not lower than c's.
func (r *Replica) checkText(record wire.Record, c *plannedCell) error {
	if int64(record.Number) >= int64(len(r.textFields)) {
		return protocolError("%v of text field %d, and the schema has %d", record.Op, record.Number, len(r.textFields))
	}
	f := &r.textFields[record.Number]
	if err := f.Check(string(record.Data)); err != nil {
		return err
	}
	if !c.live || record.Handle.Generation() != c.generation {
		return nil
	}
	if c.mask>>f.Component&1 == 0 || !f.SentTo(c.owned) {
		return protocolError("%v of %s of %v, which does not have it or does not show it to this client", record.Op, f.Path, record.Handle)
	}
	return r.charge(heapBytes(len(record.Data)))
}

// setText applies a Text.
func (r *Replica) setText(c *cell, record wire.Record) {
	if record.Handle.Generation() != c.generation || c.state != wire.Live {
		return
	}
	text := &(*textsOf(c.entity))[record.Number]
	r.entityBytes += heapBytes(len(record.Data)) - heapBytes(len(*text))
	*text = string(record.Data)
	r.stats.Texts++
	r.retexted = c.entity
}

// reportTexts runs Observer.Update for the entity whose texts have changed, unless the next
// record changes them as well.
func (r *Replica) reportTexts(next wire.Record) {
	e := r.retexted
	if e == nil || next.Op == wire.OpText && next.Handle == e.handle {
		return
	}
	r.retexted = nil
	if f := r.observer.Update; f != nil {
		f(e)
	}
}

// setTexts replaces the texts of e, whose memory is counted.
func (r *Replica) setTexts(e *Entity, texts []string) {
	if len(r.textFields) == 0 {
		return
	}
	old := textsOf(e)
	r.entityBytes += textBytes(texts) - textBytes(*old)
	*old = texts
}

// dropTexts stops counting the texts of e, which keeps them.
func (r *Replica) dropTexts(e *Entity) {
	if len(r.textFields) > 0 {
		r.entityBytes -= textBytes(*textsOf(e))
	}
}

// setTexts sets the text fields of v, component n of e, to the newest values.
func (c *Component[T]) setTexts(e *Entity, n int, v *T) {
	if c.texts {
		e.layout.schema.SetTexts(n, e.states.owned, *textsOf(e), v)
	}
}
