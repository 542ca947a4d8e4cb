package replication

import (
	"slices"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// encoder packs rows into a datagram, ascending by slot. Its buffers are reused: a warm
// encoder allocates nothing.
type encoder struct {
	writer  bitio.Writer
	coding  wire.RowCoding
	headers []wire.RowHeader
	order   []rowcodec.Chunk
	buffer  []byte      // packed rows
	parts   *exactParts // nil for viewers that do not simulate
	cache   *rowCache   // cache of the parts' bits
	exact   []wire.Exact
	isExact bool // at least one row is exact
	bits    int  // size of the rows with their headers, in bits

	teleports []byte // of the rows, for the datagram's header
}

// beginViewer prepares for a viewer. parts and cache are nil unless the viewer simulates.
func (e *encoder) beginViewer(parts *exactParts, cache *rowCache) { e.parts, e.cache = parts, cache }

// exactBits returns the size of a row's exact part in bits; 0 for a viewer that does not
// simulate.
func (e *encoder) exactBits(k codingKey) int {
	if e.parts == nil {
		return 0
	}
	p := e.parts.partOf(k.slot(), e.cache)
	return wire.Exact{Form: p.form}.Bits() + p.chunk.Bits()
}

// writeHeaders begins to pack rows: it writes their headers and returns the size of headers,
// rows and teleports in bits. keys ascend by slot.
func (e *encoder) writeHeaders(f *frame, keys []codingKey, chunks []rowcodec.Chunk) (bits int) {
	w := &e.writer
	w.Reset(e.buffer[:0])
	e.exact, e.isExact, e.bits = e.exact[:0], false, 0
	e.teleports = f.teleports.appendRows(e.teleports[:0], keys, f.tick)
	if len(keys) == 0 {
		return 0
	}
	headers := slices.Grow(e.headers[:0], len(keys))[:len(keys)]
	next := uint32(0)
	for i, k := range keys {
		headers[i] = wire.RowHeader{Skip: k.slot() - next, Baseline: k.baseline()}
		next = k.slot() + 1
		bits += chunks[i].Bits()
	}
	e.headers = headers
	if e.parts != nil {
		bits += e.measureExact(keys)
	}
	e.coding = rowCoding(keys)
	wire.AppendRowCoding(w, e.coding)
	e.appendHeaders(w)
	e.bits = bits + w.Bits()
	return e.bits + 8*wire.TeleportBytes(e.teleports)
}

// measureExact collects the forms of rows for a viewer that simulates, and returns the size
// of the exact parts in bits.
func (e *encoder) measureExact(keys []codingKey) (bits int) {
	for _, k := range keys {
		p := e.parts.partOf(k.slot(), e.cache)
		bits += p.chunk.Bits()
		e.exact = append(e.exact, wire.Exact{Form: p.form})
		e.isExact = e.isExact || p.form != wire.Ordinary
	}
	return bits
}

// packRows packs the rows whose headers writeHeaders wrote, as the content of a datagram
// after its header. The bytes are valid until the next writeHeaders.
func (e *encoder) packRows(f *frame, keys []codingKey, chunks []rowcodec.Chunk, from *rowcodec.Chunks) (p packed) {
	if len(keys) == 0 {
		return p
	}
	w := &e.writer
	p.rows = uint32(len(keys))
	fold, components := uint64(0), len(f.schema.Components())
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
	from.Copy(w, e.transmitOrder(keys, chunks, p.anchored)...)
	if invariants.Enabled {
		invariants.Checkf(w.Bits() == e.bits, "rows of %d bits, measured as %d", w.Bits(), e.bits)
	}
	e.buffer = w.Bytes()
	p.bytes, p.teleports = e.buffer, e.teleports
	return p
}

// transmitOrder returns the chunks in transmission order: anchored rows follow the others.
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
			e.order = append(e.order, chunks[i])
			if e.parts != nil {
				e.order = append(e.order, e.parts.partOf(k.slot(), e.cache).chunk)
			}
		}
	}
	return e.order
}

// appendHeaders writes the headers.
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
	bytes     []byte
	teleports []byte // of the rows, for the header
	fold      uint16 // checksum of the handles
	rows      uint32
	exact     bool // at least one row is exact
	// complete: this datagram completes the snapshot's required rows
	complete bool
	// rows without a baseline, anchored rows, and rows copied from another viewer's bits
	full, anchored, copied uint32
	shares                 rowschema.Shares // sums over all rows
}

// size returns the bytes that p takes in a datagram.
func (p *packed) size() int { return len(p.bytes) + wire.TeleportBytes(p.teleports) }
