package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// encoder packs rows into datagrams. Rows come by priority and travel by slot,
// so their codings are gathered first, and their bits are copied in order when
// the datagram is closed. Its buffers are reused: a warm encoder allocates
// nothing.
type encoder struct {
	writer    wire.BitWriter
	enter     []byte      // the newest full row
	own       wire.Chunks // codings that the frame had no room for
	rows      []encodedRow
	coding    wire.RowCoding
	used      int // bits that the rows take
	limit     int // bits that they may take
	datagrams [][]byte
	buffers   [maxDatagrams][]byte
}

// encodedRow is a row of the open datagram; they ascend by slot.
type encodedRow struct {
	key        codingKey
	generation uint32
	chunk      wire.Chunk
	how        coded
}

// full encodes a row for an Enter record. The result is valid until the next
// call.
func (e *encoder) full(s *wire.Schema, row wire.Row) []byte {
	e.writer.Reset(e.enter[:0])
	s.AppendFull(&e.writer, row)
	e.enter = e.writer.Bytes()
	return e.enter
}

// open starts a datagram of at most limit bytes.
func (e *encoder) open(limit int) {
	e.own.Reset()
	e.rows, e.used = e.rows[:0], 0
	e.limit = (limit-wire.StateHeaderBytes)*8 - e.coding.Bits()
}

// gather puts a row into the open datagram, in any order, and returns false if
// the rows may not all fit: they do if their number, spread evenly over all
// slots up to most, which makes headers longest, fits.
func (e *encoder) gather(r encodedRow, most uint32) bool {
	if len(e.rows) == wire.MaxRows {
		return false
	}
	e.rows = append(e.rows, r)
	e.used += r.chunk.Bits() + wire.RowHeaderBits(e.coding, 0, r.key.baseline)
	n := len(e.rows)
	spread := bits.Len32(most>>e.coding.SkipBits/uint32(n) + 1)
	return e.used+2*n*spread <= e.limit
}

// sort orders rows that were gathered.
func (e *encoder) sort() {
	bySlot := func(a, b encodedRow) int { return int(a.key.slot) - int(b.key.slot) }
	if !slices.IsSortedFunc(e.rows, bySlot) {
		slices.SortFunc(e.rows, bySlot)
	}
}

// has says whether the open datagram holds the row of a slot, coded against b.
func (e *encoder) has(slot uint32, b wire.Baseline) bool {
	i, ok := e.find(slot)
	return ok && e.rows[i].key.baseline == b
}

func (e *encoder) find(slot uint32) (int, bool) {
	return slices.BinarySearchFunc(e.rows, slot, func(r encodedRow, slot uint32) int {
		return int(r.key.slot) - int(slot)
	})
}

// add puts a row into the open datagram. It returns false, and the datagram is
// as before, if the row does not fit. A first row always fits: the schema bounds
// its length (wire.MaxRowBytes).
func (e *encoder) add(r encodedRow) bool {
	if len(e.rows) == wire.MaxRows {
		return false
	}
	place, _ := e.find(r.key.slot)
	cost := r.chunk.Bits() + e.headerCost(place, &r.key)
	if e.used+cost > e.limit && len(e.rows) > 0 {
		return false
	}
	e.rows = slices.Insert(e.rows, place, r)
	e.used += cost
	return true
}

// headerCost is how many bits the headers grow by for a row at place: its own,
// less what the next row's becomes shorter by.
func (e *encoder) headerCost(place int, k *codingKey) int {
	previous := uint32(0) // the slot after that of the row before
	if place > 0 {
		previous = e.rows[place-1].key.slot + 1
	}
	cost := wire.RowHeaderBits(e.coding, k.slot-previous, k.baseline)
	if place < len(e.rows) {
		next := &e.rows[place].key
		cost += wire.RowHeaderBits(e.coding, next.slot-k.slot-1, next.baseline) -
			wire.RowHeaderBits(e.coding, next.slot-previous, next.baseline)
	}
	return cost
}

// close writes the open datagram and returns its size. h lacks only what
// depends on the rows.
func (e *encoder) close(f *Frame, h wire.StateHeader) int {
	var fold uint64
	anchored := false
	for i := range e.rows {
		r := &e.rows[i]
		fold = wire.Fold(fold, bulk.NewHandle(r.key.slot, r.generation))
		anchored = anchored || r.key.anchored
	}
	h.Fold, h.Rows = wire.Fold16(fold), len(e.rows)
	n := len(e.datagrams)
	w := &e.writer
	w.Reset(wire.AppendStateHeader(e.buffers[n][:0], h))
	if len(e.rows) > 0 {
		wire.AppendRowCoding(w, e.coding)
	}
	next := uint32(0)
	for i := range e.rows {
		k := &e.rows[i].key
		wire.AppendRowHeader(w, e.coding, k.slot-next, k.baseline)
		next = k.slot + 1
	}
	e.copyRows(f, false)
	if anchored {
		e.copyRows(f, true)
	}
	e.buffers[n] = w.Bytes()
	e.datagrams = append(e.datagrams, e.buffers[n])
	return len(e.buffers[n])
}

// copyRows writes the rows of one of the two runs.
func (e *encoder) copyRows(f *Frame, anchored bool) {
	for i := range e.rows {
		r := &e.rows[i]
		if r.key.anchored != anchored {
			continue
		}
		chunks := &f.codings.chunks
		if r.how == codedApart {
			chunks = &e.own
		}
		chunks.Copy(&e.writer, r.chunk)
	}
}
