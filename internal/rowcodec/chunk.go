package rowcodec

import (
	"encoding/binary"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/schema"
)

// Chunks holds the bits of rows, each coded once for all receivers that have
// the same past of it. It belongs to one goroutine while it is filled, and may
// be read by many after.
type Chunks struct {
	bits     []byte
	writer   bitio.Writer
	forecast forecast // of the row that is coded
}

// Chunk is the place of one row's bits. Its shares are before it, in words of 8
// bytes, as many as the schema's components need.
type Chunk struct {
	at   uint32 // byte
	bits uint32
}

// chunkPadding follows the last chunk, so that copies can read whole words.
const chunkPadding = 8

// Bits is how long the chunk is.
func (k Chunk) Bits() int { return int(k.bits) }

// Reset forgets all chunks and keeps the memory.
func (k *Chunks) Reset() { k.bits = k.bits[:0] }

// Cut forgets the chunks that were added since Len was n.
func (k *Chunks) Cut(n int) { k.bits = k.bits[:n] }

// Len is how many bytes all chunks take.
func (k *Chunks) Len() int { return len(k.bits) }

// Add codes a row, in full if past is nil.
func (k *Chunks) Add(c *Codec, row schema.Row, past *Past) Chunk {
	before := max(len(k.bits)-chunkPadding, 0)
	at := before + 8*schema.ShareWords(c.schema.Components())
	k.bits = append(k.bits[:before], make([]byte, at-before)...)
	k.writer.Reset(k.bits)
	shares := c.append(&k.writer, row, past, &k.forecast)
	chunk := Chunk{uint32(at), uint32(k.writer.Bits())}
	k.bits = append(k.writer.Bytes(), make([]byte, chunkPadding)...)
	for i := before; i < at; i += 8 {
		binary.LittleEndian.PutUint64(k.bits[i:], shares[(i-before)/8])
	}
	return chunk
}

// Copy appends chunks to w. The state of the writer is kept in registers: rows
// are short, and most of what a viewer is sent is copied here.
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

// AddShares adds what the components of the chunk's row take, in bits, to sum, for
// rows of a schema with so many of them.
func (k *Chunks) AddShares(sum *schema.Shares, chunk Chunk, components int) {
	words := schema.ShareWords(components)
	from := k.bits[int(chunk.at)-8*words:]
	for i := range words {
		sum[i] += binary.LittleEndian.Uint64(from[8*i:])
	}
}
