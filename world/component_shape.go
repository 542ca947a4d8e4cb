package world

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// shape describes the bytes of a component type, for values in files.
type shape struct {
	text string // names, kinds and offsets of the fields: changes whenever the type does
	of   reflect.Type
	size uintptr
	layout
	gaps  []uintptr // offsets of padding bytes and of the headers of texts
	plain bool      // memory and file format are identical
}

// newShape returns the shape of a type that Register accepted.
func newShape(t reflect.Type) shape {
	s := shape{text: shapeText(t), of: t, size: t.Size()}
	s.layout, _ = layoutOf(t) // cannot fail: Register checked the type
	s.complete()
	return s
}

// complete derives gaps and plain from the size and the numbers.
func (s *shape) complete() {
	next := uintptr(0)
	for _, n := range s.numbers {
		for ; next < n.offset; next++ {
			s.gaps = append(s.gaps, next)
		}
		next = n.offset + n.size()
	}
	for ; next < s.size; next++ {
		s.gaps = append(s.gaps, next)
	}
	s.plain = littleEndian() && len(s.gaps) == 0
}

func shapeText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			f := t.Field(i)
			fields = append(fields, fmt.Sprintf("%s@%d %s", f.Name, f.Offset, shapeText(f.Type)))
		}
		return "{" + strings.Join(fields, "; ") + "}"
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), shapeText(t.Elem()))
	}
	if t == reflect.TypeFor[bulk.Handle]() {
		return "handle"
	}
	return fmt.Sprintf("%s:%d", t.Kind(), t.Size())
}

// convert converts values between memory and file format, in either direction: numbers
// in little-endian order, zero gaps.
func (s *shape) convert(values []byte) {
	if s.plain {
		return
	}
	s.blank(values)
	for ; len(values) > 0 && !littleEndian(); values = values[s.size:] {
		for _, n := range s.numbers {
			reverse(values[n.offset:], int(n.size()))
		}
	}
}

// blank sets the gaps of values to zero.
func (s *shape) blank(values []byte) {
	for ; len(values) > 0 && len(s.gaps) > 0; values = values[s.size:] {
		for _, gap := range s.gaps {
			values[gap] = 0
		}
	}
}

// isValid reports whether values from a file may be used: every bool must be 0 or 1, or
// Go's behaviour is undefined.
func (s *shape) isValid(values []byte) bool {
	for _, n := range s.numbers {
		if n.kind != reflect.Bool {
			continue
		}
		for at := int(n.offset); at < len(values); at += int(s.size) {
			if values[at] > 1 {
				return false
			}
		}
	}
	return true
}

func (n number) size() uintptr {
	switch n.kind {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return 1
	case reflect.Int16, reflect.Uint16:
		return 2
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		return 4
	case reflect.Int, reflect.Uint:
		return unsafe.Sizeof(uint(0))
	}
	return 8
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// reverse reverses the first size bytes of b.
func reverse(b []byte, size int) {
	for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}
