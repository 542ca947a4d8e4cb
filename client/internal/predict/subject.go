package predict

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

// subject is a predicted entity: the controlled one, or a companion. Its methods work on slots
// of its states.
type subject struct {
	of     *Core
	handle bulk.Handle
	states Ring
	parts  []part
	values []uint32 // scratch: values of a part
	blend  blend
}

// part is a component of the state.
type part struct {
	number int                  // in the caller's schema
	of     *rowschema.Component // of the caller's schema
	lacked *rowschema.Component // of, for a server that lacks it
	field  int                  // field of the state; -1: the state is the component itself
	at     []any                // pointers to the component, by slot of a state
	texts  bool
	spans  []rowschema.Span
	first  int // index of its first number in an offset
	count  int
	server int            // its number in the server's schema, or Unserved
	body   *bodies.Fields // nil: the component is not the body
}

// newSubject returns a subject whose states are in an empty ring.
func newSubject(p *Core, states Ring) (subject, error) {
	parts, err := partsOf(p.layout.Schema(), states.typ)
	if err != nil {
		return subject{}, err
	}
	numbers := 0
	for i := range parts {
		c := &parts[i]
		component := p.layout.Schema().Components()[c.number]
		c.of, c.lacked = p.layout.Component(c.number), rowschema.NewUnserved(p.layout.Schema(), c.number)
		first, end := c.of.TextFields()
		c.texts, c.spans, c.first = first < end, c.of.Spans(), numbers
		c.body = bodies.FieldsOf(component.Name, component.Type)
		for _, span := range c.spans {
			c.count += span.Count
		}
		numbers += c.count
	}
	offsets := blend{offset: make([]float64, numbers), way: make([]float64, numbers)}
	return subject{of: p, states: states, parts: parts, blend: offsets}, nil
}

// partsOf returns the components in t, the type of a state.
func partsOf(s *schema.Schema, t reflect.Type) ([]part, error) {
	if n, err := componentOf(s, t); n >= 0 || err != nil {
		return []part{{number: n, field: -1}}, err
	}
	var parts []part
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		n, err := componentOf(s, f.Type)
		if err != nil {
			return nil, err
		}
		if n >= 0 {
			parts = append(parts, part{number: n, field: i})
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("client: %v is no component of the schema, nor a struct of components: add it with schema.Define", t)
	}
	return parts, nil
}

// componentOf returns the number of the component with Go type t, -1 if there is none.
func componentOf(s *schema.Schema, t reflect.Type) (int, error) {
	found := -1
	for i, c := range s.Components() {
		if c.Type == t {
			if found >= 0 {
				return -1, fmt.Errorf("client: components %q and %q are both a %v: declare a type of its own for the predicted one", s.Components()[found].Name, c.Name, t)
			}
			found = i
		}
	}
	return found, nil
}

// setHandle makes h the predicted entity; 0: none.
func (s *subject) setHandle(h bulk.Handle) { s.handle = h }

// resizeStates makes new slots, all zero.
func (s *subject) resizeStates(slots int) {
	s.states.resize(slots)
	for n := range s.parts {
		c := &s.parts[n]
		c.at = make([]any, slots)
		for slot := range slots {
			c.at[slot] = c.componentIn(s.states.at(slot))
		}
	}
}

// componentIn returns a pointer to the component in a state. state is a pointer too.
func (p *part) componentIn(state any) any {
	if p.field < 0 {
		return state
	}
	return reflect.ValueOf(state).Elem().Field(p.field).Addr().Interface()
}

// pointerAt returns the component in the state of a slot.
func (p *part) pointerAt(slot int) unsafe.Pointer { return reflect.ValueOf(p.at[slot]).UnsafePointer() }

// bindTo finds the components of e. It returns false if e lacks one or the client receives only a
// part of it, or if the server's schema lacks all. A component that the server's schema lacks is
// predicted without corrections.
func (s *subject) bindTo(e Entity) bool {
	served := false
	for i := range s.parts {
		c := &s.parts[i]
		c.server = e.ComponentOf(c.number)
		if c.server == Absent || c.server >= 0 && !e.Owned() && e.Layout().Component(c.server).IsSecret() {
			return false
		}
		served = served || c.server != Unserved
	}
	return served
}

// startFrom sets the state of a slot to the newest values of e. Everything else in it has its
// initial value.
func (s *subject) startFrom(e Entity, slot int) {
	s.states.zero(slot)
	for i := range s.parts {
		c := &s.parts[i]
		if c.server < 0 {
			c.lacked.Initialise(c.at[slot])
			continue
		}
		e.Layout().Component(c.server).Initialise(c.at[slot])
	}
	s.restoreFrom(e, slot)
}

// restoreFrom sets the state of a slot to the newest values of e. Fields keep their value if
// they are not replicated, or already quantise to e's value. An exact body takes all bits.
func (s *subject) restoreFrom(e Entity, slot int) {
	for i := range s.parts {
		c := &s.parts[i]
		if c.server < 0 {
			continue
		}
		e.Layout().Component(c.server).Adopt(e.Newest(c.server), c.at[slot])
		if c.body == nil {
			continue
		}
		if body, _, ok := e.Exact(); ok {
			c.body.SetBody(c.pointerAt(slot), &body)
		}
	}
}

// equalsNewest reports whether the state of a slot quantises to e's newest one, and an exact
// body has the same bits.
func (s *subject) equalsNewest(e Entity, slot int) bool {
	for i := range s.parts {
		c := &s.parts[i]
		if c.server < 0 {
			continue
		}
		want := e.Newest(c.server)
		s.values = slices.Grow(s.values[:0], len(want))
		if !e.Layout().Component(c.server).Equals(want, c.at[slot], s.values[:len(want)]) {
			return false
		}
		if c.body == nil {
			continue
		}
		if body, _, ok := e.Exact(); ok && !c.body.HasBody(c.pointerAt(slot), &body) {
			return false
		}
	}
	return true
}

// matchesNewest reports whether the state of a slot quantises to e's newest one, to within a
// step: rows lack the finer bits.
func (s *subject) matchesNewest(e Entity, slot int) bool {
	for i := range s.parts {
		c := &s.parts[i]
		if c.server < 0 {
			continue
		}
		want := e.Newest(c.server)
		if !e.Layout().Component(c.server).Near(want, c.at[slot]) {
			return false
		}
	}
	return true
}

// writeTexts sets the texts in the state of a slot to the newest.
func (s *subject) writeTexts(slot int) {
	e := s.of.session.Entity(s.handle)
	for i := range s.parts {
		if c := &s.parts[i]; c.texts && c.server >= 0 && e != nil {
			e.WriteTexts(c.server, c.at[slot])
		}
	}
}

// copyToScratch copies the state of a tick and the newest texts to the scratch slot.
func (s *subject) copyToScratch(tick uint32) {
	s.states.copyValue(scratch, s.of.slotOf(tick))
	s.writeTexts(scratch)
}

// writeShown writes what Component.At returns of e to a slot.
func (s *subject) writeShown(e Entity, m Moment, slot int) {
	for i := range s.parts {
		c := &s.parts[i]
		if c.server < 0 {
			continue
		}
		e.WriteAt(c.server, m, c.body, c.at[slot])
	}
}
