package wire

import (
	"encoding/binary"
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
)

// StateHeader begins a State datagram; the rows follow as one bit string.
type StateHeader struct {
	// Echo is the stamp of the newest Input datagram that the server received, or 0.
	// Hold is the time since then in 1/10 ms, saturating at 65,535. StampState sets
	// both.
	Echo uint32
	Hold uint16
	// Seq numbers the snapshots of a session from 1.
	Seq uint32
	// Tick is the tick of the frame with the rows.
	Tick uint32
	// Structure is the number of the newest structure record that the receiver must have
	// applied (H1).
	Structure uint32
	// InputAge is 1 + the number of ticks from the newest applied input to Tick, or 0 if
	// the server has applied none of the session's inputs.
	InputAge uint32
	// Fold is Fold16 over the handles of all rows, in order.
	Fold uint16
	// Complete says that this snapshot, with the earlier ones of its tick, gives the client
	// everything up to Tick. Complete, Continued and Audited are for clients that simulate
	// only.
	Complete bool
	// Continued says that the snapshot before this one has the same tick.
	Continued bool
	// Audited says that Audit is set. It requires Complete.
	Audited bool
	// Exact says that at least one row has an exact state: an Exact follows each row
	// header. For clients that simulate only.
	Exact bool
	// Audit is the result of function Audit over the exact bodies in view for which
	// function Audited is true.
	Audit uint32
	// Events holds the unreliable events that the datagram carries, as AppendEvent wrote
	// them. It aliases the datagram.
	Events []byte
	// Teleports holds the rows whose entities were teleported, as AppendTeleport wrote them.
	// It aliases the datagram.
	Teleports []byte
	// Rows is the number of rows that follow.
	Rows int
}

const (
	stateFixedBytes = 1 + 4 + 2 + 4 + 4 + 4 + 1 + 2
	// StateHeaderBytes is the maximum size of a State header without events, audit and teleports.
	StateHeaderBytes = stateFixedBytes + bitio.MaxUvarint32 + 2
	stateEchoAt      = 1
	stateHoldAt      = 5

	stateEvents    = 1 // flags
	stateComplete  = 2
	stateAudit     = 4
	stateContinued = 8
	stateExact     = 16
	stateTeleports = 32
	stateFlags     = stateEvents | stateComplete | stateAudit | stateContinued | stateExact | stateTeleports
)

// AppendStateHeader appends h. The bits of the rows begin at the next byte.
func AppendStateHeader(b []byte, h StateHeader) []byte {
	if invariants.Enabled {
		invariants.Checkf(h.Complete || !h.Audited, "state %d with an audit, but not complete", h.Seq)
		invariants.Checkf(h.Rows > 0 || !h.Exact, "state %d with exact rows, but without rows", h.Seq)
		invariants.Checkf(h.Rows >= 0 && h.Rows <= MaxRows && h.Seq != 0, "state %d with %d rows", h.Seq, h.Rows)
	}
	b = append(b, TypeState)
	b = binary.LittleEndian.AppendUint32(b, h.Echo)
	b = binary.LittleEndian.AppendUint16(b, h.Hold)
	b = binary.LittleEndian.AppendUint32(b, h.Seq)
	b = binary.LittleEndian.AppendUint32(b, h.Tick)
	b = binary.LittleEndian.AppendUint32(b, h.Structure)
	b = append(bitio.AppendUvarint(b, h.InputAge), h.flags())
	b = binary.LittleEndian.AppendUint16(b, h.Fold)
	if len(h.Events) > 0 {
		b = appendSized(b, h.Events)
	}
	if h.Audited {
		b = binary.LittleEndian.AppendUint32(b, h.Audit)
	}
	if len(h.Teleports) > 0 {
		b = appendSized(b, h.Teleports)
	}
	return bitio.AppendUvarint(b, uint32(h.Rows))
}

func (h *StateHeader) flags() (f byte) {
	if len(h.Events) > 0 {
		f |= stateEvents
	}
	if h.Complete {
		f |= stateComplete
	}
	if h.Audited {
		f |= stateAudit
	}
	if h.Continued {
		f |= stateContinued
	}
	if h.Exact {
		f |= stateExact
	}
	if len(h.Teleports) > 0 {
		f |= stateTeleports
	}
	return f
}

// StampState writes Echo and Hold into a finished State datagram, in place.
func StampState(d []byte, echo uint32, hold uint16) {
	if invariants.Enabled {
		invariants.Checkf(len(d) > stateFixedBytes && d[0] == TypeState, "stamp of %d bytes that are not a State datagram", len(d))
	}
	binary.LittleEndian.PutUint32(d[stateEchoAt:], echo)
	binary.LittleEndian.PutUint16(d[stateHoldAt:], hold)
}

// ParseStateHeader reads the header of a State datagram and sets rows to the bits behind
// it, aliasing d. If there are rows, the caller reads a RowCoding, then h.Rows row headers,
// each with an Exact if h.Exact is set, and then the rows with Codec.Read in the same
// order. It then calls ExpectEnd. If h.Exact is set, it rejects a datagram without an exact
// row.
func ParseStateHeader(d []byte, rows *bitio.Reader) (StateHeader, error) {
	rows.Reset(nil)
	if len(d) > MaxDatagram {
		return StateHeader{}, bad("datagram of %d bytes, at most %d are allowed", len(d), MaxDatagram)
	}
	c := bitio.NewCursor(d)
	if t := c.Byte("type"); t != TypeState && c.Err() == nil {
		c.Fail("datagram type %d, want %d", t, TypeState)
	}
	h := StateHeader{
		Echo: c.Uint32("echo"), Hold: c.Uint16("hold"), Seq: c.Uint32("seq"), Tick: c.Uint32("tick"),
		Structure: c.Uint32("structure"), InputAge: c.Uvarint(1<<32-1, "input age"),
	}
	flags := c.Byte("flags")
	h.Fold = c.Uint16("fold")
	if flags&stateEvents != 0 {
		h.Events = readEvents(&c)
	}
	h.Complete, h.Continued, h.Exact = flags&stateComplete != 0, flags&stateContinued != 0, flags&stateExact != 0
	h.Audited = flags&stateAudit != 0
	if h.Audited {
		h.Audit = c.Uint32("audit")
	}
	if flags&stateTeleports != 0 {
		h.Teleports = readSized(&c, MaxDatagram, "teleports")
	}
	h.Rows = int(c.Uvarint(MaxRows, "row count"))
	if flags&stateTeleports != 0 {
		checkTeleports(&c, &h)
	}
	if flags&^stateFlags != 0 || h.Audited && !h.Complete || h.Exact && h.Rows == 0 {
		c.Fail("state with flags %#x", flags)
	}
	if h.Continued && h.Seq == 1 {
		c.Fail("the first snapshot continues another")
	}
	if h.InputAge > 0 && h.InputAge-1 > h.Tick {
		c.Fail("input of %d ticks before tick %d", h.InputAge-1, h.Tick)
	}
	if h.Tick == 0 {
		c.Fail("tick is 0: ticks are counted from 1")
	}
	if h.Seq == 0 {
		c.Fail("seq is 0: snapshots are counted from 1")
	}
	if c.Err() != nil {
		return StateHeader{}, Malformed(c.Err())
	}
	rows.Reset(c.Rest())
	return h, nil
}

// AppliedInput returns the tick of the newest input that the server has applied; ok is
// false if it has applied none in this session.
func (h StateHeader) AppliedInput() (tick uint32, ok bool) {
	if h.InputAge == 0 {
		return 0, false
	}
	return h.Tick - (h.InputAge - 1), true
}

// Event is an unreliable event of a State datagram.
type Event struct {
	Number uint32 // number of the event in the schema
	Age    uint32 // ticks from the event's tick to the datagram's
	Body   []byte
}

// AppendEvent appends an event for StateHeader.Events.
func AppendEvent(b []byte, e Event) []byte {
	return appendSized(bitio.AppendUvarint(bitio.AppendUvarint(b, e.Number), e.Age), e.Body)
}

// StateEvents yields the events in a parsed StateHeader. Their bodies alias the datagram.
func (h StateHeader) StateEvents() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for c := bitio.NewCursor(h.Events); len(c.Rest()) > 0; {
			if !yield(readEvent(&c)) {
				return
			}
		}
	}
}

// readEvents reads and checks the events of a State datagram.
func readEvents(c *bitio.Cursor) []byte {
	events := readSized(c, MaxDatagram, "events")
	inner := bitio.NewCursor(events)
	for ok := len(events) > 0; ok; ok = len(inner.Rest()) > 0 {
		readEvent(&inner)
	}
	if inner.Err() != nil {
		c.FailWith(inner.Err())
	}
	if len(events) == 0 {
		c.Fail("no events where flags promise some")
	}
	return events
}

func readEvent(c *bitio.Cursor) Event {
	return Event{
		Number: c.Uvarint(MaxEvents-1, "event"), Age: c.Uvarint(1<<32-1, "event age"),
		Body: readSized(c, MaxEventBytes, "event body"),
	}
}

// ExpectEnd checks that r had no error and is at the end of a datagram or row: less than a
// byte is left, of zeros.
func ExpectEnd(r *bitio.Reader) error { return Malformed(r.End()) }

// Baseline identifies the states that a row is coded against by their ticks. A client has
// at most one state of a row per tick. Baseline is comparable.
type Baseline struct {
	// Age is the number of ticks from the baseline to the datagram, or 0 if the row is in full.
	Age uint32
	// Gap is the number of ticks from the older state to the baseline, or 0 if there is none.
	Gap uint32
}

// RowCoding defines the coding of a datagram's row headers, and precedes them. A datagram
// without rows has no RowCoding.
type RowCoding struct {
	// SkipBits is the order of the Golomb form of RowHeader.Skip, at most MaxSkipBits.
	SkipBits uint8
	// Usual is the baseline of rows that do not name their own.
	Usual Baseline
}

const (
	// MaxSkipBits bounds RowCoding.SkipBits.
	MaxSkipBits  = 1<<skipBitsBits - 1
	skipBitsBits = 4
	ageOrder     = 4 // order of the Golomb form of ages
	gapOrder     = 2 // order of the Golomb form of gaps
	// MaxRowCodingBits and MaxRowHeaderBits are the maximum sizes of a RowCoding and of a
	// row's header.
	MaxRowCodingBits = skipBitsBits + baselineBits
	MaxRowHeaderBits = 2*24 + 1 + 1 + baselineBits
	baselineBits     = (2*(32-ageOrder) + 1 + ageOrder) + (2*(32-gapOrder) + 1 + gapOrder)
)

// AppendRowCoding writes c. Row headers follow.
func AppendRowCoding(w *bitio.Writer, c RowCoding) {
	w.Write(uint64(c.SkipBits), skipBitsBits)
	c.Usual.append(w)
}

// ReadRowCoding reads the RowCoding of a datagram of the given tick.
func ReadRowCoding(r *bitio.Reader, tick uint32) (c RowCoding) {
	c.SkipBits = uint8(r.Read(skipBitsBits))
	c.Usual = readBaseline(r, tick)
	return c
}

func (b Baseline) append(w *bitio.Writer) {
	if b.short() {
		age, n := bitio.Golomb(b.Age, ageOrder)
		gap, m := bitio.Golomb(b.Gap, gapOrder)
		w.Write(age|gap<<n, n+m)
		return
	}
	w.WriteGolomb(b.Age, ageOrder)
	if b.Age != 0 {
		w.WriteGolomb(b.Gap, gapOrder)
	}
}

// bits returns the number of bits that append writes.
func (b Baseline) bits() int {
	n := bitio.GolombBits(b.Age, ageOrder)
	if b.Age != 0 {
		n += bitio.GolombBits(b.Gap, gapOrder)
	}
	return n
}

// readBaseline reads a baseline. It rejects ticks below 1, the first.
func readBaseline(r *bitio.Reader, tick uint32) (b Baseline) {
	b.Age = r.ReadGolomb(ageOrder, max(tick, 1)-1)
	if b.Age != 0 {
		b.Gap = r.ReadGolomb(gapOrder, tick-b.Age-1)
	}
	return b
}

// RowHeader is the header of a row.
type RowHeader struct {
	// Skip is the number of slots skipped since the previous row.
	Skip uint32
	Baseline
}

// AppendRowHeaders writes headers as AppendRowHeader does.
func AppendRowHeaders(w *bitio.Writer, c RowCoding, headers []RowHeader) {
	buf, at, acc, n := w.Open()
	for i := range headers {
		h := &headers[i]
		if at+16 > len(buf) || !h.short() {
			w.Close(at, acc, n)
			AppendRowHeader(w, c, h.Skip, h.Baseline)
			buf, at, acc, n = w.Open()
			continue
		}
		skip, bits := bitio.Golomb(h.Skip, uint(c.SkipBits))
		if h.Baseline == c.Usual {
			at, acc, n = bitio.Put(buf, at, acc, n, skip, bits+1)
			continue
		}
		at, acc, n = bitio.Put(buf, at, acc, n, skip|1<<bits, bits+1)
		age, bits := bitio.Golomb(h.Age, ageOrder)
		gap, more := bitio.Golomb(h.Gap, gapOrder)
		at, acc, n = bitio.Put(buf, at, acc, n, age|gap<<bits, bits+more)
	}
	w.Close(at, acc, n)
}

// short reports whether b takes at most 48 bits.
func (b Baseline) short() bool { return b.Age-1 < 1<<16-1 && b.Gap < 1<<10 }

// AppendRowHeader writes one row header. It is the plain reference for AppendRowHeaders.
// All headers precede all rows. skip is the number of slots skipped since the previous row,
// or before the first.
func AppendRowHeader(w *bitio.Writer, c RowCoding, skip uint32, b Baseline) {
	if invariants.Enabled {
		invariants.Checkf(skip < MaxSlots, "row after %d slots", skip)
	}
	form, n := bitio.Golomb(skip, uint(c.SkipBits))
	if b == c.Usual {
		w.Write(form, n+1)
		return
	}
	w.Write(form|1<<n, n+1)
	b.append(w)
}

// RowHeaderBits returns the number of bits that AppendRowHeader writes.
func RowHeaderBits(c RowCoding, skip uint32, b Baseline) int {
	n := bitio.GolombBits(skip, uint(c.SkipBits)) + 1
	if b != c.Usual {
		n += b.bits()
	}
	return n
}

// ReadRowHeader reads a row header of a datagram of the given tick. The caller checks r.Err
// (see Malformed), and that slots stay below Welcome's MaxSlots.
func ReadRowHeader(r *bitio.Reader, c RowCoding, tick uint32) (skip uint32, b Baseline) {
	skip = r.ReadGolomb(uint(c.SkipBits), MaxSlots-1)
	if !r.ReadBool() {
		return skip, c.Usual
	}
	b = readBaseline(r, tick)
	if b == c.Usual {
		r.Fail("a row's own baseline equals the usual one")
	}
	return skip, b
}

// Fold adds a handle to a fold, which starts at 0. The fold verifies that both sides have
// the same entities in the slots of a datagram. It uses only 32-bit multiplications, for
// browsers.
func Fold(acc uint64, h bulk.Handle) uint64 {
	x := uint32(acc)
	x = (x ^ h.Index()) * 0x9e3779b1
	x ^= x >> 15
	x = (x ^ h.Generation()) * 0x85ebca77
	x ^= x >> 13
	return uint64(x)
}

// Fold16 returns the 16 bits of a fold that are sent.
func Fold16(acc uint64) uint16 {
	return uint16(acc ^ acc>>16)
}
