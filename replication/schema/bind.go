package schema

import (
	"fmt"
	"slices"
	"strings"
)

// A BindError reports a declaration that the peer's schema lacks or declares differently.
type BindError struct {
	Item     string // like `component "health"`
	Declared string // the first line that differs; empty if only the peer has a line
	Received string // the peer's line for the same field, or at the same position if the order differs; may be empty
	Missing  bool   // the peer has no item of this name
}

// Error returns all fields in one line.
func (e *BindError) Error() string {
	if e.Missing {
		return fmt.Sprintf("schema: %s is declared here, and the peer's schema has none of that name: add it there, or remove it here", e.Item)
	}
	const advice = "build both from the same type"
	switch {
	case e.Received == "":
		return fmt.Sprintf("schema: %s: line %q is declared here, and the peer's schema lacks it: %s", e.Item, e.Declared, advice)
	case e.Declared == "":
		return fmt.Sprintf("schema: %s: the peer's schema has line %q, which is not declared here: %s", e.Item, e.Received, advice)
	case fieldOf(e.Declared) != fieldOf(e.Received):
		return fmt.Sprintf("schema: %s: line %q is declared here where the peer's schema has %q: the order differs: %s", e.Item, e.Declared, e.Received, advice)
	}
	return fmt.Sprintf("schema: %s: line %q is declared here, and the peer's schema has %q: %s", e.Item, e.Declared, e.Received, advice)
}

// fieldOf returns the name at the beginning of a line.
func fieldOf(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return name
}

// Bind gives the Go types of declared to the components, events, commands, answers and the
// input of s with the same names, in any order. Their lines of Text must be equal, and s
// must have the kinds that DefineKind added to declared. Otherwise the error is a
// *BindError and s is unchanged. All other items of s keep their types (none in a parsed
// schema). Other kinds and motion are not compared. declared is unchanged.
func (s *Schema) Bind(declared *Schema) error {
	if err := s.Compare(declared); err != nil {
		return err
	}
	s.bindComponents(declared)
	bindMessage(s.input, declared.input)
	for i := range declared.commands {
		to, _ := s.CommandByName(declared.commands[i].Name)
		bindMessage(s.commands[to].Args, declared.commands[i].Args)
		bindMessage(s.commands[to].Answer, declared.commands[i].Answer)
	}
	for i := range declared.events {
		to, _ := s.EventByName(declared.events[i].Name)
		bindMessage(s.events[to].Message, declared.events[i].Message)
		s.bindEvent(to, s.events[to].Message.Type)
	}
	return nil
}

// Compare returns the error that Bind would return, and binds nothing.
func (s *Schema) Compare(declared *Schema) error {
	for _, compare := range []func(*Schema) error{s.compareComponents, s.compareInput, s.compareCommands, s.compareEvents, s.compareKinds} {
		if err := compare(declared); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) compareComponents(declared *Schema) error {
	for i := range declared.components {
		name := declared.components[i].Name
		to, found := s.ByName(name)
		if !found {
			return &BindError{Item: fmt.Sprintf("component %q", name), Missing: true}
		}
		if err := compare(fmt.Sprintf("component %q", name), declared.appendComponent(nil, i), s.appendComponent(nil, to)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) compareInput(declared *Schema) error {
	if declared.input == nil {
		return nil
	}
	return compare("input", appendInput(nil, declared.input), appendInput(nil, s.input))
}

func (s *Schema) compareCommands(declared *Schema) error {
	for i := range declared.commands {
		own := &declared.commands[i]
		item := fmt.Sprintf("command %q", own.Name)
		to, found := s.CommandByName(own.Name)
		if !found {
			return &BindError{Item: item, Missing: true}
		}
		if err := compare(item, own.appendArgs(nil), s.commands[to].appendArgs(nil)); err != nil {
			return err
		}
		if own.Answer == nil {
			continue
		}
		if err := compare("answer of "+item, own.appendAnswer(nil), s.commands[to].appendAnswer(nil)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) compareEvents(declared *Schema) error {
	for i := range declared.events {
		name := declared.events[i].Name
		to, found := s.EventByName(name)
		if !found {
			return &BindError{Item: fmt.Sprintf("event %q", name), Missing: true}
		}
		if err := compare(fmt.Sprintf("event %q", name), declared.events[i].appendText(nil), s.events[to].appendText(nil)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) compareKinds(declared *Schema) error {
	for _, name := range declared.definedKinds {
		if !s.named["kind "+name] {
			return &BindError{Item: fmt.Sprintf("kind %q", name), Missing: true}
		}
	}
	return nil
}

// compare returns a *BindError about the first declared line that differs from the received line of
// the same field, or else about the first received line that is not declared.
func compare(item string, declared, received []byte) error {
	if string(declared) == string(received) {
		return nil
	}
	ours, theirs := linesOf(declared), linesOf(received)
	for _, our := range ours {
		if their := lineOf(theirs, fieldOf(our)); their != our {
			return &BindError{Item: item, Declared: our, Received: their}
		}
	}
	for _, their := range theirs {
		if lineOf(ours, fieldOf(their)) == "" {
			return &BindError{Item: item, Received: their}
		}
	}
	for i := range ours {
		if ours[i] != theirs[i] {
			return &BindError{Item: item, Declared: ours[i], Received: theirs[i]}
		}
	}
	return nil
}

func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// lineOf returns the line of a field, or "".
func lineOf(lines []string, field string) string {
	i := slices.IndexFunc(lines, func(line string) bool { return fieldOf(line) == field })
	if i < 0 {
		return ""
	}
	return lines[i]
}

// bindComponents gives the components of s the types of the components of declared. s has
// all of them.
func (s *Schema) bindComponents(declared *Schema) {
	for i := range declared.components {
		from := &declared.components[i]
		if number, _ := s.ByName(from.Name); from.Type != nil {
			s.components[number].Type = from.Type
		}
	}
}

// bindMessage gives message to the type of from. Either may be nil; from may be untyped.
func bindMessage(to, from *Message) {
	if to != nil && from != nil && from.Type != nil {
		to.Type = from.Type
	}
}
