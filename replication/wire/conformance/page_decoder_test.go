package conformance

// An independent decoder, written from PROTOCOL.md alone. It calls no function of package
// wire, and takes the message table from the page and the schema from the text of section
// 5. It must decode everything that package wire writes. Its notes annotate the golden
// files.

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
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
		low, step  float64
		values     int
	}
	pageComponent struct {
		name   string
		fields []pageField
		parent string // path of the position that follows the parent
		holder int    // index of the parent's handle
	}
	// pageTenant is the entity in a slot.
	pageTenant struct {
		handle bulk.Handle
		mask   uint32
		owned  bool
		states map[uint32][]uint32 // by tick
	}
	// pageStructure is the content of a Structure message.
	pageStructure struct {
		First, Ticks uint32
		Records      []wire.Record
		Rows         []rowschema.Row
		Bodies       []wire.BodyState // exact ones
	}
	pageDecoder struct {
		mutation
		b     []byte
		bit   int
		quiet bool // makes no notes
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
		v |= uint64(s.b[s.bit/8]>>s.pick(bitsFromLowest, s.bit%8, 7-s.bit%8)&1) << i
		s.bit++
	}
	return v
}

func (s *pageDecoder) note(from int, format string, args ...any) {
	if s.quiet {
		return
	}
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
			if c == 0 && shift > 0 && s.keeps(uvarintShortest) || v > 1<<32-1 && s.keeps(uvarint32Bits) {
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
	if c > 0 && v>>(4<<(c-1)) == 0 && s.keeps(sizedShortest) {
		s.fail("%s: %d is not in its shortest form", name, v)
	}
	s.note(from, "%s = %d", name, v)
	return v
}

// expectEnd checks the end of a bit string.
func (s *pageDecoder) expectEnd() {
	left := len(s.b)*8 - s.bit
	if left >= 8 && s.keeps(nothingFollows) || left < 8 && s.read(left) != 0 && s.keeps(paddingIsZero) {
		s.fail("%d bits left", left)
	}
}

// full reads a field in full, section 7.
func (s *pageDecoder) full(c pageComponent, f pageField, out []uint32) {
	from, name := s.bit, c.name+"."+f.path
	switch {
	case f.kind == "ref":
		out[0], out[1] = 0, 0
		if s.read(1) == 1 {
			out[0], out[1] = uint32(s.sized(name+" index")), uint32(s.sized(name+" generation"))
			if out[0] >= 1<<24 && s.keeps(refIndexBound) || out[1]%2 == 0 && s.keeps(refGenerationOdd) {
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
		if f.kind != "bool" && uint64(out[0]) > f.largest && s.keeps(numberAtMostN) {
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
			if mask>>i&1 == 1 && (owned || !f.owner || !s.keeps(ownerFieldsForOwner)) {
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
		ones++
		if ones+k > 32 {
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
	age = s.golomb(4, "age")
	if age >= tick && s.keeps(baseFromTick1) {
		s.fail("age %d at tick %d", age, tick)
	}
	if age > 0 {
		gap = s.golomb(2, "gap")
		if gap > 0 && gap >= tick-age && s.keeps(olderFromTick1) {
			s.fail("gap %d before tick %d", gap, tick-age)
		}
	}
	return age, gap
}

type (
	// pageState is the header of a State datagram.
	pageState struct {
		seq, tick, structure uint64
		input                uint64 // newest applied; 0: none
		fold                 uint32
		events               bool
		complete, continued  bool
		audited, exact       bool
		audit                uint32
		rows                 int
		said                 []pageEventIn
		teleports            map[int]uint64 // their ticks, by row
	}
	// pageRow is a row of a State datagram.
	pageRow struct {
		slot     uint64
		entity   pageTenant
		age, gap uint64
		own      bool // the baseline is its own
		past     *pagePast
		now      rowschema.Row
	}
)

// state reads a State datagram, sections 8 and 9.
func (s *pageDecoder) state(schema []pageComponent, tables *codingTables, tenants map[uint32]pageTenant) []rowschema.Row {
	h := s.stateHeader()
	rows := s.rowHeaders(h)
	for _, row := range rows {
		row.entity = tenants[uint32(row.slot)]
	}
	if fold := s.fold(rows); fold != h.fold {
		s.fail("fold %04x, want %04x", fold, h.fold)
	}
	if load := s.load(schema, rows); load > 1280 {
		s.fail("%d rows of load %d", h.rows, load)
	}
	if !s.findPasts(rows, h.tick) {
		s.fail("a row has no state of a tick that its baseline names")
	}
	s.readRows(schema, tables, rows)
	var all []rowschema.Row
	for _, row := range rows {
		all = append(all, row.now)
	}
	return all
}

// stateHeader reads a State datagram up to its bit string, section 8.
func (s *pageDecoder) stateHeader() (h pageState) {
	if s.readNamed(8, "type") != 64 && s.keeps(stateIsType64) {
		s.fail("not a State datagram")
	}
	s.readNamed(32, "echo")
	s.readNamed(16, "hold")
	h.seq = s.readNamed(32, "seq")
	h.tick = s.readNamed(32, "tick")
	h.structure = s.readNamed(32, "structure")
	if s.keeps(inputFieldPresent) {
		input := s.uvarint("input age")
		if input > h.tick+1 && s.keeps(inputNotBeforeTick0) {
			s.fail("input %d at tick %d", input, h.tick)
		}
		if input > 0 {
			h.input = h.tick + 1 - input
		}
	}
	flags := s.readNamed(8, "flags")
	h.fold = uint32(s.readNamed(16, "fold"))
	h.events, h.complete, h.audited, h.continued, h.exact = flags&1 == 1, flags&2 == 2, flags&4 == 4, flags&8 == 8, flags&16 == 16
	if !s.keeps(completeFlag) {
		h.complete, h.continued = h.continued, h.complete
	}
	if h.audited && !s.keeps(auditAfterEvents) {
		h.audit = uint32(s.readNamed(32, "audit"))
	}
	if h.events {
		h.said = s.events()
	}
	if h.audited && s.keeps(auditAfterEvents) {
		h.audit = uint32(s.readNamed(32, "audit"))
	}
	if flags > 63 && s.keeps(stateFlagsKnown) || h.audited && !h.complete && s.keeps(auditOfComplete) || h.continued && h.seq == 1 && s.keeps(continuedNotFirst) {
		s.fail("flags %d", flags)
	}
	end := s.bit
	if flags&32 != 0 {
		end += 8 + 8*int(s.uvarint("bytes of teleports"))
	}
	if flags&32 != 0 && s.bit == end && s.keeps(teleportsNotEmpty) {
		s.fail("no teleports")
	}
	h.teleports = map[int]uint64{}
	last := -1
	for next := 0; s.bit < end; next = last + s.pick(teleportSkips, 1, 0) {
		last = next + int(s.uvarint("rows before a teleport"))
		age := s.uvarint("age of a teleport")
		if age >= h.tick && s.keeps(teleportFromTick1) {
			s.fail("a teleport of %d ticks before tick %d", age, h.tick)
		}
		h.teleports[last] = h.tick - age*uint64(s.pick(teleportAge, 1, 0))
	}
	if s.bit != end {
		s.fail("teleports end at bit %d", end)
	}
	h.rows = int(s.uvarint("rows"))
	if last >= h.rows && s.keeps(teleportOfRow) {
		s.fail("a teleport of row %d of %d", last, h.rows)
	}
	if h.exact && h.rows == 0 && s.keeps(exactFlagOfRows) {
		s.fail("flags %d without rows", flags)
	}
	if h.rows > 256 && s.keeps(rowsAtMost256) {
		s.fail("%d rows", h.rows)
	}
	if h.seq == 0 && s.keeps(seqFrom1) || h.tick == 0 && s.keeps(tickFrom1) {
		s.fail("seq %d, tick %d", h.seq, h.tick)
	}
	return h
}

// rowHeaders reads the headers of all rows, section 8.
func (s *pageDecoder) rowHeaders(h pageState) (rows []*pageRow) {
	if h.rows == 0 {
		return nil
	}
	k := int(s.readNamed(4, "order of skips"))
	usualAge, usualGap := s.baseline(h.tick)
	slot := uint64(0)
	for range h.rows {
		skip := s.golomb(k, "skip")
		if skip >= 1<<24 {
			s.fail("skip %d", skip)
		}
		row := &pageRow{slot: slot + skip, age: usualAge, gap: usualGap}
		row.own = s.readNamed(1, "own baseline") == 1
		if row.own {
			row.age, row.gap = s.baseline(h.tick)
			if row.age == usualAge && row.gap == usualGap && s.keeps(ownBaselineDiffers) {
				s.fail("own baseline equals the usual one")
			}
		}
		rows = append(rows, row)
		slot = row.slot + uint64(s.pick(skipFromNextSlot, 1, 0))
	}
	return rows
}

// fold computes section 9's fold.
func (s *pageDecoder) fold(rows []*pageRow) uint32 {
	var x uint32
	for _, row := range rows {
		first, second := row.entity.handle.Index(), row.entity.handle.Generation()
		if !s.keeps(foldIndexFirst) {
			first, second = second, first
		}
		x = (x ^ first) * 0x9e3779b1
		x ^= x >> 15
		x = (x ^ second) * 0x85ebca77
		x ^= x >> s.pick(foldSecondShift, 13, 15)
	}
	if s.keeps(foldLastShift) {
		x ^= x >> 16
	}
	return x & 0xffff
}

// load computes the load of rows, section 8.
func (s *pageDecoder) load(schema []pageComponent, rows []*pageRow) (load int) {
	for _, row := range rows {
		load += s.rowLoad(schema, row.entity.mask)
	}
	return load
}

// events reads the events of a State datagram, section 8.
func (s *pageDecoder) events() (all []pageEventIn) {
	length := int(s.uvarint("bytes of events"))
	end := s.bit + 8*length
	if length == 0 && s.keeps(eventsNotEmpty) {
		s.fail("no events")
	}
	for ok := length > 0; ok; ok = s.bit < end {
		e := pageEventIn{number: s.uvarint("event")}
		if e.number >= 256 && s.keeps(eventNumberBound) {
			s.fail("event number")
		}
		e.age = s.uvarint("event age")
		e.body = s.bytes("event body", s.pick(eventBodyBound, 1024, 65_536))
		all = append(all, e)
	}
	if s.bit != end && s.keeps(eventsEnd) {
		s.fail("events end at bit %d", end)
	}
	return all
}

// bytes reads a length and this number of bytes.
func (s *pageDecoder) bytes(name string, most int) []byte {
	n := s.uvarint(name + " length")
	if n > uint64(most) {
		s.fail("%s of %d bytes", name, n)
	}
	return s.take(name, n)
}

// take reads n bytes.
func (s *pageDecoder) take(name string, n uint64) []byte {
	if n > uint64(len(s.b)-s.bit/8) {
		s.fail("%s of %d bytes", name, n)
	}
	s.bit += 8 * int(n)
	return s.b[s.bit/8-int(n) : s.bit/8]
}

// rowLoad returns the load of a row, section 8.
func (s *pageDecoder) rowLoad(schema []pageComponent, mask uint32) int {
	load, values := 1, 0
	for i, c := range schema {
		quats, fields := 0, 0
		for _, f := range c.fields {
			values += f.values
			if !f.owner || s.keeps(loadOfOwnerFields) {
				fields++
			}
			if f.kind == "quat" {
				quats++
			}
		}
		if mask>>i&1 == 0 {
			continue
		}
		load += s.pick(loadOfComponents, 2, 1) + s.pick(loadOfFields, fields/12, 0) + s.pick(loadOfQuats, 2, 0)*quats
		if c.parent != "" {
			load += s.pick(loadOfParents, 6, 0)
		}
	}
	return load + s.pick(loadOfValues, values/256, 0)
}

// parent returns the parent that a row's base names, and the component that names it.
func (row *pageRow) parent(schema []pageComponent) (int, bulk.Handle) {
	for i, c := range schema {
		if row.past != nil && c.parent != "" && row.entity.mask>>i&1 == 1 {
			return i, bulk.NewHandle(row.past.base[c.holder], row.past.base[c.holder+1])
		}
	}
	return 0, 0
}

// findPasts looks up the states that baselines name. It returns false if one is missing.
func (s *pageDecoder) findPasts(rows []*pageRow, tick uint64) bool {
	for _, row := range rows {
		if row.age == 0 {
			continue
		}
		base := uint32(tick - row.age)
		row.past = &pagePast{base: row.entity.states[base]}
		if row.gap > 0 {
			row.past.older = row.entity.states[base-uint32(row.gap)]
			row.past.r = min(int64(row.age)<<16/int64(row.gap), 32<<16)
		}
		if row.past.base == nil || row.gap > 0 && row.past.older == nil {
			return false
		}
	}
	return true
}

// anchorOf returns the row that anchors row, or nil: section 8.
func (s *pageDecoder) anchorOf(row *pageRow, rows []*pageRow, schema []pageComponent) *pageRow {
	component, h := row.parent(schema)
	for _, other := range rows {
		_, grandparent := other.parent(schema)
		if h != 0 && (other.entity.handle == h || !s.keeps(anchorGeneration) && other.entity.handle.Index() == h.Index()) &&
			(other.age == row.age || !s.keeps(anchorAge) && other.age > 0) && (other.gap == row.gap || !s.keeps(anchorGap) && other.age > 0) &&
			(other.entity.mask>>component&1 == 1 || !s.keeps(anchorComponent)) && (grandparent == 0 || !s.keeps(anchorNoGrandparent)) {
			row.past.anchored = component
			return other
		}
	}
	return nil
}

// readRows reads the rows after their headers, to the end of the bit string, anchored rows
// last.
func (s *pageDecoder) readRows(schema []pageComponent, tables *codingTables, rows []*pageRow) {
	for pass := range 2 {
		for _, row := range rows {
			anchor := s.anchorOf(row, rows, schema)
			if (anchor == nil) != (pass == 0) && s.keeps(anchoredRowsLast) || !s.keeps(anchoredRowsLast) && pass == 1 {
				continue
			}
			s.readRow(schema, tables, row, anchor)
		}
	}
	s.expectEnd()
}

// readRow reads a row whose past is known.
func (s *pageDecoder) readRow(schema []pageComponent, tables *codingTables, row, anchor *pageRow) {
	from := s.bit
	if row.age == 0 {
		row.now = s.wholeRow(schema, row.entity.mask, row.entity.owned)
		return
	}
	if anchor != nil {
		row.past.anchor = &[3][]uint32{anchor.now.Values, anchor.past.base, anchor.past.older}
	}
	row.now = rowschema.Row{Mask: row.entity.mask, Values: make([]uint32, len(row.past.base))}
	s.codedRow(tables, codecParts(schema, row.entity.owned), row.entity.mask, row.past, row.now.Values)
	s.note(from, "row of %v: %v", row.entity.handle, row.now.Values)
}

// structure reads the body of a Structure message, section 6.
func (s *pageDecoder) structure(schema []pageComponent) pageStructure {
	c := pageStructure{First: uint32(s.uvarint("first")), Ticks: uint32(s.uvarint("ticks"))}
	for s.bit < len(s.b)*8 {
		c.Records = append(c.Records, s.record(schema, &c))
	}
	return c
}

func (s *pageDecoder) record(schema []pageComponent, c *pageStructure) wire.Record {
	head := s.readNamed(8, "op and detail")
	r, detail := wire.Record{Op: wire.Op(head & 7)}, head>>3
	handle := func() {
		index, generation := s.uvarint("index"), s.uvarint("generation")
		if index >= 1<<24 || generation%2 == 0 && s.keeps(recordGenerationOdd) {
			s.fail("slot %d, generation %d", index, generation)
		}
		r.Handle = bulk.Handle(generation<<32 | index)
	}
	number := func() {
		r.Number = uint32(detail)
		if detail == 31 && s.keeps(numberFollows) {
			r.Number = uint32(s.uvarint("number")) + uint32(s.pick(numberLess31, 31, 0))
		}
	}
	most := uint64(1) // of detail
	switch r.Op {
	case 1:
		most = 7
		handle()
		r.Owned, r.Kind = detail&1 == 1 && s.keeps(ownedFlag), uint32(s.uvarint("kind"))
		if r.Kind >= 1<<16 && s.keeps(kindBound) {
			s.fail("kind %d", r.Kind)
		}
		if detail&4 == 4 {
			form := uint64(0)
			if s.keeps(enterFormIsUvarint) {
				form = s.uvarint("form and back")
			} else {
				form = s.readNamed(8, "form and back")
			}
			r.Exact = wire.Exact{Form: wire.Form(form&3 + 1), Back: uint32(form >> 2)}
			if !s.keeps(backInEnter) {
				r.Exact = wire.Exact{Form: wire.Form(form>>6&3 + 1), Back: uint32(form & 63)}
			}
		}
		r.Row = s.bytes("row", 1104)
		row := s.part(r.Row)
		full := row.fullRow(schema, r.Owned)
		c.Rows = append(c.Rows, full)
		if r.Exact.Form != wire.Ordinary {
			part := exactPage{pageDecoder: &row}
			c.Bodies = append(c.Bodies, part.body(r.Exact.Form, gridOf(schema, full.Values), 1<<32-1))
		}
		row.expectEnd()
		s.notes = row.notes
		if detail&2 == 2 && s.keeps(textsFlag) {
			r.Data = s.bytes("texts", 8192)
			if len(r.Data) == 0 {
				s.fail("no texts")
			}
		}
	case 2:
		r.Reason = wire.Reason(detail)
		handle()
	case 3:
		handle()
		if detail == 1 && s.keeps(causeFollows) {
			r.Cause = uint8(s.readNamed(8, "cause"))
			if r.Cause == 0 && s.keeps(causeNot0) {
				s.fail("cause 0")
			}
		}
	case 4:
		most = 31
		number()
		handle()
		r.Data = s.bytes("text", 1024)
	case 5:
		most = 31
		number()
		r.Data = s.bytes("event", 1024)
	case 6:
		r.Number = uint32(s.uvarint("provisional index"))
		if detail == 1 {
			handle()
		}
	case 7:
		most = 5
		from := s.bit / 8
		part := exactPage{pageDecoder: s}
		part.extension(detail)
		r.Number, r.Data = uint32(detail), s.b[from:s.bit/8]
	default:
		most = 31
		if s.keeps(recordOpKnown) {
			s.fail("op %d", r.Op)
		}
		handle() // the mutant reads it like the other forms
	}
	if detail > most && s.keeps(detailKnown) {
		s.fail("detail %d of op %d", detail, r.Op)
	}
	return r
}

// part returns a decoder for the bytes just read. It shares the notes and counts the same
// positions.
func (s *pageDecoder) part(read []byte) pageDecoder {
	return pageDecoder{mutation: s.mutation, b: s.b[:s.bit/8], bit: s.bit - 8*len(read), quiet: s.quiet, notes: s.notes}
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
		t.Back = uint32(s.uvarint("view"))
		if t.Back > 0 {
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
