package schema

import (
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"github.com/worldd/worldd/bulk"
)

// MaxFloat32Bits is the precision of a float32: ParseTyped makes ranges and angles with more bits float64.
const MaxFloat32Bits = 24

// ParseTyped is [Parse] for programs without Go types of the game, such as a library for other languages: it gives each
// component and message a struct type made from its fields. Floats of at most MaxFloat32Bits are
// float32, others float64; integers have 32 or 64 bits. An error says which name Go cannot have in a struct.
func ParseTyped(text string) (*Schema, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	for i := range s.components {
		c := &s.components[i]
		if c.Type, err = structType("component "+c.Name, c.Fields, c.TextFields); err != nil {
			return nil, err
		}
	}
	for i := range s.commands {
		c := &s.commands[i]
		if err := c.Args.makeType("command " + c.Name); err != nil {
			return nil, err
		}
		if err := c.Answer.makeType("answer of " + c.Name); err != nil {
			return nil, err
		}
	}
	for i := range s.events {
		m := s.events[i].Message
		if err := m.makeType("event " + s.events[i].Name); err != nil {
			return nil, err
		}
		s.bindEvent(i, m.Type)
	}
	return s, s.input.makeType("input")
}

// makeType gives m a struct type; m may be nil.
func (m *Message) makeType(item string) (err error) {
	if m != nil {
		m.Type, err = structType(item, m.Fields, m.TextFields)
	}
	return err
}

// structType returns a struct type with the fields of an item. The tag of its first member makes the types of different
// items differ.
func structType(item string, fields []Field, texts []TextField) (reflect.Type, error) {
	var root typeNode
	for i := range fields {
		root.insert(fields[i].Path, fields[i].goType())
	}
	for i := range texts {
		root.insert(texts[i].Path, texts[i].goType())
	}
	t, err := root.goType(reflect.StructTag(fmt.Sprintf(`net:"-" item:%q`, item)))
	if err != nil {
		return nil, fmt.Errorf("schema: %s: %w", item, err)
	}
	return t, nil
}

// goType returns the type of f's values.
func (f *Field) goType() reflect.Type {
	wide := f.Kind == KindRaw64
	switch f.Type {
	case TypeBool:
		return reflect.TypeFor[bool]()
	case TypeHandle:
		return reflect.TypeFor[bulk.Handle]()
	case TypeRotation:
		return reflect.TypeFor[[4]float32]()
	case TypeFloat, TypeRange, TypeAngle:
		if wide || f.Type != TypeFloat && f.Bits > MaxFloat32Bits {
			return reflect.TypeFor[float64]()
		}
		return reflect.TypeFor[float32]()
	case TypeInt:
		if wide {
			return reflect.TypeFor[int64]()
		}
		return reflect.TypeFor[int32]()
	}
	if wide {
		return reflect.TypeFor[uint64]()
	}
	return reflect.TypeFor[uint32]()
}

// goType returns the type of f's values.
func (f *TextField) goType() reflect.Type {
	if f.Bytes {
		return reflect.TypeFor[[]byte]()
	}
	return reflect.TypeFor[string]()
}

// typeNode is a struct, an array or a field of the type made of a struct's paths.
type typeNode struct {
	name    string // with brackets if it is an index
	leaf    reflect.Type
	members []*typeNode
}

// insert adds a field below n.
func (n *typeNode) insert(path string, leaf reflect.Type) {
	for part := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		i := slices.IndexFunc(n.members, func(m *typeNode) bool { return m.name == part })
		if i < 0 {
			n.members = append(n.members, &typeNode{name: part})
			i = len(n.members) - 1
		}
		n = n.members[i]
	}
	n.leaf = leaf
}

// goType returns the type of n. If n is the struct of an item, its first member has the given tag and no bytes.
func (n *typeNode) goType(first reflect.StructTag) (reflect.Type, error) {
	if n.leaf != nil {
		return n.leaf, nil
	}
	members := make([]reflect.StructField, len(n.members))
	for i, m := range n.members {
		t, err := m.goType("")
		if err != nil {
			return nil, err
		}
		members[i] = reflect.StructField{Name: m.name, Type: t}
	}
	if len(members) > 0 && n.members[0].name[0] == '[' {
		for i := range members {
			if members[i].Type != members[0].Type {
				return nil, fmt.Errorf("the elements of array %s differ", n.name)
			}
		}
		return reflect.ArrayOf(len(members), members[0].Type), nil
	}
	if first != "" {
		members = append([]reflect.StructField{{Name: "Item", Type: reflect.TypeFor[struct{}](), Tag: first}}, members...)
	}
	for i := range members {
		name := members[i].Name
		if !token.IsIdentifier(name) || !token.IsExported(name) || slices.ContainsFunc(members[:i], func(f reflect.StructField) bool { return f.Name == name }) {
			return nil, fmt.Errorf("field %q: want a name that begins with a capital letter, other than Item", name)
		}
	}
	return reflect.StructOf(members), nil
}
