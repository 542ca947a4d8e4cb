package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// NewWithBody returns a schema that has Body as BodyComponent.
func NewWithBody() *Schema {
	s := New()
	Define[Body](s, BodyComponent)
	return s
}

// DefinedComponent is a component by its Go type: server.Register adds it to a world, and
// client.Of reads it.
type DefinedComponent[T any] struct {
	schema *Schema
	name   string
}

// DefinedCommand is a command by the Go type of its arguments: server.OnCommand gives it a
// function, and client.Do sends it.
type DefinedCommand[Args any] struct{ name string }

// DefinedQuery is a command with an answer: server.OnQuery gives it a function, and client.Ask
// sends it.
type DefinedQuery[Args, Answer any] struct{ name string }

// DefinedEvent is an event by its Go type: client.OnEvent and client.OnEventRendered give it
// functions, and Session.Send and the methods of server.Room send it.
type DefinedEvent[T any] struct {
	schema *Schema
	name   string
}

// DefinedInput is the input of a tick by its Go type: server.OnInput gives it a function, and
// client.SetInput sends it.
type DefinedInput[T any] struct{ _ [0]*T }

// DefinedKind is a kind of entity by its name in the server's world: client.Entity.Is tests for it.
type DefinedKind struct{ name string }

// Define adds the struct type T as a component, and returns the value by which servers and
// clients refer to it. Components are numbered from 0 in the order of definition. A mistake
// leaves s unchanged and is returned by Err, which servers and clients check before they
// start: the error names the type, the field and the remedy. All functions whose names
// begin with Define report mistakes in this way.
func Define[T any](s *Schema, name string) DefinedComponent[T] {
	s.note(s.addType(name, reflect.TypeFor[T]()))
	return DefinedComponent[T]{s, name}
}

// DefineType is like Define, for a struct type that is known only at run time.
func DefineType(s *Schema, name string, t reflect.Type) { s.note(s.addType(name, t)) }

// DefineCommand adds a command with arguments of the struct type Args. No other command may
// have the same type.
func DefineCommand[Args any](s *Schema, name string) DefinedCommand[Args] {
	s.note(s.addCommandType(name, reflect.TypeFor[Args](), nil))
	return DefinedCommand[Args]{name}
}

// DefineQuery adds a command with arguments of the struct type Args. If it succeeds, the
// client receives an answer of type Answer.
func DefineQuery[Args, Answer any](s *Schema, name string) DefinedQuery[Args, Answer] {
	s.note(s.addCommandType(name, reflect.TypeFor[Args](), reflect.TypeFor[Answer]()))
	return DefinedQuery[Args, Answer]{name}
}

// DefineEvent adds a reliable event of the struct type T. Events are numbered from 0 in the order of
// their definition. Fields take the tags of a component, without always, owner, predict and parent.
func DefineEvent[T any](s *Schema, name string) DefinedEvent[T] {
	s.note(s.addEventType(name, reflect.TypeFor[T](), false))
	return DefinedEvent[T]{s, name}
}

// DefineUnreliableEvent adds an event that is lost if its datagram is lost.
func DefineUnreliableEvent[T any](s *Schema, name string) DefinedEvent[T] {
	s.note(s.addEventType(name, reflect.TypeFor[T](), true))
	return DefinedEvent[T]{s, name}
}

// DefineInput declares that each tick's input is a struct of type T, of at most
// wire.MaxInputBytes in its longest form. Without DefineInput, inputs are raw bytes.
func DefineInput[T any](s *Schema) DefinedInput[T] {
	s.note(s.setInputType(reflect.TypeFor[T]()))
	return DefinedInput[T]{}
}

// DefineKind declares that the server's world has a kind of this name, with any body or
// none. The declaration is not part of Text: the server adds all kinds of its world to the
// text that it sends. A server whose world lacks the kind does not start, and Bind lists
// a kind that the peer lacks as a change.
func DefineKind(s *Schema, name string) DefinedKind {
	err := checkName("kind", name)
	switch {
	case err != nil:
	case slices.Contains(s.definedKinds, name):
		err = fmt.Errorf("schema: kind %q is defined twice", name)
	case len(s.definedKinds) == wire.MaxKinds:
		err = fmt.Errorf("schema: kind %q is one more than a schema's %d", name, wire.MaxKinds)
	default:
		s.definedKinds = append(s.definedKinds, name)
	}
	s.note(err)
	return DefinedKind{name}
}

// note keeps err for Err.
func (s *Schema) note(err error) {
	if err != nil {
		s.mistakes = append(s.mistakes, err)
	}
}

// Err returns all errors of Define and the functions whose names begin with it.
func (s *Schema) Err() error { return errors.Join(s.mistakes...) }

// DefinedKinds returns the names declared by DefineKind. The caller owns the slice.
func (s *Schema) DefinedKinds() []string { return slices.Clone(s.definedKinds) }

// WithDefault makes v the values of fields that a server of another version lacks, in the
// components that a client reads; without it they are zero. It returns c.
func (c DefinedComponent[T]) WithDefault(v T) DefinedComponent[T] {
	if i, ok := c.schema.ByName(c.name); ok && c.schema.components[i].Type == reflect.TypeFor[T]() {
		c.schema.components[i].Default = v
	}
	return c
}

// WithDefault makes v the values of fields that a server of another version lacks, in the events
// that a client receives; without it they are zero. It returns e.
func (e DefinedEvent[T]) WithDefault(v T) DefinedEvent[T] {
	if i, ok := e.schema.EventOf(reflect.TypeFor[T]()); ok && e.schema.events[i].Name == e.name {
		e.schema.events[i].Message.absent = v
	}
	return e
}

// Name returns the component's name.
func (c DefinedComponent[T]) Name() string { return c.name }

// Schema returns the schema that the component was defined in.
func (c DefinedComponent[T]) Schema() *Schema { return c.schema }

// Name returns the command's name.
func (c DefinedCommand[Args]) Name() string { return c.name }

// Name returns the command's name.
func (q DefinedQuery[Args, Answer]) Name() string { return q.name }

// Name returns the event's name.
func (e DefinedEvent[T]) Name() string { return e.name }

// Name returns the kind's name.
func (k DefinedKind) Name() string { return k.name }
