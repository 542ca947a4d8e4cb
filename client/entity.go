package client

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// Entity is the client's copy of one entity of its interest set.
type Entity struct {
	handle  bulk.Handle
	kind    uint32
	entered uint32 // number of its Enter record
	seq     uint32 // snapshot of the current state; 0: the Enter record
	tick    uint32
	place   int // in Replica.entities
	row     wire.Row
	enter   []uint32 // state of the Enter record
	states  []baseline
}

// baseline is a past state that the server may code a delta against.
type baseline struct {
	seq   uint32
	words []uint32
}

// Handle names the entity, here and on the server.
func (e *Entity) Handle() bulk.Handle { return e.handle }

// Kind is the number of its kind, as the server counts kinds.
func (e *Entity) Kind() uint32 { return e.kind }

// Tick is the server's tick of its current state.
func (e *Entity) Tick() uint32 { return e.tick }

// find returns the words of the state that a baseline code names, or nil.
func (e *Entity) find(code uint8, seq uint32) []uint32 {
	if code == wire.BaselineEnter {
		return e.enter
	}
	if uint32(code) >= seq {
		return nil // there is no snapshot 0: it marks what was forgotten
	}
	want := seq - uint32(code)
	for i := range e.states {
		if e.states[i].seq == want {
			return e.states[i].words
		}
	}
	return nil
}

// keep stores a state as a possible baseline, in place of one that no delta
// can name any more.
func (e *Entity) keep(seq uint32, words []uint32) {
	oldest := -1
	for i := range e.states {
		if e.states[i].seq+wire.MaxBaselineAge < seq && (oldest < 0 || e.states[i].seq < e.states[oldest].seq) {
			oldest = i
		}
	}
	if oldest < 0 {
		e.states = append(e.states, baseline{words: make([]uint32, len(words))})
		oldest = len(e.states) - 1
	}
	e.states[oldest].seq = seq
	copy(e.states[oldest].words, words)
}

// forget makes room of the states older than seq: the server's baseline of a
// row never goes back.
func (e *Entity) forget(seq uint32) {
	for i := range e.states {
		if e.states[i].seq < seq {
			e.states[i].seq = 0
		}
	}
}

// Component reads one component of entities, in the struct type that the
// server writes it from.
type Component[T any] struct {
	schema *wire.Schema
	number int
}

// ComponentOf finds the component that the schema knows under name. T must be
// the type that it was added with.
func ComponentOf[T any](s *wire.Schema, name string) (Component[T], error) {
	n, ok := s.ByName(name)
	if !ok {
		return Component[T]{}, fmt.Errorf("client: the schema has no component %q", name)
	}
	if want, got := s.Component(n).Type, reflect.TypeFor[T](); want != got {
		return Component[T]{}, fmt.Errorf("client: component %q is a %v, not a %v", name, want, got)
	}
	return Component[T]{schema: s, number: n}, nil
}

// Get returns the component of e, and false if e has none.
func (c Component[T]) Get(e *Entity) (T, bool) {
	var v T
	if e.row.Mask>>c.number&1 == 0 {
		return v, false
	}
	spec := c.schema.Component(c.number)
	c.schema.Restore(c.number, e.row.Words[spec.Offset:spec.Offset+spec.Words], unsafe.Pointer(&v))
	return v, true
}

// Mask has a bit for each component that e has, as the schema numbers them.
func (e *Entity) Mask() uint32 { return e.row.Mask }

// AppendWords appends the whole quantised state, as the schema lays out a row,
// to dst.
func (e *Entity) AppendWords(dst []uint32) []uint32 { return append(dst, e.row.Words...) }
