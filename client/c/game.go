package main

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/cstruct"
	"github.com/worldd/worldd/replication/schema"
)

// game is the schema of a program, with the records of its items.
type game struct {
	schema     *schema.Schema
	components []*record
	events     []*record
	arguments  []*record // by command; nil: raw
	answers    []*record // by command; nil: none
	input      *record   // nil: raw
	kinds      map[string]uint32
}

// newGame returns the game of a schema text, of the body alone if it is empty.
func newGame(text string) (*game, error) {
	if text == "" {
		text = schema.NewWithBody().Text()
	}
	s, err := schema.ParseTyped(text)
	if err != nil {
		return nil, fmt.Errorf("worldd: def.schema is not the text of a generated header: %w", err)
	}
	g := &game{schema: s, kinds: map[string]uint32{}}
	for _, c := range s.Components() {
		g.components = append(g.components, newRecord(c.Type, c.Fields, c.TextFields))
	}
	for _, e := range s.Events() {
		g.events = append(g.events, recordOf(e.Message))
	}
	for _, c := range s.Commands() {
		g.arguments = append(g.arguments, recordOf(c.Args))
		g.answers = append(g.answers, recordOf(c.Answer))
	}
	g.input = recordOf(s.Input())
	for i, k := range s.Kinds() {
		g.kinds[k.Name] = uint32(i)
	}
	return g, nil
}

// kindOf returns the number of e's kind in the program's schema, the largest uint32 if it has none.
func (g *game) kindOf(e *client.Entity) uint32 {
	if i, found := g.kinds[e.KindName()]; found {
		return i
	}
	return math.MaxUint32
}

// find returns the number of an item.
func (g *game) find(section int, name string) result {
	names := map[int]func(i int) (string, bool){
		sectionComponent: func(i int) (string, bool) {
			return nameAt(g.schema.Components(), i, func(c *schema.Component) string { return c.Name })
		},
		sectionEvent: func(i int) (string, bool) {
			return nameAt(g.schema.Events(), i, func(e *schema.Event) string { return e.Name })
		},
		sectionCommand: func(i int) (string, bool) {
			return nameAt(g.schema.Commands(), i, func(c *schema.Command) string { return c.Name })
		},
		sectionKind: func(i int) (string, bool) {
			return nameAt(g.schema.Kinds(), i, func(k *schema.EntityKind) string { return k.Name })
		},
	}[section]
	if names == nil {
		return badArgument
	}
	for i := 0; ; i++ {
		found, more := names(i)
		switch {
		case !more:
			return badArgument
		case found == name:
			return result(i)
		}
	}
}

// nameAt returns the name of item i, and false behind the last.
func nameAt[T any](all []T, i int, name func(*T) string) (string, bool) {
	if i >= len(all) {
		return "", false
	}
	return name(&all[i]), true
}

// findField returns the number of a field of a component.
func (g *game) findField(component uint32, name string) result {
	if component >= uint32(len(g.components)) {
		return badArgument
	}
	if i := g.components[component].layout.Find(name); i >= 0 {
		return result(i)
	}
	return badArgument
}

// field returns a field of a component with its record, nil if there is none.
func (g *game) field(component, field uint32) (*record, *member) {
	if component >= uint32(len(g.components)) {
		return nil, nil
	}
	r := g.components[component]
	if field >= uint32(len(r.members)) {
		return nil, nil
	}
	return r, &r.members[field]
}

// record is an item as C struct and as Go struct.
type record struct {
	layout  cstruct.Struct
	goType  reflect.Type
	members []member
	value   reflect.Value // scratch: a pointer to a goType
}

// member is a member of a record.
type member struct {
	cstruct.Member
	at uintptr // offset in the Go struct
}

func recordOf(m *schema.Message) *record {
	if m == nil {
		return nil
	}
	return newRecord(m.Type, m.Fields, m.TextFields)
}

func newRecord(t reflect.Type, fields []schema.Field, texts []schema.TextField) *record {
	r := &record{layout: cstruct.Of(fields, texts), goType: t, value: reflect.New(t)}
	for _, m := range r.layout.Members {
		r.members = append(r.members, member{m, offsetOf(t, m.ElementPath(0))})
	}
	return r
}

// offsetOf returns the offset of the field of t that a path like Aim.Pitch[2] names.
func offsetOf(t reflect.Type, path string) (offset uintptr) {
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		if step[0] == '[' {
			n, _ := strconv.Atoi(strings.Trim(step, "[]"))
			t = t.Elem()
			offset += uintptr(n) * t.Size()
			continue
		}
		f, _ := t.FieldByName(step)
		t, offset = f.Type, offset+f.Offset
	}
	return offset
}

// fromValue returns the C struct of v, a goType.
func (r *record) fromValue(v any) []byte {
	p := reflect.New(r.goType)
	p.Elem().Set(reflect.ValueOf(v))
	return r.fromPointer(p.Interface())
}

// fromPointer returns the C struct of v, a pointer to a goType.
func (r *record) fromPointer(v any) []byte {
	b := make([]byte, r.layout.Size)
	r.writeTo(unsafe.Pointer(unsafe.SliceData(b)), reflect.ValueOf(v).UnsafePointer())
	return b
}

// writeTo writes the Go struct at from to the C struct at to.
func (r *record) writeTo(to, from unsafe.Pointer) {
	for i := range r.members {
		m := &r.members[i]
		at, of := unsafe.Add(to, m.Offset), unsafe.Add(from, m.at)
		switch m.Type {
		case cstruct.Text:
			b := unsafe.Slice((*byte)(at), m.Count)
			clear(b[copy(b[:m.Count-1], *(*string)(of)):])
		case cstruct.Bytes:
			b := unsafe.Slice((*byte)(at), m.Count)
			n := copy(b, *(*[]byte)(of))
			clear(b[n:])
			*(*uint32)(unsafe.Add(to, m.LengthAt)) = uint32(n)
		default:
			copy(unsafe.Slice((*byte)(at), m.Size()), unsafe.Slice((*byte)(of), m.Size()))
		}
	}
}

// toPointer returns a pointer to a new goType with the values of the C struct at from.
func (r *record) toPointer(from unsafe.Pointer) any {
	v := reflect.New(r.goType)
	to := v.UnsafePointer()
	r.readFields(to, from)
	for i := range r.members {
		m := &r.members[i]
		at, b := unsafe.Add(to, m.at), unsafe.Slice((*byte)(unsafe.Add(from, m.Offset)), m.Size())
		switch m.Type {
		case cstruct.Text:
			text, _, _ := strings.Cut(string(b), "\x00")
			*(*string)(at) = text
		case cstruct.Bytes:
			n := *(*uint32)(unsafe.Add(from, m.LengthAt))
			*(*[]byte)(at) = append([]byte(nil), b[:min(uint64(n), uint64(len(b)))]...)
		}
	}
	return v.Interface()
}

// readFields sets the Go struct at to, but for its texts, to the C struct at from.
func (r *record) readFields(to, from unsafe.Pointer) {
	for i := range r.members {
		m := &r.members[i]
		at, b := unsafe.Add(to, m.at), unsafe.Slice((*byte)(unsafe.Add(from, m.Offset)), m.Size())
		switch m.Type {
		case cstruct.Text, cstruct.Bytes:
		case cstruct.Bool:
			for i, x := range b {
				*(*bool)(unsafe.Add(at, i)) = x != 0
			}
		default:
			copy(unsafe.Slice((*byte)(at), len(b)), b)
		}
	}
}
