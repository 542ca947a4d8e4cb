package client

import (
	"unsafe"

	"github.com/worldd/worldd/replication/wire"
)

// textEntity is the allocation of an entity if the schema has text fields. Most schemas have
// none, and there an Entity stays one cache line.
type textEntity struct {
	Entity
	texts []string // by number in the schema; empty if not sent; nil if the entity has no text field
}

const (
	bytesOfTextEntity = int(unsafe.Sizeof(textEntity{}))
	bytesOfString     = int(unsafe.Sizeof(""))
)

// textsOf returns the texts of e. The schema must have text fields.
func textsOf(e *Entity) *[]string { return &(*textEntity)(unsafe.Pointer(e)).texts }

// texts returns the texts of e, nil if the server's schema has no text fields.
func (e *Entity) texts() []string {
	if len(e.layout.textFields) == 0 {
		return nil
	}
	return *textsOf(e)
}

// textBytes returns the memory of texts: their headers, and their bytes as the allocator rounds
// them up.
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
	if len(r.entities.layout.textFields) == 0 {
		return dst
	}
	if texts := *textsOf(e); texts != nil {
		return append(dst, texts...)
	}
	return append(dst, make([]string, len(r.entities.layout.textFields))...)
}

// setText applies a Text.
func (x *entities) setText(c *cell, record wire.Record) {
	if record.Handle.Generation() != c.generation || c.state != wire.Live {
		return
	}
	text := &(*textsOf(c.entity))[record.Number]
	x.size += heapBytes(len(record.Data)) - heapBytes(len(*text))
	*text = string(record.Data)
	x.stats.Texts++
	x.retexted = c.entity
}

// reportTexts runs Observer.Update for the entity whose texts have changed, unless the next
// record changes them as well.
func (x *entities) reportTexts(next wire.Record) {
	e := x.retexted
	if e == nil || next.Op == wire.OpText && next.Handle == e.handle {
		return
	}
	x.retexted = nil
	if f := x.observer.Update; f != nil {
		f(e)
	}
}

// setTexts replaces the texts of e, and counts their memory.
func (x *entities) setTexts(e *Entity, texts []string) {
	if len(x.layout.textFields) == 0 {
		return
	}
	old := textsOf(e)
	x.size += textBytes(texts) - textBytes(*old)
	*old = texts
}

// dropTexts removes the texts of e, which keeps them, from the count.
func (x *entities) dropTexts(e *Entity) {
	if len(x.layout.textFields) > 0 {
		x.size -= textBytes(*textsOf(e))
	}
}

// setTexts sets the text fields of v, component n of e, to the newest values.
func (c *Component[T]) setTexts(e *Entity, n int, v *T) {
	if c.texts {
		e.layout.rows.Component(n).SetTexts(e.states.owned, e.texts(), v)
	}
}
