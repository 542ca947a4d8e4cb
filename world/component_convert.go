package world

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// conversion makes values of one type from values of another, by the names of their fields.
type conversion struct {
	from, to shape
	runs     []run // bytes that both types have
	wider    []widening
	texts    []textCopy
	missing  bool  // to has fields that from lacks
	absent   []int // the text fields among them

	added, dropped, renamed, widened []string // fields, for people
	misfits                          []string // why the conversion is impossible
}

// run is a range of bytes, at an offset in each type.
type run struct{ from, to, n uintptr }

// widening is a list of numbers, one after the other, that have more bytes in to, and the same values.
type widening struct {
	from, to         uintptr
	n                int
	fromKind, toKind reflect.Kind
	widen            widener
}

// textCopy names the same text field in both types, by its index.
type textCopy struct{ from, to int }

// newConversion compares two types. to is the type whose tree is own.
func newConversion(from, own *node, to shape) *conversion {
	c := &conversion{from: from.shapeOf(), to: to}
	c.match(from, own, 0, 0, "")
	return c
}

// match finds the conversion of a part of from to a part of to. path names the part.
func (c *conversion) match(from, to *node, fromAt, toAt uintptr, path string) {
	switch {
	case !to.hasText() && from.sameMemory(to):
		c.copyBytes(run{fromAt, toAt, to.size})
	case from.kind == reflect.Struct && to.kind == reflect.Struct:
		c.matchFields(from, to, fromAt, toAt, path)
	case from.kind == reflect.Array && to.kind == reflect.Array && from.length <= to.length:
		for i := range uintptr(to.length) {
			toAt := toAt + i*to.elem.size
			if i < uintptr(from.length) {
				c.match(from.elem, to.elem, fromAt+i*from.elem.size, toAt, path+"[]")
				continue
			}
			c.lack(to.elem, toAt)
		}
		if from.length < to.length {
			note(&c.widened, fmt.Sprintf("%s from %s to %s", path, from.text(), to.text()))
		}
	case from.isText() && to.isText():
		c.texts = append(c.texts, textCopy{c.from.textAt(fromAt), c.to.textAt(toAt)})
	case from.widensTo(to):
		c.matchNumbers(from, to, fromAt, toAt)
		if from.kind != to.kind {
			note(&c.widened, fmt.Sprintf("%s from %s to %s", path, from.text(), to.text()))
		}
	default:
		what := "a value"
		if path != "" {
			what = "field " + path[1:]
		}
		note(&c.misfits, fmt.Sprintf("%s is %s in the image and %s in the world", what, from.text(), to.text()))
	}
}

func (c *conversion) matchFields(from, to *node, fromAt, toAt uintptr, path string) {
	used := make([]bool, len(from.fields))
	for _, f := range to.fields {
		path := path + "." + f.name
		i := from.find(f)
		if i < 0 || used[i] {
			note(&c.added, path)
			c.lack(f.node, toAt+f.offset)
			continue
		}
		used[i] = true
		source := from.fields[i]
		if source.name != f.name {
			note(&c.renamed, path+" from "+source.name)
		}
		c.match(source.node, f.node, fromAt+source.offset, toAt+f.offset, path)
	}
	for i, f := range from.fields {
		if !used[i] {
			note(&c.dropped, path+"."+f.name)
		}
	}
}

// note adds a line about a field, unless another element of the same array has added it.
func note(list *[]string, line string) {
	line = strings.TrimPrefix(line, ".")
	if !slices.Contains(*list, line) {
		*list = append(*list, line)
	}
}

// copyBytes adds a run, or extends the last run if the new one directly follows it.
func (c *conversion) copyBytes(r run) {
	if n := len(c.runs); n > 0 {
		last := &c.runs[n-1]
		if last.from+last.n == r.from && last.to+last.n == r.to {
			last.n += r.n
			return
		}
	}
	c.runs = append(c.runs, r)
}

// matchNumbers adds a number, or both parts of a complex number.
func (c *conversion) matchNumbers(from, to *node, fromAt, toAt uintptr) {
	wanted := numbers(to.fixedKind(), toAt)
	for i, n := range numbers(from.fixedKind(), fromAt) {
		if n.size() == wanted[i].size() {
			c.copyBytes(run{n.offset, wanted[i].offset, n.size()})
			continue
		}
		c.widenNumber(n, wanted[i])
	}
}

// widenNumber adds a number, to the last list if it continues that.
func (c *conversion) widenNumber(from, to number) {
	if n := len(c.wider); n > 0 {
		last := &c.wider[n-1]
		if last.fromKind == from.kind && last.toKind == to.kind && last.from+uintptr(last.n)*from.size() == from.offset && last.to+uintptr(last.n)*to.size() == to.offset {
			last.n++
			return
		}
	}
	c.wider = append(c.wider, widening{from.offset, to.offset, 1, from.kind, to.kind, widenerOf(from.kind, to.kind)})
}

// lack notes that from has no source of a part of to.
func (c *conversion) lack(n *node, at uintptr) {
	var l layout
	n.appendTo(&l, at)
	c.missing = true
	for _, f := range l.textFields {
		c.absent = append(c.absent, c.to.textAt(f.offset))
	}
}

// find returns the index of the field that f continues, or -1.
func (n *node) find(f member) int {
	for _, name := range append([]string{f.name}, f.was...) {
		if i := slices.IndexFunc(n.fields, func(o member) bool { return o.name == name }); i >= 0 {
			return i
		}
	}
	return -1
}

// hasText reports whether n or a part of it is a text: a value that refers to bytes outside
// itself.
func (n *node) hasText() bool {
	var l layout
	n.appendTo(&l, 0)
	return len(l.textFields) > 0
}

// widensTo reports whether n and to are numbers, and to can represent every value of n.
func (n *node) widensTo(to *node) bool {
	if n.kind > reflect.Complex128 || to.kind > reflect.Complex128 {
		return false
	}
	if n.handle || to.handle {
		return n.handle && to.handle
	}
	from, wide := n.fixedKind(), to.fixedKind()
	switch {
	case from == wide:
		return true
	case signed(from):
		return signed(wide) && n.size <= to.size
	case unsigned(from):
		return unsigned(wide) && n.size <= to.size || signed(wide) && n.size < to.size
	}
	return from == reflect.Float32 && wide == reflect.Float64 || from == reflect.Complex64 && wide == reflect.Complex128
}

func signed(k reflect.Kind) bool   { return k >= reflect.Int && k <= reflect.Int64 }
func unsigned(k reflect.Kind) bool { return k >= reflect.Uint && k <= reflect.Uint64 }

// textAt returns the index of the text field at an offset.
func (s *shape) textAt(offset uintptr) int {
	return slices.IndexFunc(s.textFields, func(f textField) bool { return f.offset == offset })
}

// convertValues converts the values of some slots, one after the other, in the formats of memory. to holds
// what the fields that from lacks become.
func (c *conversion) convertValues(from, to []byte) {
	if len(from) == 0 {
		return // no field
	}
	slots := len(from) / int(c.from.size)
	for _, r := range c.runs {
		c.copyRun(r, from, to)
	}
	for _, w := range c.wider {
		for i := range uintptr(slots) {
			w.widen(unsafe.Pointer(&from[i*c.from.size+w.from]), unsafe.Pointer(&to[i*c.to.size+w.to]), w.n)
		}
	}
}

// copyRun copies a run of bytes of all values. Most runs are a single number.
func (c *conversion) copyRun(r run, from, to []byte) {
	for f, t := r.from, r.to; f < uintptr(len(from)); f, t = f+c.from.size, t+c.to.size {
		switch r.n {
		case 4:
			*(*[4]byte)(to[t:]) = *(*[4]byte)(from[f:])
		case 8:
			*(*[8]byte)(to[t:]) = *(*[8]byte)(from[f:])
		default:
			copy(to[t:t+r.n], from[f:f+r.n])
		}
	}
}

// widener widens n numbers.
type widener func(from, to unsafe.Pointer, n int)

// widenerOf returns the widener for two kinds that widensTo accepts.
func widenerOf(from, to reflect.Kind) widener {
	switch from {
	case reflect.Int8:
		return widenerFrom[int8](to)
	case reflect.Int16:
		return widenerFrom[int16](to)
	case reflect.Int32:
		return widenerFrom[int32](to)
	case reflect.Uint8:
		return widenerFrom[uint8](to)
	case reflect.Uint16:
		return widenerFrom[uint16](to)
	case reflect.Uint32:
		return widenerFrom[uint32](to)
	}
	return widenNumbers[float32, float64]
}

type widened interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func widenerFrom[F widened](to reflect.Kind) widener {
	switch to {
	case reflect.Int16:
		return widenNumbers[F, int16]
	case reflect.Int32:
		return widenNumbers[F, int32]
	case reflect.Uint16:
		return widenNumbers[F, uint16]
	case reflect.Uint32:
		return widenNumbers[F, uint32]
	case reflect.Uint64:
		return widenNumbers[F, uint64]
	}
	return widenNumbers[F, int64]
}

func widenNumbers[F, T widened](from, to unsafe.Pointer, n int) {
	source, target := unsafe.Slice((*F)(from), n), unsafe.Slice((*T)(to), n)
	for i, v := range source {
		target[i] = T(v)
	}
}
