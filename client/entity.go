package client

import (
	"fmt"
	"reflect"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
)

// Entity is the client's copy of one entity of its interest set. It is one cache line,
// and its states are one allocation more: reading a row misses the cache twice.
type Entity struct {
	handle  bulk.Handle
	states  history
	mask    uint32
	entered uint32 // number of its Enter record
	index   uint32 // in Replica.entities
	kind    uint16
	load    uint16 // of its rows
}

// Handle returns the entity's handle, the same as on the server.
func (e *Entity) Handle() bulk.Handle { return e.handle }

// Kind returns the number of the entity's kind: 0 for the first that the server's game
// added to its world, and so on. The protocol does not transmit names of kinds.
func (e *Entity) Kind() uint32 { return uint32(e.kind) }

// Tick returns the server's tick of the current state.
func (e *Entity) Tick() uint32 { return e.states.tick }

// Owned reports whether this client owns the entity and so receives its owner-only
// fields.
func (e *Entity) Owned() bool { return e.states.owned }

// Component reads one component of entities as T, the struct type that the server
// writes it from.
type Component[T any] struct {
	schema *schema.Schema
	number int
	spec   schema.Component
	texts  bool                                // it has text fields
	jumps  func(from, to T, ticks uint32) bool // nil: never
}

// ComponentOf returns the component that s has under name. T must be the type that it
// was added with.
func ComponentOf[T any](s *schema.Schema, name string) (Component[T], error) {
	n, ok := s.ByName(name)
	if !ok {
		return Component[T]{}, fmt.Errorf("client: the schema has no component %q", name)
	}
	spec := s.Component(n)
	if want, got := spec.Type, reflect.TypeFor[T](); want != got {
		return Component[T]{}, fmt.Errorf("client: component %q is a %v, not a %v", name, want, got)
	}
	first, end := s.TextFieldsOf(n)
	return Component[T]{schema: s, number: n, spec: spec, texts: first < end}, nil
}

// Get returns the newest state of the component of e, and false if e lacks it or is
// nil, as Lookup returns it for handles that are not Live. Owner-only fields are zero
// unless the client owns e. A []byte field is a copy, which is allocated.
func (c Component[T]) Get(e *Entity) (T, bool) {
	var v T
	if e == nil || e.mask>>c.number&1 == 0 {
		return v, false
	}
	c.restore(e, c.values(e, int(e.states.newest)), &v)
	c.setTexts(e, &v)
	return v, true
}

// values returns the component's values in state i of e.
func (c *Component[T]) values(e *Entity, i int) []uint32 {
	return e.states.values(i, c.schema.Values())[c.spec.Offset:][:c.spec.Values]
}

func (c *Component[T]) restore(e *Entity, values []uint32, v *T) {
	if e.states.owned {
		c.schema.Restore(c.number, values, v)
	} else {
		c.schema.RestorePublic(c.number, values, v)
	}
}

// Mask returns a bit for each component that e has, by the schema's numbers. Mask and
// AppendValues are for conformance vectors and other exact comparisons.
func (e *Entity) Mask() uint32 { return e.mask }

// AppendValues appends the quantised current state, in the schema's row layout, to dst.
func (e *Entity) AppendValues(dst []uint32) []uint32 { return append(dst, e.states.current()...) }
