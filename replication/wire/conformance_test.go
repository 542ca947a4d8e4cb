package wire_test

// An independent decoder, written from PROTOCOL.md alone. It calls nothing of the
// package, and takes the message table from the page and the schema from the text of
// section 5. It must decode everything that the package writes. Its notes annotate
// the golden files.

import (
	"fmt"
	"math/bits"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	rowschema "github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type (
	pageField struct {
		path, kind string
		n          int
		largest    uint64
		always     bool
		linear     bool
		owner      bool
		values     int
	}
	pageComponent struct {
		name   string
		fields []pageField
		parent string // path of the position that follows the parent
		holder int    // index of the parent's handle
	}
	pageDecoder struct {
		b     []byte
		bit   int
		notes []string
	}
)

func (s *pageDecoder) fail(format string, args ...any) {
	panic(fmt.Errorf("bit %d: "+format, append([]any{s.bit}, args...)...))
}

// read reads n bits, section 2.
func (s *pageDecoder) read(n int) uint64 {
	var v uint64
	for i := range n {
		if s.bit >= len(s.b)*8 {
			s.fail("ends early")
		}
		v |= uint64(s.b[s.bit/8]>>(s.bit%8)&1) << i
		s.bit++
	}
	return v
}

func (s *pageDecoder) note(from int, format string, args ...any) {
	where := fmt.Sprintf("byte %d", from/8)
	if from%8 != 0 || s.bit%8 != 0 {
		where = fmt.Sprintf("bit %d", from)
	}
	s.notes = append(s.notes, fmt.Sprintf("%-9s %-3d bits  %s", where, s.bit-from, fmt.Sprintf(format, args...)))
}

func (s *pageDecoder) readNamed(n int, name string) uint64 {
	from := s.bit
	v := s.read(n)
	s.note(from, "%s = %d", name, v)
	return v
}

func (s *pageDecoder) uvarint(name string) uint64 {
	from := s.bit
	var v uint64
	for shift := 0; ; shift += 7 {
		c := s.read(8)
		v |= (c & 0x7f) << shift
		if c < 0x80 {
			if c == 0 && shift > 0 || v > 1<<32-1 {
				s.fail("%s: %d is not in its shortest form", name, v)
			}
			s.note(from, "%s = %d", name, v)
			return v
		}
		if shift == 28 {
			s.fail("%s: too long", name)
		}
	}
}

func (s *pageDecoder) sized(name string) uint64 {
	from := s.bit
	c := int(s.read(2))
	v := s.read(4 << c)
	if c > 0 && v>>(4<<(c-1)) == 0 {
		s.fail("%s: %d is not in its shortest form", name, v)
	}
	s.note(from, "%s = %d", name, v)
	return v
}

// expectEnd checks the end of a bit string.
func (s *pageDecoder) expectEnd() {
	left := len(s.b)*8 - s.bit
	if left >= 8 || s.read(left) != 0 {
		s.fail("%d bits left", left)
	}
}

// parseSchemaText reads a schema's text, section 5.
func parseSchemaText(t testing.TB, text string) []pageComponent {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Equal(t, "worldd schema 2", lines[0])
	var all []pageComponent
	firstIndex := map[string]int{} // of the last component's fields, by path
	index := 0
	for _, line := range lines[1:] {
		w := strings.Fields(line)
		switch w[0] {
		case "component":
			all = append(all, pageComponent{name: w[1]})
			clear(firstIndex)
			continue
		case "parent":
			c := &all[len(all)-1]
			c.parent, c.holder = w[1], firstIndex[w[2]]
			continue
		case "kind", "motion", "input": // what follows is not part of rows
			return all
		}
		if w[1] == "string" || w[1] == "bytes" {
			continue
		}
		f := pageField{path: w[0], kind: w[1], values: 1}
		if w[len(w)-1] == "owner" {
			f.owner, w = true, w[:len(w)-1]
		}
		if last := w[len(w)-1]; last == "always" || last == "linear" {
			f.always, f.linear = last == "always", last == "linear"
			w = w[:len(w)-1]
		}
		switch f.kind {
		case "bool":
			f.n = 1
		case "ref":
			f.values = 2
		case "range":
			f.largest, _ = strconv.ParseUint(w[4], 10, 32)
			f.n = bits.Len64(f.largest)
		case "enum":
			k, _ := strconv.ParseUint(w[2], 10, 32)
			f.largest, f.n = k-1, bits.Len64(k-1)
		default:
			f.n, _ = strconv.Atoi(w[2])
			f.values = (f.n + 31) / 32
			f.largest = 1<<f.n - 1
		}
		firstIndex[f.path] = index
		index += f.values
		c := &all[len(all)-1]
		c.fields = append(c.fields, f)
	}
	return all
}

// full reads a field in full, section 7.
func (s *pageDecoder) full(c pageComponent, f pageField, out []uint32) {
	from, name := s.bit, c.name+"."+f.path
	switch {
	case f.kind == "ref":
		out[0], out[1] = 0, 0
		if s.read(1) == 1 {
			out[0], out[1] = uint32(s.sized(name+" index")), uint32(s.sized(name+" generation"))
			if out[0] >= 1<<24 || out[1]%2 == 0 {
				s.fail("%s: handle %d %d", name, out[0], out[1])
			}
			return
		}
		s.note(from, "%s = none", name)
	case f.values == 2:
		out[0], out[1] = uint32(s.read(32)), uint32(s.read(32))
		s.note(from, "%s = %#x", name, uint64(out[1])<<32|uint64(out[0]))
	case f.kind == "quat":
		out[0] = uint32(s.read(2 + 3*f.n))
		s.note(from, "%s = %#x", name, out[0])
	default:
		out[0] = uint32(s.read(f.n))
		s.note(from, "%s = %d", name, out[0])
		if f.kind != "bool" && uint64(out[0]) > f.largest {
			s.fail("%s: above %d", name, f.largest)
		}
	}
}

func (s *pageDecoder) fullRow(schema []pageComponent, owned bool) rowschema.Row {
	mask := uint32(0)
	for i, c := range schema {
		mask |= uint32(s.readNamed(1, "has "+c.name)) << i
	}
	return s.wholeRow(schema, mask, owned)
}

// wholeRow reads a row in full whose mask is known.
func (s *pageDecoder) wholeRow(schema []pageComponent, mask uint32, owned bool) rowschema.Row {
	row := rowschema.Row{Mask: mask, Owned: owned}
	for i, c := range schema {
		for _, f := range c.fields {
			out := make([]uint32, f.values)
			if mask>>i&1 == 1 && (owned || !f.owner) {
				s.full(c, f, out)
			}
			row.Values = append(row.Values, out...)
		}
	}
	return row
}

// golomb reads section 2's golomb(k, v).
func (s *pageDecoder) golomb(k int, name string) uint64 {
	from, ones := s.bit, 0
	for s.read(1) == 1 {
		if ones++; ones+k > 32 {
			s.fail("%s: too long", name)
		}
	}
	v := uint64(1)<<(ones+k) + s.read(ones+k) - 1<<k
	if v > 1<<32-1 {
		s.fail("%s: %d", name, v)
	}
	s.note(from, "%s = %d", name, v)
	return v
}

// baseline reads a baseline, section 8.
func (s *pageDecoder) baseline(tick uint64) (age, gap uint64) {
	if age = s.golomb(4, "age"); age >= tick {
		s.fail("age %d at tick %d", age, tick)
	}
	if age > 0 {
		if gap = s.golomb(2, "gap"); gap >= tick-age {
			s.fail("gap %d before tick %d", gap, tick-age)
		}
	}
	return age, gap
}

// pageRow is a row of a State datagram.
type pageRow struct {
	entity   tenant
	age, gap uint64
	past     *pagePast
	now      rowschema.Row
}

// state reads a State datagram, sections 8 and 9.
func (s *pageDecoder) state(schema []pageComponent, tables *codingTables, tenants map[uint32]tenant) []rowschema.Row {
	if s.readNamed(8, "type") != 64 {
		s.fail("not a State datagram")
	}
	s.readNamed(32, "echo")
	s.readNamed(16, "hold")
	s.readNamed(32, "seq")
	tick := s.readNamed(32, "tick")
	s.readNamed(32, "structure")
	if age := s.uvarint("input age"); age > tick+1 {
		s.fail("input age %d at tick %d", age, tick)
	}
	flags := s.readNamed(8, "flags")
	fold := uint32(s.readNamed(16, "fold"))
	switch flags {
	case 0:
	case 1:
		s.events()
	default:
		s.fail("flags %d", flags)
	}
	n := s.uvarint("rows")
	var rows []*pageRow
	var x uint32
	load := 0
	if n > 0 {
		k := int(s.readNamed(4, "order of skips"))
		usualAge, usualGap := s.baseline(tick)
		slot := uint32(0)
		for range n {
			slot += uint32(s.golomb(k, "skip"))
			row := &pageRow{entity: tenants[slot], age: usualAge, gap: usualGap}
			if s.readNamed(1, "own baseline") == 1 {
				if row.age, row.gap = s.baseline(tick); row.age == usualAge && row.gap == usualGap {
					s.fail("own baseline equals the usual one")
				}
			}
			rows = append(rows, row)
			slot++
			load += rowLoad(schema, row.entity.mask)
			x = (x ^ row.entity.handle.Index()) * 0x9e3779b1
			x ^= x >> 15
			x = (x ^ row.entity.handle.Generation()) * 0x85ebca77
			x ^= x >> 13
		}
	}
	if (x^x>>16)&0xffff != fold {
		s.fail("fold %04x, want %04x", (x^x>>16)&0xffff, fold)
	}
	if n > 256 || load > 1280 {
		s.fail("%d rows of load %d", n, load)
	}
	s.rows(schema, tables, uint32(tick), rows)
	s.expectEnd()
	var all []rowschema.Row
	for _, row := range rows {
		all = append(all, row.now)
	}
	return all
}

// events reads the events of a State datagram, section 8.
func (s *pageDecoder) events() {
	length := int(s.uvarint("bytes of events"))
	end := s.bit + 8*length
	for ok := true; ok; ok = s.bit < end {
		if s.uvarint("event") >= 256 {
			s.fail("event number")
		}
		s.uvarint("event age")
		s.bytes("event body", 1024)
	}
	if s.bit != end {
		s.fail("events end at bit %d", end)
	}
}

// bytes reads a length and so many bytes.
func (s *pageDecoder) bytes(name string, most int) []byte {
	n := int(s.uvarint(name + " length"))
	if n > most || s.bit/8+n > len(s.b) {
		s.fail("%s of %d bytes", name, n)
	}
	s.bit += 8 * n
	return s.b[s.bit/8-n : s.bit/8]
}

// rowLoad returns the load of a row, section 8.
func rowLoad(schema []pageComponent, mask uint32) int {
	load, values := 1, 0
	for i, c := range schema {
		quats := 0
		for _, f := range c.fields {
			values += f.values
			if f.kind == "quat" {
				quats++
			}
		}
		if mask>>i&1 == 0 {
			continue
		}
		load += 2 + len(c.fields)/12 + 2*quats
		if c.parent != "" {
			load += 6
		}
	}
	return load + values/256
}

// parent returns the parent that a row's base names, and in which component.
func (row *pageRow) parent(schema []pageComponent) (int, bulk.Handle) {
	for i, c := range schema {
		if row.past != nil && c.parent != "" && row.entity.mask>>i&1 == 1 {
			return i, bulk.NewHandle(row.past.base[c.holder], row.past.base[c.holder+1])
		}
	}
	return 0, 0
}

// rows reads the rows themselves, anchored ones last.
func (s *pageDecoder) rows(schema []pageComponent, tables *codingTables, tick uint32, rows []*pageRow) {
	for _, row := range rows {
		if row.age == 0 {
			continue
		}
		base := tick - uint32(row.age)
		if row.past = (&pagePast{base: row.entity.states[base]}); row.past.base == nil {
			s.fail("%v has no state of tick %d", row.entity.handle, base)
		}
		if row.gap > 0 {
			if row.past.older = row.entity.states[base-uint32(row.gap)]; row.past.older == nil {
				s.fail("%v has no state of tick %d", row.entity.handle, base-uint32(row.gap))
			}
			row.past.r = min(int64(row.age)<<16/int64(row.gap), 32<<16)
		}
	}
	anchors := map[*pageRow]*pageRow{}
	for _, row := range rows {
		component, h := row.parent(schema)
		for _, other := range rows {
			_, grandparent := other.parent(schema)
			if h != 0 && other.entity.handle == h && other.age == row.age && other.gap == row.gap &&
				other.entity.mask>>component&1 == 1 && grandparent == 0 {
				anchors[row], row.past.anchored = other, component
			}
		}
	}
	for pass := range 2 {
		for _, row := range rows {
			anchor := anchors[row]
			if (anchor == nil) != (pass == 0) {
				continue
			}
			from := s.bit
			if row.age == 0 {
				row.now = s.wholeRow(schema, row.entity.mask, false)
				continue
			}
			if anchor != nil {
				row.past.anchor = &[3][]uint32{anchor.now.Values, anchor.past.base, anchor.past.older}
			}
			row.now = rowschema.Row{Mask: row.entity.mask, Values: make([]uint32, len(row.past.base))}
			s.codedRow(tables, codecParts(schema, false), row.entity.mask, row.past, row.now.Values)
			s.note(from, "row of %v: %v", row.entity.handle, row.now.Values)
		}
	}
}

// structure reads the body of a Structure message, section 6.
func (s *pageDecoder) structure(schema []pageComponent) structureContent {
	c := structureContent{First: uint32(s.uvarint("first")), Ticks: uint32(s.uvarint("ticks"))}
	for s.bit < len(s.b)*8 {
		c.Records = append(c.Records, s.record(schema, &c))
	}
	return c
}

func (s *pageDecoder) record(schema []pageComponent, c *structureContent) wire.Record {
	head := s.readNamed(8, "op and detail")
	r, detail := wire.Record{Op: wire.Op(head & 7)}, head>>3
	handle := func() {
		r.Handle = bulk.Handle(s.uvarint("index"))
		r.Handle |= bulk.Handle(s.uvarint("generation") << 32)
	}
	number := func() {
		if r.Number = uint32(detail); detail == 31 {
			r.Number += uint32(s.uvarint("number"))
		}
	}
	switch r.Op {
	case 1:
		handle()
		r.Owned, r.Kind = detail&1 == 1, uint32(s.uvarint("kind"))
		length := int(s.uvarint("row length"))
		r.Row = s.b[s.bit/8 : s.bit/8+length]
		row := pageDecoder{b: s.b[:s.bit/8+length], bit: s.bit, notes: s.notes}
		c.Rows = append(c.Rows, row.fullRow(schema, r.Owned))
		row.expectEnd()
		s.bit, s.notes = s.bit+8*length, row.notes
		if detail&2 == 2 {
			r.Data = s.bytes("texts", 8192)
		}
	case 2:
		r.Reason = wire.Reason(detail)
		handle()
	case 3:
		if handle(); detail == 1 {
			r.Cause = uint8(s.readNamed(8, "cause"))
		}
	case 4:
		number()
		handle()
		r.Data = s.bytes("text", 1024)
	case 5:
		number()
		r.Data = s.bytes("event", 1024)
	case 6:
		if r.Number = uint32(s.uvarint("provisional index")); detail == 1 {
			handle()
		}
	default:
		s.fail("op %d", r.Op)
	}
	return r
}

// input reads an Input datagram, section 10.
func (s *pageDecoder) input() wire.Input {
	if s.readNamed(8, "type") != 65 {
		s.fail("not an Input datagram")
	}
	in := wire.Input{Stamp: uint32(s.readNamed(32, "stamp"))}
	in.Ack.Seen = s.readNamed(8, "seen") == 1
	in.Ack.Newest = uint32(s.readNamed(32, "newest"))
	in.Ack.Mask = s.readNamed(64, "mask")
	in.Ack.Structure = uint32(s.readNamed(32, "structure"))
	for range s.uvarint("inputs") {
		t := wire.TickInput{Tick: uint32(s.readNamed(32, "input tick")), Data: []byte{}}
		if t.Back = uint32(s.uvarint("view")); t.Back > 0 {
			t.Fraction = uint8(s.readNamed(8, "view fraction"))
		}
		for range s.uvarint("input length") {
			t.Data = append(t.Data, byte(s.readNamed(8, "input byte")))
		}
		in.Inputs = append(in.Inputs, t)
	}
	s.expectEnd()
	return in
}

// messageTable returns the msgpack elements of each message type, from section 3.
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
func (s *pageDecoder) message(elements []string) (values []any) {
	n := s.readNamed(8, "array") - 0x90
	if n == 0xdc-0x90 {
		n = s.readNamed(8, "high") << 8
		n |= s.readNamed(8, "low")
	}
	if n != uint64(len(elements)) {
		s.fail("array of %d for %d elements", n, len(elements))
	}
	big := func(bytes int) uint64 {
		var v uint64
		for range bytes {
			v = v<<8 | s.read(8)
		}
		return v
	}
	for _, e := range elements {
		from, w := s.bit, strings.Fields(e)
		c := s.read(8)
		switch w[1][0] {
		case 'u':
			v := c
			if c >= 0xcc && c <= 0xcf {
				v = big(1 << (c - 0xcc))
			} else if c > 0x7f {
				s.fail("%s: %#x", e, c)
			}
			if width, err := strconv.Atoi(w[1][1:]); err == nil && width < 64 && v>>width != 0 {
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
				text[i] = byte(s.read(8))
			}
			values = append(values, string(text))
			s.note(from, "%s = %q", w[0], text)
		}
	}
	s.expectEnd()
	return values
}

// valuesOf returns the fields of a message in the form that pageDecoder.message returns.
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

// decodeByPage decodes a sample and returns the decoder's notes.
func decodeByPage(t testing.TB, m sample) (notes []string) {
	schema := rowtest.SampleSchema()
	components := parseSchemaText(t, schema.Text())
	s := &pageDecoder{b: m.bytes}
	defer func() {
		if err := recover(); err != nil {
			require.Fail(t, "page and package differ", "%s: %v\n%s", m.name, err, strings.Join(s.notes, "\n"))
		}
	}()
	switch m.name {
	case "state":
		_, tenants, rows := sampleState(t, schema)
		tables := readTables(rowcodec.DefaultTables().Bytes())
		require.Equal(t, rows, s.state(components, &tables, tenants))
	case "structure":
		require.Equal(t, m.want, s.structure(components))
	case "input":
		require.Equal(t, m.want, s.input())
	case "resync", "pad":
		s.expectEnd()
	default:
		elements := messageTable(t)[m.kind]
		require.NotEmpty(t, elements, m.name)
		require.Equal(t, valuesOf(m.want), s.message(elements))
	}
	return s.notes
}

func TestConformance(t *testing.T) {
	for _, m := range samples(t) {
		t.Run(m.name, func(t *testing.T) { decodeByPage(t, m) })
	}
}

func TestConformanceSchemaHash(t *testing.T) {
	s := rowschema.New()
	require.NoError(t, rowschema.Add[rowschema.Body](s, "body"))
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
