package wire

import "encoding/binary"

// Chunks holds the bits of rows, each coded once for all receivers that have
// the same past of it. It belongs to one goroutine while it is filled, and may
// be read by many after.
type Chunks struct {
	bits   []byte
	writer BitWriter
}

// Chunk is the place of one row's bits.
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
func (k *Chunks) Add(c *Codec, row Row, past *Past) Chunk {
	at := max(len(k.bits)-chunkPadding, 0)
	k.writer.Reset(k.bits[:at])
	c.Append(&k.writer, row, past)
	chunk := Chunk{uint32(at), uint32(k.writer.Bits())}
	k.bits = append(k.writer.Bytes(), make([]byte, chunkPadding)...)
	return chunk
}

// Copy appends a chunk to w.
func (k *Chunks) Copy(w *BitWriter, chunk Chunk) {
	from, n := k.bits[chunk.at:], uint(chunk.bits)
	for ; n > 56; n -= 56 {
		w.Write(binary.LittleEndian.Uint64(from)&(1<<56-1), 56)
		from = from[7:]
	}
	w.Write(binary.LittleEndian.Uint64(from)&(1<<n-1), n)
}
