package world

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
)

const (
	// maxForeignBytes bounds the size of a value whose type this program lacks.
	maxForeignBytes = 1 << 16
	// maxDepth bounds the nesting of structs and arrays in such a type.
	maxDepth = 32
)

// node is a component type, or a part of one, as a tree that a program can compare with its
// own. It is made from a Go type or from the text of a shape.
type node struct {
	kind   reflect.Kind // Struct, Array, String, Slice (of bytes) or a number
	handle bool         // a number that names an entity
	size   uintptr
	align  uintptr
	fields []member // of a Struct, without blank fields
	elem   *node    // of an Array
	length int      // of an Array
	padded bool     // a Struct has blank fields
}

// member is a field of a struct.
type member struct {
	name   string
	was    []string // former names
	offset uintptr
	*node
}

// nodeOf returns the tree of a type that Register accepted.
func nodeOf(t reflect.Type) *node {
	n := &node{kind: t.Kind(), size: t.Size(), align: uintptr(t.Align())}
	switch {
	case n.kind == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				n.padded = true
				continue
			}
			was, _ := formerNames(f) // Register has checked the tag
			n.fields = append(n.fields, member{f.Name, was, f.Offset, nodeOf(f.Type)})
		}
	case n.kind == reflect.Array:
		n.elem, n.length = nodeOf(t.Elem()), t.Len()
	case t == reflect.TypeFor[bulk.Handle]():
		n.handle = true
	}
	return n
}

// text describes a part of a type for people, without offsets and sizes.
func (n *node) text() string {
	switch n.kind {
	case reflect.Struct:
		var fields []string
		for _, f := range n.fields {
			fields = append(fields, f.name+" "+f.text())
		}
		return "{" + strings.Join(fields, "; ") + "}"
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", n.length, n.elem.text())
	case reflect.Slice:
		return "[]byte"
	}
	if n.handle {
		return "handle"
	}
	return n.kind.String()
}

// isText reports whether n is a text: a string or []byte, whose bytes are outside the
// value.
func (n *node) isText() bool { return n.kind == reflect.String || n.kind == reflect.Slice }

// sameFields reports whether two types have the same fields in the same order, at any
// offsets.
func (n *node) sameFields(o *node) bool {
	if n.kind != o.kind || n.handle != o.handle || n.length != o.length {
		return false
	}
	if n.elem != nil && !n.elem.sameFields(o.elem) {
		return false
	}
	return slices.EqualFunc(n.fields, o.fields, func(a, b member) bool { return a.name == b.name && a.node.sameFields(b.node) })
}

// sameMemory reports whether two types have the same fields at the same offsets.
func (n *node) sameMemory(o *node) bool {
	if n.kind != o.kind || n.handle != o.handle || n.length != o.length || n.size != o.size || n.padded || o.padded {
		return false
	}
	if n.elem != nil && !n.elem.sameMemory(o.elem) {
		return false
	}
	return slices.EqualFunc(n.fields, o.fields, func(a, b member) bool {
		return a.name == b.name && a.offset == b.offset && a.node.sameMemory(b.node)
	})
}

// shapeOf returns the shape of n, for values whose type this program may lack.
func (n *node) shapeOf() shape {
	s := shape{size: n.size}
	n.appendTo(&s.layout, 0)
	s.complete()
	return s
}

func (n *node) appendTo(l *layout, offset uintptr) {
	switch {
	case n.kind == reflect.Struct:
		for _, f := range n.fields {
			f.appendTo(l, offset+f.offset)
		}
	case n.kind == reflect.Array:
		for i := range n.length {
			n.elem.appendTo(l, offset+uintptr(i)*n.elem.size)
		}
	case n.isText():
		l.textFields = append(l.textFields, textField{offset, n.kind == reflect.Slice})
	default:
		l.numbers = append(l.numbers, numbers(n.fixedKind(), offset)...)
	}
}

// fixedKind returns the kind of a number. For int and uint it includes the size, which
// depends on the machine that wrote the number.
func (n *node) fixedKind() reflect.Kind {
	switch {
	case n.kind == reflect.Int && n.size == 4:
		return reflect.Int32
	case n.kind == reflect.Int:
		return reflect.Int64
	case n.kind == reflect.Uint && n.size == 4:
		return reflect.Uint32
	case n.kind == reflect.Uint:
		return reflect.Uint64
	}
	return n.kind
}

// errShape reports a text that shapeText does not write.
var errShape = errors.New("it has no meaning")

// parseShape parses the text of a shape, which may come from a file. size is the size of values, or 0 if
// the file does not say it.
func parseShape(text string, size uintptr) (*node, error) {
	p := shapeParser{text: text}
	n := p.node(0)
	switch {
	case p.failed || p.text != "":
		return nil, fmt.Errorf("%w near %.40q", errShape, p.text)
	case size != 0 && size < n.size || max(size, n.size) > maxForeignBytes:
		return nil, fmt.Errorf("%w: %d bytes for fields of %d; at most %d", errShape, size, n.size, maxForeignBytes)
	}
	n.size = cmp.Or(size, n.size)
	return n, nil
}

// shapeParser parses the text of a shape. After a failure it returns empty nodes.
type shapeParser struct {
	text   string // unread
	nodes  int
	failed bool
}

// accept skips prefix and reports whether it was there.
func (p *shapeParser) accept(prefix string) bool {
	rest, found := strings.CutPrefix(p.text, prefix)
	if found {
		p.text = rest
	}
	return found
}

// until returns the text before end, and skips both.
func (p *shapeParser) until(end string) string {
	text, rest, found := strings.Cut(p.text, end)
	if !found {
		p.failed = true
	}
	p.text = rest
	return text
}

// number parses a decimal number that does not exceed most.
func (p *shapeParser) number(digits string, most uintptr) uintptr {
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || uintptr(n) > most {
		p.failed = true
		return 0
	}
	return uintptr(n)
}

func (p *shapeParser) node(depth int) *node {
	n := &node{kind: reflect.Struct, align: 1}
	p.nodes++
	if p.failed || depth > maxDepth || p.nodes > maxForeignBytes {
		p.failed = true
		return n
	}
	switch {
	case p.accept("{"):
		p.fields(n, depth)
	case p.accept("["):
		n.kind, n.length = reflect.Array, int(p.number(p.until("]"), maxForeignBytes))
		n.elem = p.node(depth + 1)
		n.align = n.elem.align
		n.size = uintptr(n.length) * n.elem.size
		p.failed = p.failed || n.size > maxForeignBytes
	case p.accept("handle"):
		n.kind, n.handle, n.size, n.align = reflect.Uint64, true, 8, 8
	default:
		p.leaf(n)
	}
	return n
}

// fields parses the fields of a struct, and lays it out as Go does on 64-bit processors.
func (p *shapeParser) fields(n *node, depth int) {
	last := uintptr(1) // size of the last field
	for first := true; !p.failed && !p.accept("}"); first = false {
		if !first && !p.accept("; ") {
			p.failed = true
			return
		}
		f := member{name: p.until("@")}
		f.offset = p.number(p.until(" "), maxForeignBytes)
		f.node = p.node(depth + 1)
		if f.name == "" || f.offset < n.size || slices.ContainsFunc(n.fields, func(o member) bool { return o.name == f.name }) {
			p.failed = true
			return
		}
		n.size, n.align, last = f.offset+f.size, max(n.align, f.align), f.size
		if f.name == "_" {
			n.padded = true
			continue
		}
		n.fields = append(n.fields, f)
	}
	if last == 0 && n.size > 0 { // the address of the last field is inside the struct
		n.size++
	}
	n.size = (n.size + n.align - 1) / n.align * n.align
}

// leaf parses a number or a text: kind:size.
func (p *shapeParser) leaf(n *node) {
	name := p.until(":")
	digits := len(p.text) - len(strings.TrimLeft(p.text, "0123456789"))
	n.size = p.number(p.text[:digits], 16+8)
	p.text = p.text[digits:]
	for k := reflect.Bool; k <= reflect.Complex128; k++ {
		if k.String() == name && k != reflect.Uintptr {
			n.kind = k
		}
	}
	switch name {
	case "string":
		n.kind = reflect.String
	case "slice":
		n.kind = reflect.Slice
	}
	n.align = min(n.size, 8)
	switch n.kind {
	case reflect.Struct:
		p.failed = true
	case reflect.Int, reflect.Uint:
		p.failed = p.failed || n.size != 4 && n.size != 8
	case reflect.String:
		p.failed = p.failed || n.size != 8 && n.size != 16
		n.align = n.size / 2
	case reflect.Slice:
		p.failed = p.failed || n.size != 12 && n.size != 24
		n.align = n.size / 3
	case reflect.Complex64, reflect.Complex128:
		n.align = n.size / 2
		p.failed = p.failed || n.align != numbers(n.kind, 0)[1].offset
	default:
		p.failed = p.failed || n.size != number{kind: n.kind}.size()
	}
	n.align = max(n.align, 1)
}
