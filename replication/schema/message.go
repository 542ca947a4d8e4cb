package schema

import (
	"fmt"
	"reflect"

	"github.com/worldd/worldd/replication/wire"
)

// Message describes the body of an event, of a command's arguments or answer, or of an
// input. Its fields are tagged and quantised as in a component; all are sent.
//
// In arguments and inputs, which clients send, a handle may be provisional: its generation
// is even and at least 2. In all other messages such a handle becomes null or is an error.
type Message struct {
	Type       reflect.Type // nil in a parsed schema until Bind
	Fields     []Field
	TextFields []TextField
	Binding    *Binding // of the fields to the members of Type; nil: they are the same

	role   role
	was    map[string][]string // former paths of its fields, by path
	absent any                 // see Binding.Default
}

// role is the purpose of a message.
type role uint8

const (
	fromServer role = iota // events, answers
	fromClient             // arguments
	ofInput                // inputs
)

// limit returns the maximum size of a message in bytes.
func (r role) limit() int {
	if r == ofInput {
		return wire.MaxInputBytes
	}
	return wire.MaxEventBytes
}

// planMessage plans the struct type t. name is for errors.
func planMessage(name string, r role, t reflect.Type) (*Message, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: %s is a %v: want a struct", name, t)
	}
	m := &Message{Type: t, role: r}
	p := planner{component: name, message: m}
	if err := p.structure(t, "", tag{}); err != nil {
		return nil, err
	}
	was, err := p.formerPaths(t)
	if err != nil {
		return nil, err
	}
	m.Fields, m.TextFields, m.was = p.fields, p.texts, was
	if err := m.checkLength(); err != nil {
		return nil, fmt.Errorf("schema: %s: %w", name, err)
	}
	return m, nil
}

// checkLength returns an error if the longest body exceeds the limit.
func (m *Message) checkLength() error {
	if most, limit := m.longest(), m.role.limit(); most > limit {
		return fmt.Errorf("may take %d bytes, at most %d are allowed: quantise its fields or lower max", most, limit)
	}
	return nil
}

// longest returns the maximum size of a body, in bytes.
func (m *Message) longest() int {
	bits := 0
	for i := range m.Fields {
		bits += m.Fields[i].longest()
	}
	most := (bits + 7) / 8
	for i := range m.TextFields {
		most += m.TextFields[i].longest()
	}
	return most
}

// longest returns the maximum size of the field in full, in bits.
func (f *Field) longest() int {
	const sized = 2 + 32
	switch f.Kind {
	case KindRaw64:
		return 64
	case KindHandle:
		return 1 + 2*sized
	default:
		return int(f.Bits)
	}
}

// FromClient reports whether clients send the message: its handles may be provisional.
func (m *Message) FromClient() bool { return m.role != fromServer }

// appendText appends the lines of the message's fields.
func (m *Message) appendText(b []byte) []byte {
	for i := range m.Fields {
		b = m.Fields[i].appendText(b)
	}
	for i := range m.TextFields {
		b = m.TextFields[i].appendText(b)
	}
	return b
}
