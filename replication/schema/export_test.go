package schema

import "reflect"

// Definitions of types that are made at run time, for tests of random schemas.

func AddEventType(s *Schema, name string, t reflect.Type, unreliable bool) error {
	return s.addEventType(name, t, unreliable)
}

func AddCommandType(s *Schema, name string, args, answer reflect.Type) error {
	return s.addCommandType(name, args, answer)
}
