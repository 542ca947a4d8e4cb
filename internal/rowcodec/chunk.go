package rowcodec

import (
	"encoding/binary"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
)

// Chunks holds encoded rows. Each row is encoded once for all receivers with the
// same past. One goroutine fills a Chunks; then any number may read it.
type Chunks struct {
	bits       []byte
	writer     bitio.Writer
	began      int        // offset of the chunk between Begin and End
	prediction prediction // scratch space for the row being encoded
}

// Chunk locates one encoded row in a Chunks. The row's Shares precede its bits, in as many
// uint64s as the number of components needs.
type Chunk struct {
	at   uint32 // byte offset of the bits
	bits uint32 // length
}

// chunkPadding follows the last chunk so that Copy can read whole uint64s.
const chunkPadding = 8

// Bits returns the length of the chunk in bits.
func (k Chunk) Bits() int { return int(k.bits) }

// Reset removes all chunks and keeps the memory.
func (k *Chunks) Reset() { k.bits = k.bits[:0] }

// Cut removes the chunks added since Len was n.
func (k *Chunks) Cut(n int) { k.bits = k.bits[:n] }

// Len returns the size of all chunks in bytes.
func (k *Chunks) Len() int { return len(k.bits) }

// Add encodes a row, in full if past is nil.
func (k *Chunks) Add(c *Codec, row rowschema.Row, past *Past) Chunk {
	if past != nil && c.tables.sample != nil {
		c.tables.sample(row, past)
	}
	before := max(len(k.bits)-chunkPadding, 0)
	at := before + 8*rowschema.ShareLen(c.layout.Components())
	k.bits = append(k.bits[:before], make([]byte, at-before)...)
	k.writer.Reset(k.bits)
	shares := c.append(&k.writer, row, past, &k.prediction)
	chunk := Chunk{uint32(at), uint32(k.writer.Bits())}
	k.bits = append(k.writer.Bytes(), make([]byte, chunkPadding)...)
	for i := before; i < at; i += 8 {
		binary.LittleEndian.PutUint64(k.bits[i:], shares[(i-before)/8])
	}
	return chunk
}

// Begin returns a writer for a chunk that is not a row: it has no Shares. End ends the
// chunk. No other chunk may be added in between.
func (k *Chunks) Begin() *bitio.Writer {
	k.bits = k.bits[:max(len(k.bits)-chunkPadding, 0)]
	k.began = len(k.bits)
	k.writer.Reset(k.bits)
	return &k.writer
}

// End ends the chunk that Begin began.
func (k *Chunks) End() Chunk {
	chunk := Chunk{uint32(k.began), uint32(k.writer.Bits())}
	k.bits = append(k.writer.Bytes(), make([]byte, chunkPadding)...)
	return chunk
}

// Copy appends chunks to w. It keeps the writer's state in registers because rows
// are short and most of a viewer's data is copied here.
func (k *Chunks) Copy(w *bitio.Writer, chunks ...Chunk) {
	buf, at, acc, n := w.Open()
	for _, chunk := range chunks {
		from := k.bits[chunk.at:]
		for left := uint(chunk.bits); left > 0; {
			take := min(left, 56)
			if at+8 > len(buf) {
				buf = w.Lengthen(at)
			}
			at, acc, n = bitio.Put(buf, at, acc, n, binary.LittleEndian.Uint64(from)&(1<<take-1), take)
			left -= take
			from = from[7:]
		}
	}
	w.Close(at, acc, n)
}

// AddShares adds the bits of each component of the chunk's row to sum. components
// is the schema's number of components.
func (k *Chunks) AddShares(sum *rowschema.Shares, chunk Chunk, components int) {
	n := rowschema.ShareLen(components)
	from := k.bits[int(chunk.at)-8*n:]
	for i := range n {
		sum[i] += binary.LittleEndian.Uint64(from[8*i:])
	}
}
