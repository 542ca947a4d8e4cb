package schema

import (
	"maps"
	"slices"
)

// Clone returns a copy of s. Additions to one schema, and types bound to it, do not change
// the other.
func (s *Schema) Clone() *Schema {
	c := *s
	c.components = slices.Clone(s.components)
	c.byName = maps.Clone(s.byName)
	c.kinds, c.commands, c.events = slices.Clone(s.kinds), slices.Clone(s.commands), slices.Clone(s.events)
	c.definedKinds, c.mistakes = slices.Clone(s.definedKinds), slices.Clone(s.mistakes)
	c.named, c.eventOfType = maps.Clone(s.named), maps.Clone(s.eventOfType)
	c.input = s.input.clone()
	for i := range c.commands {
		c.commands[i].Args, c.commands[i].Answer = c.commands[i].Args.clone(), c.commands[i].Answer.clone()
	}
	for i := range c.events {
		c.events[i].Message = c.events[i].Message.clone()
	}
	return &c
}

// clone returns a copy of m; m may be nil.
func (m *Message) clone() *Message {
	if m == nil {
		return nil
	}
	c := *m
	return &c
}
