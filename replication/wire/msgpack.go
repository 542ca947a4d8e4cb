package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/internal/invariants"
)

// head is the decoded head of a msgpack value.
type head struct {
	class    class
	bytes    int    // payload bytes that follow the head
	children uint64 // values that follow
	value    uint64 // an unsigned integer's value
	size     int    // bytes of the head itself
}

// class is a msgpack type, as far as checks distinguish them.
type class uint8

const (
	classOther class = iota // nil, bool, float, negative integer
	classUint
	classString
	classBinary
	classArray
	classMap
	classBad // reserved, or an extension type
)

// readHead reads the head of the value at b[0]. ok is false if b is too short.
func readHead(b []byte) (h head, ok bool) {
	if len(b) == 0 {
		return head{}, false
	}
	c := b[0]
	switch {
	case c <= 0x7f:
		return head{class: classUint, value: uint64(c), size: 1}, true
	case c <= 0x8f:
		return head{class: classMap, children: 2 * uint64(c&0xf), size: 1}, true
	case c <= 0x9f:
		return head{class: classArray, children: uint64(c & 0xf), size: 1}, true
	case c <= 0xbf:
		return head{class: classString, bytes: int(c & 0x1f), size: 1}, true
	case c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		return head{class: classOther, size: 1}, true
	}
	width, kind := longHead(c)
	if len(b) < 1+width {
		return head{}, false
	}
	var n uint64
	switch width {
	case 1:
		n = uint64(b[1])
	case 2:
		n = uint64(binary.BigEndian.Uint16(b[1:]))
	case 4:
		n = uint64(binary.BigEndian.Uint32(b[1:]))
	case 8:
		n = binary.BigEndian.Uint64(b[1:])
	}
	h = head{class: kind, size: 1 + width}
	switch kind {
	case classUint:
		h.value = n
	case classString, classBinary:
		h.bytes = int(min(n, math.MaxInt32))
	case classArray:
		h.children = n
	case classMap:
		h.children = 2 * n
	}
	return h, true
}

// longHead returns the class of a head, and the number of its bytes after the first.
func longHead(c byte) (width int, kind class) {
	switch c {
	case 0xc4, 0xc5, 0xc6: // bin 8, 16, 32
		return 1 << (c - 0xc4), classBinary
	case 0xca, 0xcb: // float 32, 64
		return 4 << (c - 0xca), classOther
	case 0xcc, 0xcd, 0xce, 0xcf: // uint 8, 16, 32, 64
		return 1 << (c - 0xcc), classUint
	case 0xd0, 0xd1, 0xd2, 0xd3: // int 8, 16, 32, 64
		return 1 << (c - 0xd0), classOther
	case 0xd9, 0xda, 0xdb: // str 8, 16, 32
		return 1 << (c - 0xd9), classString
	case 0xdc, 0xdd: // array 16, 32
		return 2 << (c - 0xdc), classArray
	case 0xde, 0xdf: // map 16, 32
		return 2 << (c - 0xde), classMap
	}
	return 0, classBad // 0xc1, and the extension types 0xc7 to 0xc9, 0xd4 to 0xd8
}

// CheckMsgpack checks that b is exactly one well-formed msgpack value: nested at most
// MaxMsgpackDepth deep, with no count or length above the bytes left, no extension types and
// no trailing bytes. It neither allocates nor recurses. Check input with it before decoding,
// since decoders trust the counts they read.
func CheckMsgpack(b []byte) error {
	var open [MaxMsgpackDepth]uint64 // values still to come at each level
	depth, rest := 0, b
	for {
		h, ok := readHead(rest)
		switch {
		case !ok:
			return bad("msgpack ends inside a value, after %d bytes", len(b))
		case h.class == classBad:
			return bad("msgpack type %#x at byte %d is not allowed", rest[0], len(b)-len(rest))
		}
		rest = rest[h.size:]
		if h.bytes > len(rest) || h.children > uint64(len(rest)) {
			return bad("msgpack value at byte %d claims more than the %d bytes left", len(b)-len(rest)-h.size, len(rest))
		}
		rest = rest[h.bytes:]
		if h.children > 0 {
			if depth == MaxMsgpackDepth {
				return bad("msgpack is nested deeper than %d", MaxMsgpackDepth)
			}
			open[depth] = h.children
			depth++
			continue
		}
		for depth > 0 {
			open[depth-1]--
			if open[depth-1] > 0 {
				break
			}
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if len(rest) > 0 {
		return bad("%d bytes after the msgpack value", len(rest))
	}
	return nil
}

// element describes one element of a message's array.
type element struct {
	class class
	limit uint64 // largest integer, or longest string or binary
	name  string
}

func number(name string, limit uint64) element { return element{classUint, limit, name} }
func text(name string, limit uint64) element   { return element{classString, limit, name} }
func binaryOf(name string, limit uint64) element {
	return element{classBinary, limit, name}
}

// handleElement describes a handle: always the nine bytes of a uint64.
func handleElement(name string) element { return element{classOther, 0, name} }

// arity says whether the array of a message may have further elements.
type arity bool

const (
	exactly arity = false
	orMore  arity = true // a later version may append elements
)

// checkBody checks that body is one array with these elements, so that decoding it cannot
// overflow a field.
func checkBody(body []byte, elements []element, a arity) error {
	if err := CheckMsgpack(body); err != nil {
		return err
	}
	h, _ := readHead(body)
	if n := uint64(len(elements)); h.class != classArray || h.children < n || h.children > n && a == exactly {
		return bad("message is not a msgpack array of %d elements", len(elements))
	}
	rest := body[h.size:]
	for _, e := range elements {
		first := rest[0]
		h, _ := readHead(rest)
		payload := rest[h.size : h.size+h.bytes]
		rest = rest[h.size+h.bytes:]
		switch {
		case e.class == classOther && first == 0xcf:
		case e.class != h.class || e.class == classOther:
			return bad("%s has msgpack type %#x", e.name, first)
		case h.value > e.limit || uint64(h.bytes) > e.limit:
			return bad("%s is %d, at most %d is allowed", e.name, max(h.value, uint64(h.bytes)), e.limit)
		case e.class == classString && !utf8.Valid(payload):
			return bad("%s is not UTF-8", e.name)
		}
		if h.children > 0 {
			return bad("%s is nested", e.name)
		}
	}
	return nil
}

// decodeBody decodes body into the struct that v points to. Strings and byte
// slices are copies.
func decodeBody(body []byte, v any, elements []element, a arity) error {
	if len(body) >= MaxStreamMessage {
		return bad("body of %d bytes, at most %d are allowed", len(body), MaxStreamMessage-1)
	}
	if err := checkBody(body, elements, a); err != nil {
		return err
	}
	if a == orMore {
		body = prefix(body, len(elements))
	}
	if err := msgpack.NewDecoder(bytes.NewReader(body)).Decode(v); err != nil {
		return bad("%v", err)
	}
	return nil
}

// prefix returns the array of the first n elements, at most 15, of a checked body.
func prefix(body []byte, n int) []byte {
	h, _ := readHead(body)
	first := body[h.size:]
	rest := first
	for range n {
		h, _ := readHead(rest)
		rest = rest[h.size+h.bytes:]
	}
	return append([]byte{0x90 | byte(n)}, first[:len(first)-len(rest)]...)
}

// firstNumber returns the first element of the array in body, if it is an unsigned integer.
func firstNumber(body []byte) (uint64, bool) {
	h, ok := readHead(body)
	if !ok || h.class != classArray || h.children == 0 {
		return 0, false
	}
	h, ok = readHead(body[h.size:])
	return h.value, ok && h.class == classUint
}

// appendBody appends the struct that v points to as an array of its fields,
// integers in their shortest form.
func appendBody(b []byte, v any, elements []element) []byte {
	out := bytes.NewBuffer(b)
	e := msgpack.NewEncoder(out)
	e.UseArrayEncodedStructs(true)
	e.UseCompactInts(true)
	if err := e.Encode(v); err != nil {
		// Impossible: a bytes.Buffer never fails, and msgpack encodes our types.
		panic(err)
	}
	if invariants.Enabled {
		invariants.Check(checkBody(out.Bytes()[len(b):], elements, exactly))
	}
	return out.Bytes()
}

// clip makes s valid as a message's text: it replaces invalid UTF-8, which may stem from
// another client, and truncates s to MaxText bytes at a character boundary.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= MaxText {
		return s
	}
	n := MaxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
