package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// encoder packs rows into datagrams. Rows come by priority and travel by slot,
// so each is encoded by itself first, and its bits are copied in order when the
// datagram is closed. Its buffers are reused: a warm encoder allocates nothing.
type encoder struct {
	writer    wire.BitWriter
	reader    wire.BitReader
	enter     []byte       // the newest full row
	scratch   []byte       // rows of the open datagram, each from a byte boundary
	rows      []encodedRow // ascending by slot
	used      int          // bits that the rows take
	limit     int          // bits that they may take
	datagrams [][]byte
	buffers   [maxDatagrams][]byte
}

type encodedRow struct {
	handle   bulk.Handle
	code     uint8
	at, bits int // place in scratch: byte offset, length in bits
}

// full encodes a row for an Enter record. The result is valid until the next
// call.
func (e *encoder) full(s *wire.Schema, row wire.Row) []byte {
	e.writer.Reset(e.enter[:0])
	s.AppendFull(&e.writer, row)
	e.enter = e.writer.Bytes()
	return e.enter
}

// begin starts a snapshot.
func (e *encoder) begin() { e.datagrams = e.datagrams[:0] }

// open starts a datagram of at most limit bytes.
func (e *encoder) open(limit int) {
	e.scratch, e.rows, e.used = e.scratch[:0], e.rows[:0], 0
	e.limit = (limit - wire.StateHeaderBytes) * 8
}

// add encodes a row into the open datagram. It returns false, and the datagram
// is as before, if the row does not fit. A first row always fits: the schema
// bounds its length (wire.MaxRowBytes).
func (e *encoder) add(s *wire.Schema, h bulk.Handle, code uint8, row, base wire.Row) bool {
	if len(e.rows) == wire.MaxRows {
		return false
	}
	at := len(e.scratch)
	e.writer.Reset(e.scratch)
	if code == wire.BaselineNone {
		s.AppendAbsolute(&e.writer, row)
	} else {
		s.AppendDelta(&e.writer, row, base)
	}
	encoded := encodedRow{handle: h, code: code, at: at, bits: e.writer.Bits()}
	place, cost := e.placeOf(encoded)
	if e.used+cost > e.limit && len(e.rows) > 0 {
		return false
	}
	e.scratch = e.writer.Bytes()
	e.rows = slices.Insert(e.rows, place, encoded)
	e.used += cost
	return true
}

// placeOf finds where a row goes among those that are there, and the bits that
// it adds: its own, its header's, and the change of the next row's header,
// whose gap it shortens.
func (e *encoder) placeOf(r encodedRow) (place, cost int) {
	slot := r.handle.Index()
	place, _ = slices.BinarySearchFunc(e.rows, slot, func(r encodedRow, slot uint32) int {
		return int(r.handle.Index()) - int(slot)
	})
	before := uint32(0)
	if place > 0 {
		before = e.rows[place-1].handle.Index()
	}
	cost = r.bits + rowHeaderBits(slot-before)
	if place < len(e.rows) {
		after := e.rows[place].handle.Index()
		cost += rowHeaderBits(after-slot) - rowHeaderBits(after-before)
	}
	return place, cost
}

// rowHeaderBits is what the header of a row takes when its slot is gap after
// that of the row before it.
func rowHeaderBits(gap uint32) int {
	const codeBits = 5
	switch {
	case gap < 1<<4:
		return 2 + 4 + codeBits
	case gap < 1<<8:
		return 2 + 8 + codeBits
	case gap < 1<<16:
		return 2 + 16 + codeBits
	}
	return 2 + 32 + codeBits
}

// close writes the open datagram and returns its size. h lacks only what
// depends on the rows.
func (e *encoder) close(h wire.StateHeader) int {
	var fold uint64
	for _, r := range e.rows {
		fold = wire.Fold(fold, r.handle)
	}
	h.Fold, h.Rows = wire.Fold16(fold), len(e.rows)
	n := len(e.datagrams)
	e.writer.Reset(wire.AppendStateHeader(e.buffers[n][:0], h))
	previous := uint32(0)
	for _, r := range e.rows {
		wire.AppendRowHeader(&e.writer, r.handle.Index()-previous, r.code)
		previous = r.handle.Index()
		e.copyBits(e.scratch[r.at:], r.bits)
	}
	e.buffers[n] = e.writer.Bytes()
	e.datagrams = append(e.datagrams, e.buffers[n])
	return len(e.buffers[n])
}

func (e *encoder) copyBits(from []byte, n int) {
	e.reader.Reset(from)
	for ; n > 56; n -= 56 {
		e.writer.Write(e.reader.Read(56), 56)
	}
	e.writer.Write(e.reader.Read(uint(n)), uint(n))
}
