package conformance

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// messageTable returns the msgpack elements of each message type, from section 3.
func messageTable(t testing.TB) map[byte][]string {
	page, err := os.ReadFile("../PROTOCOL.md")
	require.NoError(t, err)
	table := map[byte][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| \w+ \| \w+ to \w+ \| msgpack `+"`"+`\[(.*)\]`+"`"+` \|$`).FindAllStringSubmatch(string(page), -1) {
		kind, _ := strconv.Atoi(m[1])
		table[byte(kind)] = strings.Split(m[2], ", ")
	}
	require.Len(t, table, 10)
	return table
}

// message reads a msgpack body by the table, and returns its values. If more is set,
// further elements are ignored.
func (s *pageDecoder) message(elements []string, more bool) (values []any) {
	n := s.array()
	if n < uint64(len(elements)) || n > uint64(len(elements)) && !more && s.keeps(elementsExact) {
		s.fail("array of %d for %d elements", n, len(elements))
	}
	for _, e := range elements {
		from, w := s.bit, strings.Fields(e)
		switch v := s.element(w).(type) {
		case uint64:
			values = append(values, v)
			if w[1] == "handle" {
				s.note(from, "%s = slot %d generation %d", w[0], v&(1<<32-1), v>>32)
			} else {
				s.note(from, "%s = %d", w[0], v)
			}
		default:
			values = append(values, v)
			s.note(from, "%s = %q", w[0], v)
		}
	}
	if n == uint64(len(elements)) {
		s.expectEnd()
	} else if more && s.keeps(moreIsValues) {
		for range n - uint64(len(elements)) {
			s.skipValue(1)
		}
		s.expectEnd()
	}
	return values
}

// skipValue reads a msgpack value nested in depth arrays and maps, section 11.5.
func (s *pageDecoder) skipValue(within int) {
	c, n := s.read(8), uint64(0)
	switch {
	case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3:
		return
	case c>>4 == 8:
		n = 2 * (c & 15)
	case c>>4 == 9:
		n = c & 15
	case c == 0xdc, c == 0xdd:
		n = s.big(2 << (c - 0xdc))
	case c == 0xde, c == 0xdf:
		n = 2 * s.big(2<<(c-0xde))
	case c>>5 == 5:
		s.take("text", c&31)
	case c >= 0xc4 && c <= 0xc6:
		s.take("bytes", s.big(1<<(c-0xc4)))
	case c >= 0xd9 && c <= 0xdb:
		s.take("text", s.big(1<<(c-0xd9)))
	case c == 0xca, c == 0xcb:
		s.take("number", 4<<(c-0xca))
	case c >= 0xcc && c <= 0xd3:
		s.take("number", 1<<(c&3))
	default:
		s.fail("%#x", c)
	}
	if n > 0 && within == 16 {
		s.fail("deeper than 16")
	}
	for range n {
		s.skipValue(within + 1)
	}
}

// big reads a big-endian number.
func (s *pageDecoder) big(bytes int) uint64 {
	var v uint64
	for range bytes {
		v = v<<8 | s.read(8)
	}
	return v
}

// array reads the head of an array and returns its length.
func (s *pageDecoder) array() uint64 {
	switch c := s.readNamed(8, "array"); {
	case c>>4 == 9:
		return c & 15
	case c == 0xdc:
		return s.readNamed(8, "high")<<8 | s.readNamed(8, "low")
	case c == 0xdd:
		return s.big(4)
	}
	s.fail("not an array")
	return 0
}

// element reads an element, given the words that describe it in section 3: its name, its
// type, and perhaps its bounds.
func (s *pageDecoder) element(w []string) any {
	least, most := elementBounds(w)
	c := s.read(8)
	if w[1] == "handle" {
		if c != 0xcf && s.keeps(handleForm) {
			s.fail("%v: %#x", w, c)
		}
		return s.unsigned(w, c)
	}
	if w[1][0] == 'u' {
		v := s.unsigned(w, c)
		if v > most && s.keeps(elementsInRange) {
			s.fail("%v: %d", w, v)
		}
		return v
	}
	n := s.length(w, c)
	if (n < least || n > most) && s.keeps(lengthsInRange) {
		s.fail("%v: %d bytes", w, n)
	}
	v := s.take(w[0], n)
	if w[1] == "str" && !utf8.Valid(v) && s.keeps(textIsUTF8) {
		s.fail("%v: not UTF-8", w)
	}
	return string(v)
}

// elementBounds returns the bounds of a number or a length.
func elementBounds(w []string) (least, most uint64) {
	last := w[len(w)-1]
	from, to, isRange := strings.Cut(last, "..")
	switch {
	case last == "2^40":
		most = 1<<40 - 1
	case isRange:
		least, _ = strconv.ParseUint(from, 10, 64)
		most, _ = strconv.ParseUint(to, 10, 64)
	case len(w) > 2:
		most, _ = strconv.ParseUint(last, 10, 64)
	case w[1][0] == 'u':
		n, _ := strconv.Atoi(w[1][1:])
		most = 1<<n - 1
	}
	return least, most
}

// unsigned reads the rest of an unsigned number that begins with c.
func (s *pageDecoder) unsigned(w []string, c uint64) uint64 {
	switch {
	case c <= 0x7f:
		return c
	case c >= 0xcc && c <= 0xcf:
		v := s.big(1 << (c - 0xcc))
		if !s.keeps(anyUnsignedForm) && v>>(4<<(c-0xcc)) == 0 {
			s.fail("%v: %d is not in its shortest form", w, v)
		}
		return v
	case c >= 0xd0 && c <= 0xd3 && !s.keeps(unsignedFormsOnly):
		return s.big(1 << (c - 0xd0))
	}
	s.fail("%v: %#x", w, c)
	return 0
}

// length returns the number of bytes of a str or bin that begins with c.
func (s *pageDecoder) length(w []string, c uint64) uint64 {
	str, bin := w[1] == "str", w[1] == "bin" || !s.keeps(binIsNotStr)
	switch {
	case str && c>>5 == 5:
		return c & 31
	case str && c >= 0xd9 && c <= 0xdb:
		return s.big(1 << (c - 0xd9))
	case bin && c >= 0xc4 && c <= 0xc6:
		return s.big(1 << (c - 0xc4))
	case bin && c == 0xc0 && !s.keeps(binIsNotNil):
		return 0
	}
	s.fail("%v: %#x", w, c)
	return 0
}
