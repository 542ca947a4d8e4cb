package schema

import (
	"fmt"
	"math"
)

// Hash identifies the schema: names, order, fields, kinds and quantisation. It
// is FNV-1a, 64 bits, over Text, and never 0: a client that sends 0 asks for the text.
func (s *Schema) Hash() uint64 { return hashOf(s.Text()) }

func hashOf(text string) uint64 { return max(fnv(text), 1) }

func fnv(text string) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for _, c := range []byte(text) {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// header is the first line of a schema's text.
const header = "worldd schema 2\n"

// rawInput is the input line of a schema that declares no input.
const rawInput = "input raw\n"

// Text returns the canonical text of the schema, as defined in PROTOCOL.md. If two hashes
// differ, comparing the texts shows why. Parse reads it.
func (s *Schema) Text() string {
	b := make([]byte, 0, s.textSize())
	b = append(b, header...)
	for i := range s.components {
		b = s.components[i].appendText(b)
	}
	return string(s.appendDeclarations(b))
}

func (c *Component) appendText(b []byte) []byte {
	b = fmt.Appendf(b, "component %s\n", c.Name)
	for i := range c.Fields {
		b = c.Fields[i].appendText(b)
	}
	if c.Parent >= 0 {
		b = c.appendParent(b)
	}
	for i := range c.TextFields {
		b = c.TextFields[i].appendText(b)
	}
	return b
}

func (c *Component) appendParent(b []byte) []byte {
	return fmt.Appendf(b, "parent %s %s\n", c.Fields[c.Anchored].Path, c.Fields[c.Parent].Path)
}

// textSize returns the length of Text.
func (s *Schema) textSize() int {
	if s.input == nil {
		return len(header) + len(rawInput) + s.size
	}
	return len(header) + s.size
}

// appendDeclarations appends the sections after the components.
func (s *Schema) appendDeclarations(b []byte) []byte {
	b = s.appendKinds(b)
	if s.motion != nil {
		b = s.motion.appendText(b)
	}
	b = appendInput(b, s.input)
	return s.appendEvents(s.appendCommands(b))
}

func (s *Schema) appendKinds(b []byte) []byte {
	for i := range s.kinds {
		b = s.kinds[i].appendText(b)
	}
	return b
}

func (s *Schema) appendCommands(b []byte) []byte {
	for i := range s.commands {
		b = s.commands[i].appendText(b)
	}
	return b
}

func (s *Schema) appendEvents(b []byte) []byte {
	for i := range s.events {
		b = s.events[i].appendText(b)
	}
	return b
}

func (k *EntityKind) appendText(b []byte) []byte {
	b = fmt.Appendf(b, "kind %s\n", k.Name)
	if k.Body == nil {
		return b
	}
	return k.Body.appendText(b)
}

func (k *KindBody) appendText(b []byte) []byte {
	b = append(b, "body"...)
	for _, x := range k.floats() {
		b = fmt.Appendf(b, " %08x", math.Float32bits(*x))
	}
	return fmt.Appendf(b, " %08x\n", k.Layers)
}

func (m *Motion) appendText(b []byte) []byte {
	b = fmt.Appendf(b, "motion %d", m.TickHz)
	for _, x := range m.floats() {
		b = fmt.Appendf(b, " %08x", math.Float32bits(*x))
	}
	return fmt.Appendf(b, " %d %v\n", m.RestTicks, m.Bounds)
}

// appendInput appends the lines of the input, raw if m is nil.
func appendInput(b []byte, m *Message) []byte {
	if m == nil {
		return append(b, rawInput...)
	}
	return m.appendText(append(b, "input\n"...))
}

func (c *Command) appendText(b []byte) []byte { return c.appendAnswer(c.appendArgs(b)) }

// appendArgs appends the lines before the answer's.
func (c *Command) appendArgs(b []byte) []byte {
	if c.Args == nil {
		return fmt.Appendf(b, "command %s raw\n", c.Name)
	}
	return c.Args.appendText(fmt.Appendf(b, "command %s\n", c.Name))
}

func (c *Command) appendAnswer(b []byte) []byte {
	if c.Answer == nil {
		return b
	}
	return c.Answer.appendText(append(b, "answer\n"...))
}

func (e *Event) appendText(b []byte) []byte {
	b = fmt.Appendf(b, "event %s", e.Name)
	if e.Unreliable {
		b = append(b, " unreliable"...)
	}
	return e.Message.appendText(append(b, '\n'))
}

func (f *Field) appendText(b []byte) []byte {
	b = fmt.Appendf(b, "%s %v", f.Path, f.Type)
	switch f.Type {
	case TypeBool, TypeHandle:
	case TypeRotation:
		b = fmt.Appendf(b, " %d", (f.Bits-2)/3)
	case TypeEnum:
		b = fmt.Appendf(b, " %d", uint64(f.Max)+1)
	case TypeRange:
		b = fmt.Appendf(b, " %016x %016x %d", math.Float64bits(f.Low), math.Float64bits(f.Step), f.Max)
	default:
		b = fmt.Appendf(b, " %d", f.Bits)
	}
	if f.Always {
		b = append(b, " always"...)
	}
	if f.Linear {
		b = append(b, " linear"...)
	}
	if f.Owner {
		b = append(b, " owner"...)
	}
	return append(b, '\n')
}
