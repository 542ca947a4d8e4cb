package replication

import (
	"math/bits"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// encoder packs rows into a datagram, in the order of their slots. Its buffers are
// reused: a warm encoder allocates nothing.
type encoder struct {
	writer  bitio.Writer
	keys    []codingKey      // of the rows that were picked, ascending by slot
	rows    []uint32         // of their rows
	chunks  []rowcodec.Chunk // their bits
	coding  wire.RowCoding
	headers []wire.RowHeader
	order   []rowcodec.Chunk
	packed  []byte
}

// measure readies the headers of rows, which ascend by slot, and returns how many
// bits all of it takes.
func (e *encoder) measure(keys []codingKey, chunks []rowcodec.Chunk) (bits int) {
	e.headers = e.headers[:0]
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
	}
	return bits
}

// rowCoding says how the headers of rows, which ascend by slot, are written.
func rowCoding(keys []codingKey) wire.RowCoding {
	return wire.RowCoding{Usual: majorityBaseline(keys), SkipBits: skipBits(keys)}
}

// usual is the baseline that most rows have, if there is one that most of them
// have: what is left when different ones cancel each other out.
func majorityBaseline(keys []codingKey) wire.Baseline {
	var left codingKey
	lead := 0
	for _, k := range keys {
		switch {
		case lead == 0:
			left, lead = k, 1
		case k.baselineBits() == left.baselineBits():
			lead++
		default:
			lead--
		}
	}
	return left.baseline()
}

// skipBits is the order of the numbers of slots passed over, by how far apart the
// rows are.
func skipBits(keys []codingKey) uint8 {
	spread := (keys[len(keys)-1].slot() - keys[0].slot()) / uint32(len(keys))
	return uint8(min(bits.Len32(spread/2), wire.MaxSkipBits))
}

// pack writes the rows that were measured as what follows a datagram's header, to
// b.
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
	wire.AppendRowHeaders(w, e.coding, e.headers)
	from.Copy(w, e.transmitOrder(keys, chunks, p.anchored)...)
	p.bytes = w.Bytes()
	return p
}

// inOrder puts the bits of rows in the order in which they travel: those that are
// anchored come after the others.
func (e *encoder) transmitOrder(keys []codingKey, chunks []rowcodec.Chunk, anchored uint32) []rowcodec.Chunk {
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
	full, anchored, copied uint32
	shares                 schema.Shares // of all rows
}
