package client

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world/motion"
)

// Entity is the client's copy of one entity of its interest set. It is one cache line and its
// states are one more allocation, so reading a row misses the cache twice.
type Entity struct {
	handle  bulk.Handle
	states  history
	mask    uint32
	entered uint32 // record number of its Enter
	index   uint32 // in Replica.entities
	kind    uint16
	load    uint16 // load of its rows
	layout  *layout
}

// Handle returns the entity's handle, the same as on the server.
func (e *Entity) Handle() bulk.Handle { return e.handle }

// Kind returns the number of the entity's kind in the server's schema: 0 for the first
// that its game added to its world, and so on.
func (e *Entity) Kind() uint32 { return uint32(e.kind) }

// KindName returns the name of the entity's kind, or "kind N" if the schema lacks it because
// the game added the kind after its start.
func (e *Entity) KindName() string {
	if s := e.layout.schema; int(e.kind) < len(s.Kinds()) {
		return s.Kinds()[int(e.kind)].Name
	}
	return fmt.Sprintf("kind %d", e.kind)
}

// Is reports whether e is of the given kind; false for nil.
func (e *Entity) Is(kind schema.DefinedKind) bool { return e != nil && e.KindName() == kind.Name() }

// Format returns all components of the newest state, computed or received, with their names:
// health{Points=3} name{Text="Ada"}. It includes components that the caller's schema lacks.
// Text fields are last.
func (e *Entity) Format() string {
	rows, values := e.layout.rows, e.states.currentValues()
	if e.isComputed() {
		b := e.layout.bodies
		values = slices.Clone(values)
		copy(values[b.Offset():], e.newestValues(b.Component()))
	}
	return rows.Format(rowschema.Row{Mask: e.mask, Owned: e.states.owned, Values: values}, e.texts())
}

// Tick returns the server's tick of the newest state received. Exact returns the tick of a
// computed body.
func (e *Entity) Tick() uint32 { return e.states.tick }

// Teleported returns the tick from which on e is where its newest received state has it, if the
// server said with that state that it teleported e; else 0. It says so until this client has
// acknowledged a state since.
func (e *Entity) Teleported() uint32 { return e.states.teleportOf(int(e.states.newest)) }

// Owned reports whether this client owns the entity and so receives its owner-only
// fields.
func (e *Entity) Owned() bool { return e.states.owned }

// Component reads one component of entities as T, the struct type that the server writes it
// from. It works with every server that has the component, under any number.
type Component[T any] struct {
	schema *schema.Schema                      // of the caller
	number int                                 // number of the component in schema
	texts  bool                                // it is not the body, or T has other field types
	body   *bodies.Fields                      // nil: it is not the body, or has other types
	jumps  func(from, to T, ticks uint32) bool // nil: no jumps
}

// Body reads the positions and motions of entities. Config.Schema need not declare it. Body reads
// nothing if Config.Schema declares the component with another struct, or if the server's has no
// Position.
var Body = Component[schema.Body]{schema: bodyForm, body: bodies.OwnFields}

// bodyForm is a schema of the body alone.
var bodyForm = schema.NewWithBody()

// Of returns a component to read: "health, ok := client.Of(Healths).Get(e)". Config.Schema must be
// the schema that it was defined in.
func Of[T any](d schema.DefinedComponent[T]) Component[T] {
	c, err := ComponentOf[T](d.Schema(), d.Name())
	if err != nil { // Define failed, and Dial will report it
		return Component[T]{}
	}
	return c
}

// ComponentOf is Of for a schema built at run time: it returns the component that s has under
// name. T must be the type that it was added with.
func ComponentOf[T any](s *schema.Schema, name string) (Component[T], error) {
	n, ok := s.ByName(name)
	if !ok {
		return Component[T]{}, fmt.Errorf("client: the schema has no component %q: add it with schema.Define", name)
	}
	spec := s.Components()[n]
	if want, got := spec.Type, reflect.TypeFor[T](); want != got {
		return Component[T]{}, fmt.Errorf("client: component %q is a %v, not a %v", name, want, got)
	}
	return Component[T]{schema: s, number: n, texts: len(spec.TextFields) > 0, body: bodies.FieldsOf(name, spec.Type)}, nil
}

// Get returns the newest state of the component of e. It returns false if e lacks the component
// or is nil, as Replica.Entity returns it for handles that are not Live. Owner-only fields are
// zero unless the client owns e. A []byte field is a newly allocated copy.
func (c Component[T]) Get(e *Entity) (T, bool) {
	var v T
	n := c.numberIn(e)
	if n < 0 {
		return v, false
	}
	restoreInto(e, n, e.valuesOf(n, int(e.states.newest)), &v)
	if e.isBody(n) {
		if s, _, ok := e.Exact(); ok {
			c.setBody(e, &s, &v)
		}
	}
	c.setTexts(e, n, &v)
	return v, true
}

// setBody sets the body in v to the exact state s. If T's fields are not schema.Body's,
// it sets them to the quantised state.
func (c *Component[T]) setBody(e *Entity, s *motion.State, v *T) {
	if c.body != nil {
		c.body.SetBody(unsafe.Pointer(v), s)
		return
	}
	b := e.layout.bodies
	restoreInto(e, b.Component(), b.Quantise(s), v)
}

// numberIn returns the component's number in the schema of e, or -1 if e lacks it or is
// nil.
func (c *Component[T]) numberIn(e *Entity) int {
	if e == nil || c.schema == nil {
		return -1
	}
	n := e.layout.numberOf(c.schema, c.number)
	if n < 0 || e.mask>>n&1 == 0 {
		return -1
	}
	return n
}

// valuesOf returns the values of component n in state i.
func (e *Entity) valuesOf(n, i int) []uint32 {
	spec := &e.layout.specs[n]
	return e.states.valuesOf(i, e.layout.values)[spec.Offset:][:spec.Values]
}

// restoreInto sets the struct that v points to to values of component n of e.
func restoreInto(e *Entity, n int, values []uint32, v any) {
	if e.states.owned {
		e.layout.rows.Component(n).Restore(values, v)
	} else {
		e.layout.rows.Component(n).RestorePublic(values, v)
	}
}

// Mask returns a bit for each component that e has, by the numbers of Replica.Schema. Mask and
// AppendValues are for conformance vectors and other exact comparisons.
func (e *Entity) Mask() uint32 { return e.mask }

// AppendValues appends the quantised state that was received last, of Tick, in the row layout
// of Replica.Schema, to dst.
func (e *Entity) AppendValues(dst []uint32) []uint32 { return append(dst, e.states.currentValues()...) }
