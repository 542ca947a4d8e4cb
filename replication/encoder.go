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
	writer  wire.BitWriter
	keys    []codingKey  // of the rows of the open datagram, ascending by slot
	chunks  []wire.Chunk // their bits
	coding  wire.RowCoding
	headers []wire.RowHeader
	order   []wire.Chunk
	used    int // bits that the rows take
	limit   int // bits that they may take
	load    int // of them all
	packed  []byte
}

// open starts a datagram of at most limit bytes.
func (e *encoder) open(limit int) {
	e.keys, e.chunks, e.used, e.load = e.keys[:0], e.chunks[:0], 0, 0
	e.limit = (limit-wire.StateHeaderBytes)*8 - e.coding.Bits()
}

// has says whether the open datagram holds the row of a key's slot, coded against
// its baseline.
func (e *encoder) has(k codingKey) bool {
	i := e.find(k)
	return i < len(e.keys) && e.keys[i].slot() == k.slot() && e.keys[i].past() == k.past()
}

// find returns the first row of the slot of k or of one behind it.
func (e *encoder) find(k codingKey) int {
	i, _ := slices.BinarySearch(e.keys, k&^(1<<slotShift-1))
	return i
}

// add puts a row of some load into the open datagram. It returns false,
// and the datagram is as before, if the row does not fit. A first row always fits:
// the schema bounds its length (wire.MaxRowBytes).
func (e *encoder) add(k codingKey, chunk wire.Chunk, load int) bool {
	if len(e.keys) == wire.MaxRows {
		return false
	}
	place := e.find(k)
	cost := chunk.Bits() + e.headerCost(place, k)
	if (e.used+cost > e.limit || e.load+load > wire.MaxLoad) && len(e.keys) > 0 {
		return false
	}
	e.keys = slices.Insert(e.keys, place, k)
	e.chunks = slices.Insert(e.chunks, place, chunk)
	e.used += cost
	e.load += load
	return true
}

// headerCost is how many bits the headers grow by for a row at place: its own,
// less what the next row's becomes shorter by.
func (e *encoder) headerCost(place int, k codingKey) int {
	previous := uint32(0) // the slot after that of the row before
	if place > 0 {
		previous = e.keys[place-1].slot() + 1
	}
	cost := wire.RowHeaderBits(e.coding, k.slot()-previous, k.baseline())
	if place < len(e.keys) {
		next := e.keys[place]
		cost += wire.RowHeaderBits(e.coding, next.slot()-k.slot()-1, next.baseline()) -
			wire.RowHeaderBits(e.coding, next.slot()-previous, next.baseline())
	}
	return cost
}

// pack writes the rows of keys, whose bits are in chunks, as what follows a
// datagram's header, to b.
func (e *encoder) pack(b []byte, f *Frame, keys []codingKey, chunks []wire.Chunk, from *wire.Chunks) (p packed) {
	if len(keys) == 0 {
		return packed{bytes: b}
	}
	w := &e.writer
	w.Reset(b)
	wire.AppendRowCoding(w, e.coding)
	p.rows = uint32(len(keys))
	e.headers = e.headers[:0]
	next, fold, components := uint32(0), uint64(0), f.schema.Components()
	for i, k := range keys {
		slot, past := k.slot(), k.baseline()
		e.headers = append(e.headers, wire.RowHeader{Skip: slot - next, Baseline: past})
		fold = wire.Fold(fold, f.present[slot].handle)
		next = slot + 1
		from.AddShares(&p.shares, chunks[i], components)
		p.anchored += uint32(k&anchoredKey) / uint32(anchoredKey)
		if past.Age == 0 {
			p.whole++
		}
	}
	p.fold = wire.Fold16(fold)
	wire.AppendRowHeaders(w, e.coding, e.headers)
	from.Copy(w, e.inOrder(keys, chunks, p.anchored)...)
	p.bytes = w.Bytes()
	return p
}

// inOrder puts the bits of rows in the order in which they travel: those that are
// anchored come after the others.
func (e *encoder) inOrder(keys []codingKey, chunks []wire.Chunk, anchored uint32) []wire.Chunk {
	if anchored == 0 {
		return chunks
	}
	e.order = e.order[:0]
	for _, run := range []codingKey{0, anchoredKey} {
		for i, k := range keys {
			if k&anchoredKey == run {
				e.order = append(e.order, chunks[i])
			}
		}
	}
	return e.order
}

// packed is what follows a datagram's header.
type packed struct {
	bytes []byte
	fold  uint16 // the check that both sides mean the same entities
	rows  uint32
	// Of the rows, those without a baseline, those that are anchored, and those
	// whose bits were made for another viewer.
	whole, anchored, copied uint32
	shares                  wire.Shares // of all rows
}
