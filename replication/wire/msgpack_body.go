package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
)

// element is what a message's array must hold at one place.
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

// handleElement is a handle: always the nine bytes of a uint64.
func handleElement(name string) element { return element{classHandle, 0, name} }

// bodyReader reads a message's array, each element as it is described. The first
// thing that is wrong sticks, and all that is read after it is zero: there is a
// message only if end finds nothing. Strings and byte slices are copies.
type bodyReader struct {
	rest     []byte
	elements []element // those to come
	err      error
}

func readBody(body []byte, elements []element) bodyReader {
	r := bodyReader{rest: body, elements: elements}
	h, ok := readHead(body)
	switch {
	case len(body) >= MaxStreamMessage:
		r.fail("body of %d bytes", len(body))
	case !ok || h.class != classArray || h.children != uint64(len(elements)):
		r.fail("message is not a msgpack array of %d elements", len(elements))
	default:
		r.rest = body[h.size:]
	}
	return r
}

func (r *bodyReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = bad(format, args...)
	}
}

// next returns the value of the next element, or what follows its head.
func (r *bodyReader) next() (value uint64, payload []byte) {
	if r.err != nil {
		return 0, nil
	}
	e := &r.elements[0]
	r.elements = r.elements[1:]
	h, ok := readHead(r.rest)
	switch {
	case !ok || h.bytes > len(r.rest)-h.size:
		r.fail("message ends inside %s", e.name)
	case e.class == classHandle && r.rest[0] == headUint64:
		value = h.value
		r.rest = r.rest[h.size:]
	case e.class != h.class:
		r.fail("%s has msgpack type %#x", e.name, r.rest[0])
	case h.value > e.limit || uint64(h.bytes) > e.limit:
		r.fail("%s is %d, at most %d is allowed", e.name, max(h.value, uint64(h.bytes)), e.limit)
	default:
		value, payload = h.value, r.rest[h.size:h.size+h.bytes]
		r.rest = r.rest[h.size+h.bytes:]
		if e.class == classString && !utf8.Valid(payload) {
			r.fail("%s is not UTF-8", e.name)
			payload = nil
		}
	}
	return value, payload
}

func (r *bodyReader) number() uint64 {
	v, _ := r.next()
	return v
}

func (r *bodyReader) handle() bulk.Handle { return bulk.Handle(r.number()) }

func (r *bodyReader) text() string {
	_, payload := r.next()
	return string(payload)
}

func (r *bodyReader) binary() []byte {
	_, payload := r.next()
	return bytes.Clone(payload)
}

// end says what was wrong with the message, if anything was.
func (r *bodyReader) end() error {
	if len(r.rest) > 0 {
		r.fail("%d bytes after the message", len(r.rest))
	}
	return r.err
}

// bodyWriter writes a message's array of fewer than 16 elements, each in its shortest
// form but for handles.
type bodyWriter struct {
	b        []byte
	from     int
	elements []element
}

func appendBody(b []byte, elements []element) bodyWriter {
	return bodyWriter{append(b, 0x90|byte(len(elements))), len(b), elements}
}

func (w *bodyWriter) number(v uint64) {
	switch {
	case v <= 0x7f:
		w.b = append(w.b, byte(v))
	case v <= math.MaxUint8:
		w.b = append(w.b, 0xcc, byte(v))
	case v <= math.MaxUint16:
		w.b = binary.BigEndian.AppendUint16(append(w.b, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		w.b = binary.BigEndian.AppendUint32(append(w.b, 0xce), uint32(v))
	default:
		w.b = binary.BigEndian.AppendUint64(append(w.b, headUint64), v)
	}
}

func (w *bodyWriter) handle(h bulk.Handle) {
	w.b = binary.BigEndian.AppendUint64(append(w.b, headUint64), uint64(h))
}

// text writes what is shorter than 64 KiB, as all that a reader takes is.
func (w *bodyWriter) text(s string) {
	switch n := len(s); {
	case n < 32:
		w.b = append(w.b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		w.b = append(w.b, 0xd9, byte(n))
	default:
		w.b = binary.BigEndian.AppendUint16(append(w.b, 0xda), uint16(n))
	}
	w.b = append(w.b, s...)
}

// binary writes what is shorter than 64 KiB, as all that a reader takes is.
func (w *bodyWriter) binary(p []byte) {
	if n := len(p); n <= math.MaxUint8 {
		w.b = append(w.b, 0xc4, byte(n))
	} else {
		w.b = binary.BigEndian.AppendUint16(append(w.b, 0xc5), uint16(n))
	}
	w.b = append(w.b, p...)
}

// end returns the bytes, and sees in a checked build that a reader takes them.
func (w *bodyWriter) end() []byte {
	if invariants.Enabled {
		r := readBody(w.b[w.from:], w.elements)
		for range w.elements {
			r.next()
		}
		invariants.Check(r.end())
	}
	return w.b
}

// clip shortens text to MaxText bytes, at the border of a character.
func clip(s string) string {
	if len(s) <= MaxText {
		return s
	}
	n := MaxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
