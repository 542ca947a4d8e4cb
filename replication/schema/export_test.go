package schema

import "reflect"

// Definitions of types that are made at run time, for tests of random schemas.

func AddEventType(s *Schema, name string, t reflect.Type, unreliable bool) error {
	return s.addEventType(name, t, unreliable)
}

func AddCommandType(s *Schema, name string, args, answer reflect.Type) error {
	return s.addCommandType(name, args, answer)
}

// MaxBytes returns the limit of a body's size that checkLength judges.
func MaxBytes(m *Message) int { return m.longest() }

// EventByName returns the number of the event with this name.
func EventByName(s *Schema, name string) (int, bool) { return s.eventByName(name) }
