package replication

import (
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// encoder packs rows into a datagram. Rows come by priority and travel by slot,
// so their codings are gathered first, and their bits are copied in order when
// the datagram is closed. Its buffers are reused: a warm encoder allocates
// nothing.
type encoder struct {
	writer wire.BitWriter
	own    wire.Chunks // codings that the workspace had no room for
	rows   []encodedRow
	coding wire.RowCoding
	used   int // bits that the rows take
	limit  int // bits that they may take
}

// encodedRow is a row of the open datagram; they ascend by slot.
type encodedRow struct {
	key   codingKey
	chunk wire.Chunk
	how   coded
}

// open starts a datagram of at most limit bytes.
func (e *encoder) open(limit int) {
	e.own.Reset()
	e.rows, e.used = e.rows[:0], 0
	e.limit = (limit-wire.StateHeaderBytes)*8 - e.coding.Bits()
}

// append puts a row behind the others. It returns false if it does not fit.
func (e *encoder) append(r encodedRow) bool {
	e.used += r.chunk.Bits() + e.headerCost(len(e.rows), r.key)
	e.rows = append(e.rows, r)
	return e.used <= e.limit
}

// has says whether the open datagram holds the row of a key's slot, coded against
// its baseline.
func (e *encoder) has(k codingKey) bool {
	i, ok := e.find(k.slot())
	return ok && e.rows[i].key.past() == k.past()
}

func (e *encoder) find(slot uint32) (int, bool) {
	return slices.BinarySearchFunc(e.rows, slot, func(r encodedRow, slot uint32) int {
		return int(r.key.slot()) - int(slot)
	})
}

// add puts a row into the open datagram. It returns false, and the datagram is
// as before, if the row does not fit. A first row always fits: the schema bounds
// its length (wire.MaxRowBytes).
func (e *encoder) add(r encodedRow) bool {
	if len(e.rows) == wire.MaxRows {
		return false
	}
	place, _ := e.find(r.key.slot())
	cost := r.chunk.Bits() + e.headerCost(place, r.key)
	if e.used+cost > e.limit && len(e.rows) > 0 {
		return false
	}
	e.rows = slices.Insert(e.rows, place, r)
	e.used += cost
	return true
}

// headerCost is how many bits the headers grow by for a row at place: its own,
// less what the next row's becomes shorter by.
func (e *encoder) headerCost(place int, k codingKey) int {
	previous := uint32(0) // the slot after that of the row before
	if place > 0 {
		previous = e.rows[place-1].key.slot() + 1
	}
	cost := wire.RowHeaderBits(e.coding, k.slot()-previous, k.baseline())
	if place < len(e.rows) {
		next := e.rows[place].key
		cost += wire.RowHeaderBits(e.coding, next.slot()-k.slot()-1, next.baseline()) -
			wire.RowHeaderBits(e.coding, next.slot()-previous, next.baseline())
	}
	return cost
}

// fold is the check that both sides mean the same entities.
func (e *encoder) fold(f *Frame) uint16 {
	var fold uint64
	for i := range e.rows {
		fold = wire.Fold(fold, f.present[e.rows[i].key.slot()].handle)
	}
	return wire.Fold16(fold)
}

// write appends what follows a datagram's header to b.
func (e *encoder) write(b []byte, chunks *wire.Chunks) []byte {
	if len(e.rows) == 0 {
		return b
	}
	w := &e.writer
	w.Reset(b)
	wire.AppendRowCoding(w, e.coding)
	next, anchored := uint32(0), codingKey(0)
	for i := range e.rows {
		k := e.rows[i].key
		wire.AppendRowHeader(w, e.coding, k.slot()-next, k.baseline())
		next = k.slot() + 1
		anchored |= k
	}
	e.copyRows(chunks, false)
	if anchored.anchored() {
		e.copyRows(chunks, true)
	}
	return w.Bytes()
}

// copyRows writes the rows of one of the two runs.
func (e *encoder) copyRows(chunks *wire.Chunks, anchored bool) {
	for i := range e.rows {
		switch r := &e.rows[i]; {
		case r.key.anchored() != anchored:
		case r.how == codedApart:
			e.own.Copy(&e.writer, r.chunk)
		default:
			chunks.Copy(&e.writer, r.chunk)
		}
	}
}

// rowCounts is what Stats tells of rows, of one datagram.
type rowCounts struct {
	rows, whole, anchored, copied uint32
	shares                        wire.Shares
}

// counts needs the chunks that are not the encoder's own, and how many components
// the schema has.
func (e *encoder) counts(chunks *wire.Chunks, components int) (n rowCounts) {
	n.rows = uint32(len(e.rows))
	for i := range e.rows {
		r := &e.rows[i]
		if r.how == codedApart {
			e.own.AddShares(&n.shares, r.chunk, components)
		} else {
			chunks.AddShares(&n.shares, r.chunk, components)
		}
		if r.key.age() == 0 {
			n.whole++
		}
		if r.key.anchored() {
			n.anchored++
		}
		if r.how == codedBefore {
			n.copied++
		}
	}
	return n
}
