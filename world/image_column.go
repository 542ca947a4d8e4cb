package world

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// columnImage holds a component: who has it, and the values of every 64 slots
// among which somebody has.
type columnImage struct {
	name   string
	shape  string // shapeOf its type
	of     reflect.Type
	size   uintptr
	plain  bool // values are in the portable form as they are
	has    bulk.Bitset
	values []byte // in the memory's own form
}

// wordBytes is the size of the values of 64 neighbouring slots.
func (img *columnImage) wordBytes() int { return int(64 * img.size) }

func columnImageOf(c ComponentInfo) columnImage {
	return columnImage{
		name: c.Name, shape: shapeOf(c.Type), of: c.Type, size: c.Type.Size(),
		plain: littleEndian() && len(gapsIn(c.Type)) == 0,
	}
}

func (w *World) takeComponents(img *Image) {
	for len(img.components) < len(w.components) {
		img.components = append(img.components, columnImage{})
	}
	img.components = img.components[:len(w.components)]
	for i, c := range w.components {
		own, info := &img.components[i], c.info()
		if own.name != info.Name || own.of != info.Type {
			*own = columnImageOf(info)
		}
		own.has.CopyFrom(c.present())
		own.values = own.values[:0]
		for word := range own.has.WordCount() {
			if own.has.Word(word) != 0 {
				own.values = append(own.values, memoryOf(c, word, own.wordBytes())...)
			}
		}
	}
}

// memoryOf returns the memory of a component's values on 64 neighbouring slots,
// which lie in one block.
func memoryOf(c column, word uint32, n int) []byte {
	return unsafe.Slice((*byte)(c.at(word*64)), n)
}

// check says what is wrong with the values, which came from a file: a bool that
// is neither true nor false would be neither to Go, too.
func (img *columnImage) check() error {
	l, err := layoutOf(img.of)
	if err != nil {
		return err
	}
	words := 0
	for word := range img.has.WordCount() {
		if img.has.Word(word) != 0 {
			words++
		}
	}
	if len(img.values) != words*img.wordBytes() {
		return fmt.Errorf("component %q has %d bytes for %d words", img.name, len(img.values), words)
	}
	for _, n := range l {
		if n.kind != reflect.Bool {
			continue
		}
		for at := int(n.offset); at < len(img.values); at += int(img.size) {
			if img.values[at] > 1 {
				return fmt.Errorf("component %q has a bool of value %d", img.name, img.values[at])
			}
		}
	}
	return nil
}

// restoreColumn gives the component to those who have it in the image, to nobody
// if there is none.
func restoreColumn(c column, img *columnImage, slots uint32) {
	present := c.present()
	for slot, ok := present.Next(0); ok; slot, ok = present.Next(slot + 1) {
		c.clear(slot)
	}
	c.grow(slots)
	if img == nil {
		return
	}
	rest, n := img.values, img.wordBytes()
	for word := range img.has.WordCount() {
		mask := img.has.Word(word)
		if mask == 0 {
			continue
		}
		memory := memoryOf(c, word, n)
		copy(memory, rest[:n])
		rest = rest[n:]
		for i := range 64 {
			if mask>>i&1 == 0 { // W7: who lacks it has zeros
				clear(memory[i*int(img.size) : (i+1)*int(img.size)])
			}
		}
		present.SetWord(word, mask)
	}
}

// shapeOf describes a component type by what its bytes mean: the names, kinds
// and places of its fields. A type that was changed has another shape.
func shapeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			f := t.Field(i)
			fields = append(fields, fmt.Sprintf("%s@%d %s", f.Name, f.Offset, shapeOf(f.Type)))
		}
		return "{" + strings.Join(fields, "; ") + "}"
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), shapeOf(t.Elem()))
	}
	if t == reflect.TypeFor[bulk.Handle]() {
		return "handle"
	}
	return fmt.Sprintf("%s:%d", t.Kind(), t.Size())
}

// handlesIn lists where a component type holds handles.
func handlesIn(t reflect.Type, offset uintptr) (offsets []uintptr) {
	switch {
	case t == reflect.TypeFor[bulk.Handle]():
		return []uintptr{offset}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			offsets = append(offsets, handlesIn(f.Type, offset+f.Offset)...)
		}
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			offsets = append(offsets, handlesIn(t.Elem(), offset+uintptr(i)*t.Elem().Size())...)
		}
	}
	return offsets
}

// gapsIn lists the bytes of a component type that belong to no number.
func gapsIn(t reflect.Type) (gaps []uintptr) {
	l, err := layoutOf(t)
	if err != nil {
		return nil // refused at Register
	}
	next := uintptr(0)
	for _, n := range append(l, number{offset: t.Size()}) {
		for ; next < n.offset; next++ {
			gaps = append(gaps, next)
		}
		next = n.offset + n.size()
	}
	return gaps
}

// portable turns values from the memory's form into the file's, or back: the
// bytes of each number in little-endian order, and zeros where there is none.
func portable(values []byte, t reflect.Type) {
	gaps := gapsIn(t)
	l, err := layoutOf(t)
	if err != nil {
		return // refused at Register
	}
	for ; len(values) > 0; values = values[t.Size():] {
		for _, gap := range gaps {
			values[gap] = 0
		}
		if !littleEndian() {
			for _, n := range l {
				reverse(values[n.offset:], int(n.size()))
			}
		}
	}
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// reverse reverses the first size bytes.
func reverse(b []byte, size int) {
	for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
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
