package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/worldd/worldd/internal/printable"
)

// A Misfit is a declaration that cannot be bound to the peer's item of the same name: values of
// one cannot become values of the other.
type Misfit struct {
	Item     string // like `component "health"`
	Declared string // the line of Text that is declared
	Received string // the peer's line for the same field
}

// A BindError reports all declarations that cannot be bound to the peer's schema, or that a strict
// client refuses to bind.
type BindError struct {
	Misfits []Misfit
	Changes []string // that a strict client refuses: see Schema.Bind
}

// maxShown is how many misfits or changes an error's text has.
const maxShown = 16

// Error returns the first 16 misfits or changes in one line.
func (e *BindError) Error() string {
	text, lines := "schema: declarations differ from the peer's: ", slices.Clone(e.Changes)
	if len(e.Misfits) > 0 {
		text, lines = "schema: declarations do not fit the peer's, whose values are of another type: ", nil
		for _, m := range e.Misfits {
			lines = append(lines, fmt.Sprintf("%s: %q is declared here, and the peer has %q", m.Item, m.Declared, m.Received))
		}
	}
	if more := len(lines) - maxShown; more > 0 {
		lines = append(lines[:maxShown], fmt.Sprintf("and %d more", more))
	}
	return text + strings.Join(lines, "; ")
}

// A Binding pairs the fields of a declared item, for which the program has a Go type, with the
// fields of the peer's item of the same name.
type Binding struct {
	// Fields has for each field of the peer's item its index in Declared, or -1 if it is not
	// declared. Texts has indices in DeclaredTexts.
	Fields, Texts []int
	Declared      []Field
	DeclaredTexts []TextField
	Default       any // a struct of the item's type with the values of fields that the peer lacks; nil: zeros
}

// Bind gives the Go types of declared to the components, events, commands, answers and the
// input of s with the same names, in any order. Fields belong together if their paths are equal,
// or if a former path of the declared field (tag was:"Old") is a path in s. s decides on the layout, range
// and precision of each field. All items that declared lacks keep their types (none in a parsed
// schema). declared is unchanged.
//
// changes lists in lines, like `component "health": field added Shield`, where s lacks something
// that is declared, or has another form of it. It is empty if s has all declared items exactly.
// Motion, and items that only s has, are not compared.
//
// A *BindError reports all fields whose values are of different types: a number and a bool, for
// instance. s is then unchanged.
func (s *Schema) Bind(declared *Schema) (changes []string, err error) {
	b := binder{peer: s, declared: declared}
	b.bindAll()
	if len(b.misfits) > 0 {
		return b.changes, &BindError{Misfits: b.misfits}
	}
	for _, t := range b.types {
		*t.of, *t.binding = t.as, t.by
	}
	for i := range s.events {
		s.bindEvent(i, s.events[i].Message.Type)
	}
	return b.changes, nil
}

// Compare returns what Bind would return, and binds nothing.
func (s *Schema) Compare(declared *Schema) (changes []string, err error) {
	b := binder{peer: s, declared: declared}
	b.bindAll()
	if len(b.misfits) > 0 {
		err = &BindError{Misfits: b.misfits}
	}
	return b.changes, err
}

// binder finds the items of peer for the items of declared.
type binder struct {
	peer, declared *Schema
	changes        []string
	misfits        []Misfit
	types          []typeOf
}

// typeOf is a type to give to an item.
type typeOf struct {
	of      *reflect.Type
	binding **Binding
	as      reflect.Type
	by      *Binding
}

func (b *binder) noteChange(item, format string, args ...any) {
	b.changes = append(b.changes, printable.Text(item+": "+fmt.Sprintf(format, args...)))
}

func (b *binder) noteLack(item string) { b.noteChange(item, "the server lacks it") }

// bindAll compares all items of declared.
func (b *binder) bindAll() {
	b.bindComponents()
	b.bindInput()
	b.bindCommands()
	b.bindEvents()
	for _, name := range b.declared.definedKinds {
		if !b.peer.named["kind "+name] {
			b.noteLack(fmt.Sprintf("kind %q", name))
		}
	}
}

func (b *binder) bindComponents() {
	for i := range b.declared.components {
		own := &b.declared.components[i]
		item := fmt.Sprintf("component %q", own.Name)
		n, found := b.peer.ByName(own.Name)
		if !found {
			b.noteLack(item)
			continue
		}
		c := &b.peer.components[n]
		by := b.bindFields(c.form(), own.form(), item)
		if own.Type != nil {
			b.types = append(b.types, typeOf{&c.Type, &c.Binding, own.Type, by})
		}
	}
}

func (b *binder) bindInput() {
	switch {
	case b.declared.input == nil:
	case b.peer.input == nil:
		b.noteLack("input")
	default:
		b.bindMessage(b.peer.input, b.declared.input, "input")
	}
}

func (b *binder) bindCommands() {
	for i := range b.declared.commands {
		own := &b.declared.commands[i]
		item := fmt.Sprintf("command %q", own.Name)
		n, found := b.peer.CommandByName(own.Name)
		if !found {
			b.noteLack(item)
			continue
		}
		c := &b.peer.commands[n]
		switch {
		case own.Args == nil && c.Args == nil:
		case own.Args == nil || c.Args == nil:
			b.misfits = append(b.misfits, Misfit{item, firstLine(own.appendArgs(nil)), firstLine(c.appendArgs(nil))})
		default:
			b.bindMessage(c.Args, own.Args, item)
		}
		answer := "answer of " + item
		switch {
		case own.Answer == nil:
		case c.Answer == nil:
			b.noteLack(answer)
		default:
			b.bindMessage(c.Answer, own.Answer, answer)
		}
	}
}

func (b *binder) bindEvents() {
	for i := range b.declared.events {
		own := &b.declared.events[i]
		item := fmt.Sprintf("event %q", own.Name)
		n, found := b.peer.eventByName(own.Name)
		if !found {
			b.noteLack(item)
			continue
		}
		e := &b.peer.events[n]
		if e.Unreliable != own.Unreliable {
			how := "reliably"
			if e.Unreliable {
				how = "unreliably"
			}
			b.noteChange(item, "the server sends it %s", how)
		}
		b.bindMessage(e.Message, own.Message, item)
	}
}

func (b *binder) bindMessage(peer, own *Message, item string) {
	by := b.bindFields(peer.form(), own.form(), item)
	if own.Type != nil {
		b.types = append(b.types, typeOf{&peer.Type, &peer.Binding, own.Type, by})
	}
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
