package replication

import (
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// encoder packs rows into a datagram, ascending by slot. Its buffers are reused: a warm
// encoder allocates nothing.
type encoder struct {
	writer  bitio.Writer
	keys    []codingKey      // of the selected rows, ascending by slot
	rows    []uint32         // row indexes
	chunks  []rowcodec.Chunk // encoded bits
	coding  wire.RowCoding
	headers []wire.RowHeader
	order   []rowcodec.Chunk
	packed  []byte
	parts   *exactParts // nil for viewers that do not simulate
	cache   *rowCache   // of the parts
	exact   []wire.Exact
	isExact bool // a measured row is exact
	bits    int  // size of the measured rows
}

// exactBits returns the bits that a row takes besides for a viewer that simulates, in a
// datagram with exact rows.
func (e *encoder) exactBits(k codingKey) int {
	if e.parts == nil {
		return 0
	}
	p := e.parts.of(k.slot(), e.cache)
	return wire.Exact{Form: p.form}.Bits() + p.chunk.Bits()
}

// measure prepares the headers of rows, which ascend by slot, and returns the size of
// everything in bits.
func (e *encoder) measure(keys []codingKey, chunks []rowcodec.Chunk) (bits int) {
	e.headers, e.exact, e.isExact = e.headers[:0], e.exact[:0], false
	if len(keys) == 0 {
		return 0
	}
	e.coding = rowCoding(keys)
	bits = e.coding.Bits()
	next := uint32(0)
	for i, k := range keys {
		h := wire.RowHeader{Skip: k.slot() - next, Baseline: k.baseline()}
		next = k.slot() + 1
		bits += chunks[i].Bits() + wire.RowHeaderBits(e.coding, h.Skip, h.Baseline)
		e.headers = append(e.headers, h)
		if e.parts != nil {
			exact := wire.Exact{Form: e.parts.of(k.slot(), e.cache).form}
			bits += e.exactBits(k)
			e.exact = append(e.exact, exact)
			e.isExact = e.isExact || exact.Form != wire.Ordinary
		}
	}
	if e.parts != nil && !e.isExact {
		bits -= len(keys) * wire.Exact{}.Bits()
	}
	e.bits = bits
	return bits
}

// pack appends the measured rows to b, in the form that follows a datagram's header.
func (e *encoder) pack(b []byte, f *frame, keys []codingKey, chunks []rowcodec.Chunk, from *rowcodec.Chunks) (p packed) {
	if len(keys) == 0 {
		return packed{bytes: b}
	}
	w := &e.writer
	w.Reset(b)
	wire.AppendRowCoding(w, e.coding)
	p.rows = uint32(len(keys))
	fold, components := uint64(0), f.schema.Components()
	for i, k := range keys {
		fold = wire.Fold(fold, f.summaries[k.slot()].handle)
		from.AddShares(&p.shares, chunks[i], components)
		p.anchored += uint32(k&anchoredKey) / uint32(anchoredKey)
		if k.age() == 0 {
			p.full++
		}
	}
	p.fold = wire.Fold16(fold)
	p.exact = e.isExact
	e.appendHeaders(w)
	from.Copy(w, e.transmitOrder(keys, chunks, p.anchored)...)
	if invariants.Enabled {
		invariants.Checkf(w.Bits() == e.bits, "rows of %d bits, measured as %d", w.Bits(), e.bits)
	}
	p.bytes = w.Bytes()
	return p
}

// transmitOrder returns the chunks in the order in which they are sent: anchored rows
// follow the others.
func (e *encoder) transmitOrder(keys []codingKey, chunks []rowcodec.Chunk, anchored uint32) []rowcodec.Chunk {
	if anchored == 0 && e.parts == nil {
		return chunks
	}
	e.order = e.order[:0]
	for _, run := range []codingKey{0, anchoredKey} {
		for i, k := range keys {
			if k&anchoredKey != run {
				continue
			}
			if e.order = append(e.order, chunks[i]); e.parts != nil {
				e.order = append(e.order, e.parts.of(k.slot(), e.cache).chunk)
			}
		}
	}
	return e.order
}

// appendHeaders writes the headers of the measured rows.
func (e *encoder) appendHeaders(w *bitio.Writer) {
	if !e.isExact {
		wire.AppendRowHeaders(w, e.coding, e.headers)
		return
	}
	for i, h := range e.headers {
		wire.AppendRowHeader(w, e.coding, h.Skip, h.Baseline)
		wire.AppendExact(w, e.exact[i])
	}
}

// packed is the content of a datagram after its header.
type packed struct {
	bytes []byte
	fold  uint16 // checksum of the handles
	rows  uint32
	exact bool // some are
	// rows without a baseline, anchored rows, and rows whose bits were made for another
	// viewer
	full, anchored, copied uint32
	shares                 schema.Shares // of all rows
}
