package client

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Events holds a game's functions for the events that the server sends. Fill it with OnEvent
// and OnEventRendered before Dial or NewSession: the first events may arrive with the Welcome.
// The client ignores events without a function.
type Events struct {
	handlers map[reflect.Type][]eventHandler
	untyped  []func(tick uint32, name, fields string)
}

// eventHandler is a function for one type of event.
type eventHandler struct {
	rendered bool
	// bind reads an event and returns a call of the game's function with it.
	bind func(m *rowschema.Message, body *rowschema.Payload, tick uint32) (call func(), err error)
}

// OnEvent registers f for an event. f is called as soon as the event arrives.
//
// Reliable events arrive once, in the order in which the server sent them, and in order with
// Enter, Leave and Destroy. An entity that an event names may still be Pending if it spawned in
// the same tick; it is not yet Stale if it died in the same tick. tick is the tick of the next
// snapshot. Unreliable events arrive at most once and up to a second late, before the rows of
// their snapshot are applied; tick is when they happened.
func OnEvent[T any](e *Events, _ schema.DefinedEvent[T], f func(tick uint32, event T)) {
	addHandler(e, false, f)
}

// OnEventRendered is OnEvent for events that the player sees or hears: f is called when Render
// reaches the event's tick, by ascending ticks. If the game does not render, f is called when
// the event is a second old. If more than 256 events wait, the oldest is delivered early.
func OnEventRendered[T any](e *Events, _ schema.DefinedEvent[T], f func(tick uint32, event T)) {
	addHandler(e, true, f)
}

// OnAnyEvent registers f for all events, by their names in the server's schema, with the fields
// as text: Damage=12 By=17v3 Verb="burnt". It is for tools without Go types, and f is called as
// OnEvent's function is.
func OnAnyEvent(e *Events, f func(tick uint32, name, fields string)) {
	e.untyped = append(e.untyped, f)
}

// OnEventValue is OnEvent for programs that handle events of any game: t is the type that the schema declares for an
// event, and event is a pointer to a new t, which f may keep.
func OnEventValue(e *Events, t reflect.Type, f func(tick uint32, event any)) {
	e.addFunction(t, eventHandler{false, func(m *rowschema.Message, body *rowschema.Payload, tick uint32) (func(), error) {
		event := reflect.New(t).Interface()
		err := m.Restore(body, event)
		return func() { f(tick, event) }, err
	}})
}

func addHandler[T any](e *Events, rendered bool, f func(tick uint32, event T)) {
	e.addFunction(reflect.TypeFor[T](), eventHandler{rendered, func(m *rowschema.Message, body *rowschema.Payload, tick uint32) (func(), error) {
		var event T
		err := m.Restore(body, &event)
		return func() { f(tick, event) }, err
	}})
}

// addFunction adds a function for events of type t.
func (e *Events) addFunction(t reflect.Type, h eventHandler) {
	if e.handlers == nil {
		e.handlers = map[reflect.Type][]eventHandler{}
	}
	e.handlers[t] = append(e.handlers[t], h)
}

// checkHandlers reports the types that s does not declare as events.
func (e *Events) checkHandlers(s *schema.Schema) error {
	if e == nil {
		return nil
	}
	if s == nil {
		s = schema.New()
	}
	var errs []error
	for t := range e.handlers {
		if _, ok := s.EventOf(t); !ok {
			errs = append(errs, fmt.Errorf("client: Events has a function for %v, which is no event of the schema", t))
		}
	}
	return errors.Join(errs...)
}

// handlersOf returns the functions for events of a message.
func (e *Events) handlersOf(m *rowschema.Message) []eventHandler {
	if e == nil || m.Type() == nil {
		return nil
	}
	return e.handlers[m.Type()]
}

// maxRendered bounds the events that wait for Render, each up to 2 kB. The moment shown lags by
// at most half a second.
const maxRendered = 256

// renderedEvent is an event that waits for Render.
type renderedEvent struct {
	tick uint32
	call func()
}

// eventQueue delivers events to the game's functions, some of them when they are rendered.
type eventQueue struct {
	events  *Events // may be nil
	schema  *schema.Schema
	bodies  []*rowschema.Message // by number
	stats   *ReplicaStats
	waiting []renderedEvent   // by ascending ticks
	body    rowschema.Payload // scratch
}

// checkEvent checks an event of a record, or if unreliable of a datagram, against the schema.
func (q *eventQueue) checkEvent(number uint32, unreliable bool, body []byte) error {
	if number >= uint32(len(q.schema.Events())) {
		return protocolError("event %d of a schema that has %d", number, len(q.schema.Events()))
	}
	declared := &q.schema.Events()[number]
	if declared.Unreliable != unreliable {
		return protocolError("event %q, declared as unreliable: %v, arrives as unreliable: %v", declared.Name, declared.Unreliable, unreliable)
	}
	return q.bodies[number].Parse(body, &q.body)
}

// checkEvents checks the events of a datagram.
func (q *eventQueue) checkEvents(h wire.StateHeader) error {
	for e := range h.StateEvents() {
		if err := q.checkEvent(e.Number, true, e.Body); err != nil {
			return err
		}
		if e.Age > h.Tick {
			return protocolError("event of %d ticks before tick %d", e.Age, h.Tick)
		}
	}
	return nil
}

// receiveEvents delivers the events of a datagram that checkEvents accepted.
func (q *eventQueue) receiveEvents(h wire.StateHeader) {
	for e := range h.StateEvents() {
		q.receiveEvent(e.Number, h.Tick-e.Age, e.Body)
	}
}

// receiveEvent delivers an event that was checked.
func (q *eventQueue) receiveEvent(number, tick uint32, body []byte) {
	q.stats.Events++
	declared := &q.schema.Events()[number]
	m := q.bodies[number]
	if q.events != nil {
		for _, f := range q.events.untyped {
			if m.Parse(body, &q.body) != nil {
				return // checked before
			}
			f(tick, declared.Name, m.Format(&q.body))
		}
	}
	for _, h := range q.events.handlersOf(m) {
		if m.Parse(body, &q.body) != nil {
			return // checked before
		}
		call, err := h.bind(m, &q.body, tick)
		switch {
		case err != nil: // checkHandlers has checked the type
		case h.rendered:
			q.addRendered(renderedEvent{tick, call})
		default:
			call()
		}
	}
}

// addRendered queues e behind the events up to its tick.
func (q *eventQueue) addRendered(e renderedEvent) {
	if len(q.waiting) == maxRendered {
		q.popRendered()()
	}
	at := len(q.waiting)
	for at > 0 && q.waiting[at-1].tick > e.tick {
		at--
	}
	q.waiting = slices.Insert(q.waiting, at, e)
}

// popRendered removes the oldest event and returns its call. The event is removed first,
// because the call may render.
func (q *eventQueue) popRendered() (call func()) {
	call = q.waiting[0].call
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return call
}

// deliverRendered delivers the waiting events up to a tick.
func (q *eventQueue) deliverRendered(tick uint32) {
	for len(q.waiting) > 0 && q.waiting[0].tick <= tick {
		q.popRendered()()
	}
}
