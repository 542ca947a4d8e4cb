package wire_test

// A decoder written from PROTOCOL.md alone: it calls nothing of the package,
// takes the message table from the page's text, and the schema from the
// canonical text of section 5. It must decode what the package writes, to
// exhaustion; what it says on the way is the annotation of the golden files.

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

type (
	strangerField struct {
		path, kind string
		n          int
		largest    uint64
		always     bool
		linear     bool
		words      int
	}
	strangerComponent struct {
		name   string
		fields []strangerField
		always bool
	}
	stranger struct {
		b     []byte
		bit   int
		notes []string
	}
)

func (s *stranger) fail(format string, args ...any) {
	panic(fmt.Errorf("bit %d: "+format, append([]any{s.bit}, args...)...))
}

// take reads n bits by section 2.
func (s *stranger) take(n int) uint64 {
	var v uint64
	for i := range n {
		if s.bit >= len(s.b)*8 {
			s.fail("ends")
		}
		v |= uint64(s.b[s.bit/8]>>(s.bit%8)&1) << i
		s.bit++
	}
	return v
}

func (s *stranger) note(from int, format string, args ...any) {
	where := fmt.Sprintf("byte %d", from/8)
	if from%8 != 0 || s.bit%8 != 0 {
		where = fmt.Sprintf("bit %d", from)
	}
	s.notes = append(s.notes, fmt.Sprintf("%-9s %-3d bits  %s", where, s.bit-from, fmt.Sprintf(format, args...)))
}

func (s *stranger) named(n int, name string) uint64 {
	from := s.bit
	v := s.take(n)
	s.note(from, "%s = %d", name, v)
	return v
}

func (s *stranger) uvarint(name string) uint64 {
	from := s.bit
	var v uint64
	for shift := 0; ; shift += 7 {
		c := s.take(8)
		v |= (c & 0x7f) << shift
		if c < 0x80 {
			if c == 0 && shift > 0 || v > 1<<32-1 {
				s.fail("%s: form of %d", name, v)
			}
			s.note(from, "%s = %d", name, v)
			return v
		}
		if shift == 28 {
			s.fail("%s: too long", name)
		}
	}
}

func (s *stranger) sized(name string) uint64 {
	from := s.bit
	c := int(s.take(2))
	v := s.take(4 << c)
	if c > 0 && v>>(4<<(c-1)) == 0 {
		s.fail("%s: %d is not in its shortest form", name, v)
	}
	s.note(from, "%s = %d", name, v)
	return v
}

// done checks the end of a bit string.
func (s *stranger) done() {
	left := len(s.b)*8 - s.bit
	if left >= 8 || s.take(left) != 0 {
		s.fail("%d bits left", left)
	}
}

// strangerSchema reads the canonical text of section 5.
func strangerSchema(t testing.TB, text string) []strangerComponent {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Equal(t, "worldd schema 1", lines[0])
	var all []strangerComponent
	for _, line := range lines[1:] {
		w := strings.Fields(line)
		if w[0] == "component" {
			all = append(all, strangerComponent{name: w[1]})
			continue
		}
		f := strangerField{path: w[0], kind: w[1], words: 1}
		if w[len(w)-1] == "always" {
			f.always = true
			w = w[:len(w)-1]
		}
		switch f.kind {
		case "bool":
			f.n = 1
		case "range":
			f.largest, _ = strconv.ParseUint(w[4], 10, 32)
			for f.largest>>f.n != 0 {
				f.n++
			}
		case "ref":
			f.words = 2
		default:
			f.n, _ = strconv.Atoi(w[2])
			f.words = (f.n + 31) / 32
			if f.n <= 32 && f.kind != "float" {
				f.largest = 1<<f.n - 1
				f.kind = "range" // a number
			}
		}
		c := &all[len(all)-1]
		c.fields = append(c.fields, f)
	}
	for i := range all {
		all[i].always = len(all[i].fields) == 0
		for _, f := range all[i].fields {
			all[i].always = all[i].always || f.always
		}
	}
	return all
}

// full reads a field in full, section 7.
func (s *stranger) full(c strangerComponent, f strangerField, out []uint32) {
	from, name := s.bit, c.name+"."+f.path
	switch {
	case f.kind == "ref":
		out[0], out[1] = 0, 0
		if s.take(1) == 1 {
			out[0], out[1] = uint32(s.sized(name+" index")), uint32(s.sized(name+" generation"))
			if out[0] >= 1<<24 || out[1]%2 == 0 {
				s.fail("%s: handle %d %d", name, out[0], out[1])
			}
			return
		}
		s.note(from, "%s = none", name)
	case f.words == 2:
		out[0], out[1] = uint32(s.take(32)), uint32(s.take(32))
		s.note(from, "%s = %#x", name, uint64(out[1])<<32|uint64(out[0]))
	default:
		out[0] = uint32(s.take(f.n))
		s.note(from, "%s = %d", name, out[0])
		if f.kind == "range" && uint64(out[0]) > f.largest {
			s.fail("%s: above %d", name, f.largest)
		}
	}
}

// change reads a field of a delta row, section 7; out holds the baseline.
func (s *stranger) change(c strangerComponent, f strangerField, out []uint32) {
	if f.always {
		s.full(c, f, out)
		return
	}
	from, name := s.bit, c.name+"."+f.path
	if s.take(1) == 0 {
		return
	}
	s.note(from, "%s changed", name)
	switch {
	case f.kind == "bool":
		out[0] = 1 - out[0]
	case f.kind == "range" && f.n > 4:
		from = s.bit
		class := int(s.take(2))
		s.note(from, "%s class %d", name, class)
		if class == 3 {
			s.full(c, f, out)
			return
		}
		w := 4 + 4*class
		if w >= f.n {
			s.fail("%s: class %d", name, class)
		}
		from = s.bit
		z := int64(s.take(w))
		if z < 1<<(4*class) {
			s.fail("%s: difference %d in class %d", name, z, class)
		}
		d := z / 2
		if z%2 == 1 {
			d = -(z + 1) / 2
		}
		ring := int64(f.largest) + 1
		out[0] = uint32(((int64(out[0])+d)%ring + ring) % ring)
		s.note(from, "%s difference %+d, so %d", name, d, out[0])
	default:
		s.full(c, f, out)
	}
}

func (s *stranger) fullRow(schema []strangerComponent) wire.Row {
	var row wire.Row
	for i, c := range schema {
		row.Mask |= uint32(s.named(1, "has "+c.name)) << i
	}
	for i, c := range schema {
		for _, f := range c.fields {
			out := make([]uint32, f.words)
			if row.Mask>>i&1 == 1 {
				s.full(c, f, out)
			}
			row.Words = append(row.Words, out...)
		}
	}
	return row
}

func (s *stranger) deltaRow(schema []strangerComponent, base wire.Row) wire.Row {
	row := wire.Row{Mask: base.Mask, Words: append([]uint32(nil), base.Words...)}
	at := 0
	for i, c := range schema {
		present := row.Mask>>i&1 == 1
		if present && !c.always {
			present = s.named(1, c.name+" changed") == 1
		}
		for _, f := range c.fields {
			if present {
				s.change(c, f, row.Words[at:at+f.words])
			}
			at += f.words
		}
	}
	return row
}

// state reads a State datagram, sections 8 and 9.
func (s *stranger) state(schema []strangerComponent, tenants map[uint32]tenant) []wire.Row {
	if s.named(8, "type") != 64 {
		s.fail("not a State datagram")
	}
	s.named(32, "echo")
	s.named(16, "hold")
	s.named(32, "seq")
	s.named(32, "tick")
	s.named(32, "structure")
	fold := uint32(s.named(16, "fold"))
	n := s.uvarint("rows")
	var rows []wire.Row
	var slot, x uint32
	for i := range n {
		gap := uint32(s.sized("gap"))
		code := uint8(s.named(5, "baseline code"))
		if slot += gap; i > 0 && gap == 0 {
			s.fail("slot %d twice", slot)
		}
		h := tenants[slot].handle
		base, ok := tenants[slot].baselines[code]
		if !ok {
			s.fail("slot %d, baseline %d", slot, code)
		}
		rows = append(rows, s.deltaRow(schema, base))
		x = (x ^ h.Index()) * 0x9e3779b1
		x ^= x >> 15
		x = (x ^ h.Generation()) * 0x85ebca77
		x ^= x >> 13
	}
	s.done()
	if (x^x>>16)&0xffff != fold {
		s.fail("fold %04x, want %04x", (x^x>>16)&0xffff, fold)
	}
	return rows
}

// structure reads the body of a Structure message, section 6.
func (s *stranger) structure(schema []strangerComponent) structureContent {
	c := structureContent{First: uint32(s.uvarint("first")), Tick: uint32(s.named(32, "tick"))}
	for s.bit < len(s.b)*8 {
		r := wire.Record{Op: wire.Op(s.named(8, "op")), Reason: wire.Reason(s.named(8, "reason"))}
		r.Handle = bulk.Handle(s.uvarint("index"))
		r.Handle |= bulk.Handle(s.uvarint("generation") << 32)
		if r.Op == 1 {
			r.Kind = uint32(s.uvarint("kind"))
			length := int(s.uvarint("row length"))
			r.Row = s.b[s.bit/8 : s.bit/8+length]
			row := stranger{b: s.b[:s.bit/8+length], bit: s.bit, notes: s.notes}
			c.Rows = append(c.Rows, row.fullRow(schema))
			row.done()
			s.bit, s.notes = s.bit+8*length, row.notes
		}
		c.Records = append(c.Records, r)
	}
	return c
}

// input reads an Input datagram, section 10.
func (s *stranger) input() wire.Input {
	if s.named(8, "type") != 65 {
		s.fail("not an Input datagram")
	}
	in := wire.Input{Stamp: uint32(s.named(32, "stamp"))}
	in.Ack.Seen = s.named(8, "seen") == 1
	in.Ack.Newest = uint32(s.named(32, "newest"))
	in.Ack.Mask = s.named(64, "mask")
	in.Ack.Structure = uint32(s.named(32, "structure"))
	for range s.uvarint("inputs") {
		t := wire.TickInput{Tick: uint32(s.named(32, "input tick")), Data: []byte{}}
		for range s.uvarint("input length") {
			t.Data = append(t.Data, byte(s.named(8, "input byte")))
		}
		in.Inputs = append(in.Inputs, t)
	}
	s.done()
	return in
}

// messageTable is the table of section 3: the msgpack elements by type.
func messageTable(t testing.TB) map[byte][]string {
	page, err := os.ReadFile("PROTOCOL.md")
	require.NoError(t, err)
	table := map[byte][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| \w+ \| \w+ to \w+ \| msgpack \[(.*)\] \|$`).FindAllStringSubmatch(string(page), -1) {
		kind, _ := strconv.Atoi(m[1])
		table[byte(kind)] = strings.Split(m[2], ", ")
	}
	require.Len(t, table, 8)
	return table
}

// message reads a msgpack body as the table says, and returns its values.
func (s *stranger) message(elements []string) (values []any) {
	if n := s.named(8, "array"); n != 0x90+uint64(len(elements)) {
		s.fail("array %#x for %d elements", n, len(elements))
	}
	big := func(bytes int) uint64 {
		var v uint64
		for range bytes {
			v = v<<8 | s.take(8)
		}
		return v
	}
	for _, e := range elements {
		from, w := s.bit, strings.Fields(e)
		c := s.take(8)
		switch w[1][0] {
		case 'u':
			v := c
			if c >= 0xcc && c <= 0xcf {
				v = big(1 << (c - 0xcc))
			} else if c > 0x7f {
				s.fail("%s: %#x", e, c)
			}
			if bits, _ := strconv.Atoi(w[1][1:]); bits < 64 && v>>bits != 0 {
				s.fail("%s: %d", e, v)
			}
			values = append(values, v)
			s.note(from, "%s = %d", w[0], v)
		case 'h':
			if c != 0xcf {
				s.fail("%s: %#x", e, c)
			}
			v := big(8)
			values = append(values, v)
			s.note(from, "%s = slot %d generation %d", w[0], v&(1<<32-1), v>>32)
		default:
			n := int(c & 0x1f)
			switch c {
			case 0xc4, 0xd9:
				n = int(big(1))
			case 0xc5, 0xda:
				n = int(big(2))
			}
			text := make([]byte, n)
			for i := range text {
				text[i] = byte(s.take(8))
			}
			values = append(values, string(text))
			s.note(from, "%s = %q", w[0], text)
		}
	}
	s.done()
	return values
}

// valuesOf are the fields of a message as the stranger gives them.
func valuesOf(message any) (values []any) {
	v := reflect.ValueOf(message)
	for i := range v.NumField() {
		if f := v.Field(i); f.CanUint() {
			values = append(values, f.Uint())
		} else {
			values = append(values, fmt.Sprintf("%s", f.Interface()))
		}
	}
	return values
}

// readByStranger decodes a sample to its end, and returns the annotation.
func readByStranger(t testing.TB, m sample) (notes []string) {
	schema := sampleSchema(t)
	theirs := strangerSchema(t, schema.Text())
	s := &stranger{b: m.bytes}
	defer func() {
		if err := recover(); err != nil {
			require.Fail(t, "the page and the package differ", "%s: %v\n%s", m.name, err, strings.Join(s.notes, "\n"))
		}
	}()
	switch m.name {
	case "state":
		_, tenants, rows := sampleState(t, schema)
		require.Equal(t, rows, s.state(theirs, tenants))
	case "structure":
		require.Equal(t, m.want, s.structure(theirs))
	case "input":
		require.Equal(t, m.want, s.input())
	case "resync":
		s.done()
	default:
		elements := messageTable(t)[m.kind]
		require.NotEmpty(t, elements, m.name)
		require.Equal(t, valuesOf(m.want), s.message(elements))
	}
	return s.notes
}

func TestConformance(t *testing.T) {
	for _, m := range samples(t) {
		t.Run(m.name, func(t *testing.T) { readByStranger(t, m) })
	}
}

func TestConformanceSchemaHash(t *testing.T) {
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](s, "body"))
	h := uint64(0xcbf29ce484222325)
	for _, c := range []byte(s.Text()) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	require.Equal(t, h, s.Hash())
	page, err := os.ReadFile("PROTOCOL.md")
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("has the hash `%016x`", h))
}

func TestConformanceFoldExample(t *testing.T) {
	page, err := os.ReadFile("PROTOCOL.md")
	require.NoError(t, err)
	m := regexp.MustCompile("17v3, 18v1, 500v7 is `([0-9a-f]{4})`").FindStringSubmatch(string(page))
	require.NotNil(t, m)
	var x uint32
	for _, h := range [][2]uint32{{17, 3}, {18, 1}, {500, 7}} {
		x = (x ^ h[0]) * 0x9e3779b1
		x ^= x >> 15
		x = (x ^ h[1]) * 0x85ebca77
		x ^= x >> 13
	}
	require.Equal(t, m[1], fmt.Sprintf("%04x", (x^x>>16)&0xffff))
}
