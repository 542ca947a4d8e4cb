package client

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
)

// Entity is the client's copy of one entity of its interest set. It fills one line of
// the cache, and its states are in one more piece of memory: a process of many
// replicas waits for each.
type Entity struct {
	handle  bulk.Handle
	states  history
	mask    uint32
	entered uint32 // number of its Enter record
	place   uint32 // in Replica.entities
	kind    uint16
	load    uint16 // of its rows
}

// Handle names the entity, here and on the server.
func (e *Entity) Handle() bulk.Handle { return e.handle }

// Kind is the number of its kind: the server's game counts them from 0, in the order
// in which it adds them to its world. The protocol has no names for kinds; a game
// that wants some keeps a list in the package that both of its sides import.
func (e *Entity) Kind() uint32 { return uint32(e.kind) }

// Tick is the server's tick of its current state.
func (e *Entity) Tick() uint32 { return e.states.tick }

// Owned says whether this client owns the entity, and is sent those of its fields
// that only owners are.
func (e *Entity) Owned() bool { return e.states.owned }

// Component reads one component of entities, in the struct type that the
// server writes it from.
type Component[T any] struct {
	schema *schema.Schema
	number int
	spec   schema.Component
	jumps  func(from, to T, ticks uint32) bool // nil: never
}

// ComponentOf finds the component that the schema knows under name. T must be
// the type that it was added with.
func ComponentOf[T any](s *schema.Schema, name string) (Component[T], error) {
	n, ok := s.ByName(name)
	if !ok {
		return Component[T]{}, fmt.Errorf("client: the schema has no component %q", name)
	}
	spec := s.Component(n)
	if want, got := spec.Type, reflect.TypeFor[T](); want != got {
		return Component[T]{}, fmt.Errorf("client: component %q is a %v, not a %v", name, want, got)
	}
	return Component[T]{schema: s, number: n, spec: spec}, nil
}

// Get returns the component of e, and false if e has none, or is nil, as
// Replica.Entity says of all that is not Live. Fields that only owners are sent are
// zero unless the client owns e.
func (c Component[T]) Get(e *Entity) (T, bool) {
	var v T
	if e == nil || e.mask>>c.number&1 == 0 {
		return v, false
	}
	c.restore(e, c.words(e, int(e.states.newest)), &v)
	return v, true
}

// words are the component's in the state of e at a place.
func (c *Component[T]) words(e *Entity, place int) []uint32 {
	return e.states.words(place, c.schema.Words())[c.spec.Offset:][:c.spec.Words]
}

// restore reads words of e's into v.
func (c *Component[T]) restore(e *Entity, words []uint32, v *T) {
	if e.states.owned {
		c.schema.Restore(c.number, words, unsafe.Pointer(v))
	} else {
		c.schema.RestorePublic(c.number, words, unsafe.Pointer(v))
	}
}

// Mask has a bit for each component that e has, as the schema numbers them.
func (e *Entity) Mask() uint32 { return e.mask }

// AppendWords appends the whole quantised state, as the schema lays out a row,
// to dst.
func (e *Entity) AppendWords(dst []uint32) []uint32 { return append(dst, e.states.current()...) }
