// Package cstruct lays out the fields of a schema's items as C structs, for package client/c and the header that a game's
// schema command writes, also as C# and GDScript.
//
// The members of a struct are ordered by their alignment, the largest first, and its size is a multiple of 8: on every
// platform there is no padding but the reserved bytes at the end, also with packed structs and 32-bit pointers.
package cstruct

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/replication/schema"
)

// Type is the type of a member, numbered as in worldd.h.
type Type uint8

// Types.
const (
	Bool Type = iota + 1
	Uint32
	Int32
	Uint64
	Int64
	Float32
	Float64
	Handle
	Quaternion
	Text
	Bytes
)

// bytes returns the size of an element.
func (t Type) bytes() int {
	switch t {
	case Bool, Text, Bytes:
		return 1
	case Uint32, Int32, Float32, Quaternion:
		return 4
	}
	return 8
}

// Member is one member of a struct: a field, or an array of fields.
type Member struct {
	Path     string // of the field in the schema; of an array without the last index
	Type     Type
	Count    int  // elements
	IsArray  bool // of fields
	Offset   int
	LengthAt int // of Bytes: the offset of their number, a uint32
}

// Size returns the bytes of m, without the number of Bytes.
func (m *Member) Size() int { return m.Count * m.Type.bytes() }

// ElementPath returns the path of element i.
func (m *Member) ElementPath(i int) string {
	if m.IsArray {
		return m.Path + "[" + strconv.Itoa(i) + "]"
	}
	return m.Path
}

// Struct is a struct. Its members are in the order of the schema, texts last.
type Struct struct {
	Members []Member
	Size    int
}

// Of returns the struct of an item with these fields.
func Of(fields []schema.Field, texts []schema.TextField) Struct {
	var s Struct
	for i := range fields {
		s.addField(&fields[i])
	}
	for i := range texts {
		m := Member{Path: texts[i].Path, Type: Text, Count: texts[i].Max + 1}
		if texts[i].Bytes {
			m.Type, m.Count = Bytes, texts[i].Max
		}
		s.Members = append(s.Members, m)
	}
	s.place()
	return s
}

// addField adds a field, to the array of the previous ones if it is their next element.
func (s *Struct) addField(f *schema.Field) {
	t := typeOf(f)
	if open := strings.LastIndexByte(f.Path, '['); t != Quaternion && open >= 0 && strings.HasSuffix(f.Path, "]") {
		last := len(s.Members) - 1
		switch stem := f.Path[:open]; {
		case f.Path[open:] == "[0]":
			s.Members = append(s.Members, Member{Path: stem, Type: t, Count: 1, IsArray: true})
			return
		case last >= 0 && s.Members[last].IsArray && s.Members[last].Path == stem && s.Members[last].Type == t:
			s.Members[last].Count++
			return
		}
	}
	m := Member{Path: f.Path, Type: t, Count: 1}
	if t == Quaternion {
		m.Count = 4
	}
	s.Members = append(s.Members, m)
}

// place sets the offsets and the size.
func (s *Struct) place() {
	for _, size := range []int{8, 4, 1} {
		for i := range s.Members {
			m := &s.Members[i]
			if m.Type == Bytes && size == 4 {
				m.LengthAt = s.Size
				s.Size += size
			}
			if m.Type.bytes() == size {
				m.Offset = s.Size
				s.Size += m.Size()
			}
		}
	}
	s.Size = max(s.Size+7, 8) &^ 7 // C has no empty structs
}

// Find returns the number of the member with this path, or -1.
func (s *Struct) Find(path string) int {
	return slices.IndexFunc(s.Members, func(m Member) bool { return m.Path == path })
}

// has reports whether a member has type t.
func (s *Struct) has(t Type) bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.Type == t })
}

// isArray reports whether m is an array in C.
func (m *Member) isArray() bool { return m.Count > 1 || m.IsArray || m.Type == Text || m.Type == Bytes }

// line is one line of a struct's declaration: a member, or the number of its bytes.
type line struct {
	offset   int
	name     string
	member   *Member
	isLength bool
}

// lines returns the lines of s in the order of its memory, and where they end. nameOf makes names of paths. No name is in taken.
func (s *Struct) lines(nameOf func(path string) string, lengthSuffix string, taken map[string]bool) (all []line, end int) {
	for i := range s.Members {
		m := &s.Members[i]
		name := nameOf(m.Path)
		for taken[name] || taken[name+lengthSuffix] {
			name += "_"
		}
		taken[name] = true
		if m.Type == Bytes {
			taken[name+lengthSuffix] = true
			all, end = append(all, line{m.LengthAt, name + lengthSuffix, m, true}), max(end, m.LengthAt+4)
		}
		if m.Size() > 0 {
			all = append(all, line{m.Offset, name, m, false})
		}
		end = max(end, m.Offset+m.Size())
	}
	slices.SortFunc(all, func(a, b line) int { return cmp.Compare(a.offset, b.offset) })
	return all, end
}

// typeOf returns the type of a field, as schema.ParseTyped gives it in Go.
func typeOf(f *schema.Field) Type {
	wide := f.Kind == schema.KindRaw64
	pick := func(narrow, wider Type) Type {
		if wide {
			return wider
		}
		return narrow
	}
	switch f.Type {
	case schema.TypeBool:
		return Bool
	case schema.TypeHandle:
		return Handle
	case schema.TypeRotation:
		return Quaternion
	case schema.TypeInt:
		return pick(Int32, Int64)
	case schema.TypeFloat:
		return pick(Float32, Float64)
	case schema.TypeRange, schema.TypeAngle:
		wide = f.Bits > schema.MaxFloat32Bits
		return pick(Float32, Float64)
	}
	return pick(Uint32, Uint64)
}
