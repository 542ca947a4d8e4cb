package client

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/replication/schema"
)

// subject is an entity that is predicted: the controlled one, or one that it takes along.
// Its functions work on slots of its states.
type subject struct {
	of         *prediction
	handle     bulk.Handle
	copyState  func(to, from int)
	zero       func(state int)
	makeStates func(slots int) // all zero
	parts      []part
	values     []uint32 // scratch: of a part
	blend      blend
}

// newSubject returns a subject whose states are in ring.
func newSubject[State any](p *prediction, ring *[]State) (subject, error) {
	parts, err := predictedFields(p.session.declared, reflect.TypeFor[State]())
	if err != nil {
		return subject{}, err
	}
	s := subject{
		of:        p,
		copyState: func(to, from int) { (*ring)[to] = (*ring)[from] },
		zero:      func(i int) { (*ring)[i] = *new(State) },
		makeStates: func(slots int) {
			*ring = make([]State, slots)
			for n := range parts {
				parts[n].at = make([]any, slots)
				for i := range slots {
					parts[n].at[i] = parts[n].in(reflect.ValueOf(&(*ring)[i]))
				}
			}
		},
	}
	s.setParts(parts)
	return s, nil
}

// part is a component of the state.
type part struct {
	number int   // in the caller's schema
	field  int   // of the state; -1: the state is the component
	at     []any // by slot of a state
	texts  bool
	spans  []schema.Span
	first  int // its numbers in an offset
	count  int
	server int            // its number in the schema of the entity
	body   *bodies.Fields // nil: it is not the body
}

// in returns the component of the state at v, as a pointer.
func (p *part) in(v reflect.Value) any {
	if p.field < 0 {
		return v.Interface()
	}
	return v.Elem().Field(p.field).Addr().Interface()
}

func (s *subject) setParts(parts []part) {
	declared, numbers, most := s.of.session.declared, 0, 0
	for i := range parts {
		c := &parts[i]
		first, end := declared.TextFieldsOf(c.number)
		c.texts, c.spans, c.first = first < end, declared.Spans(c.number), numbers
		c.body = bodies.FieldsOf(declared.Component(c.number).Name, declared.Component(c.number).Type)
		for _, span := range c.spans {
			c.count += span.Count
		}
		numbers += c.count
		most = max(most, declared.Component(c.number).Values)
	}
	s.parts, s.values = parts, make([]uint32, most)
	s.blend.offset, s.blend.way = make([]float64, numbers), make([]float64, numbers)
}

// bind finds the components of e, and returns false if it lacks one.
func (s *subject) bind(e *Entity) bool {
	for i := range s.parts {
		c := &s.parts[i]
		c.server = e.layout.numberOf(s.of.session.declared, c.number)
		if c.server < 0 || e.mask>>c.server&1 == 0 {
			return false
		}
	}
	return true
}

// restore gives the state of a slot the newest values of e. Fields that are not replicated or
// have them after quantisation keep what they have; an exact body takes over all bits.
func (s *subject) restore(e *Entity, slot int) {
	for i := range s.parts {
		c := &s.parts[i]
		e.layout.schema.Adopt(c.server, e.current(c.server), c.at[slot])
		if body, _, ok := e.Exact(); ok && c.body != nil {
			c.body.SetBody(c.pointer(slot), &body)
		}
	}
}

// equals reports whether the state of a slot quantises to the newest one of e, and has the bits
// of its body, if that is exact.
func (s *subject) equals(e *Entity, slot int) bool {
	for i := range s.parts {
		c := &s.parts[i]
		want := e.current(c.server)
		got := s.values[:len(want)]
		e.layout.schema.Quantise(c.server, c.at[slot], got)
		if !slices.Equal(got, want) {
			return false
		}
		if body, _, ok := e.Exact(); ok && c.body != nil && !c.body.HasBody(c.pointer(slot), &body) {
			return false
		}
	}
	return true
}

// pointer returns the component in the state of a slot.
func (p *part) pointer(slot int) unsafe.Pointer { return reflect.ValueOf(p.at[slot]).UnsafePointer() }

// matches reports whether the state of a slot quantises to the newest one of e, to within a step:
// what the server does not send of a state, less than that, is not known.
func (s *subject) matches(e *Entity, slot int) bool {
	for i := range s.parts {
		c := &s.parts[i]
		want := e.current(c.server)
		if !e.layout.schema.Near(c.server, want, c.at[slot]) {
			return false
		}
	}
	return true
}

// setTexts gives the state of a slot the newest texts.
func (s *subject) setTexts(slot int) {
	e := s.of.session.replica.Entity(s.handle)
	for i := range s.parts {
		if c := &s.parts[i]; c.texts && e != nil {
			e.layout.schema.SetTexts(c.server, e.Owned(), *textsOf(e), c.at[slot])
		}
	}
}
