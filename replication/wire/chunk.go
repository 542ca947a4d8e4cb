package wire

import "encoding/binary"

// Chunks holds the bits of rows, each coded once for all receivers that have
// the same past of it. It belongs to one goroutine while it is filled, and may
// be read by many after.
type Chunks struct {
	bits   []byte
	shares []uint64 // of each chunk, as many words as it has for the schema
	writer BitWriter
}

// Chunk is the place of one row's bits.
type Chunk struct {
	at     uint32 // byte
	bits   uint32
	shares uint32 // the first of them
}

// chunkPadding follows the last chunk, so that copies can read whole words.
const chunkPadding = 8

// Bits is how long the chunk is.
func (k Chunk) Bits() int { return int(k.bits) }

// Reset forgets all chunks and keeps the memory.
func (k *Chunks) Reset() { k.bits, k.shares = k.bits[:0], k.shares[:0] }

// Len is how many bytes all chunks take.
func (k *Chunks) Len() int { return len(k.bits) }

// Add codes a row, in full if past is nil.
func (k *Chunks) Add(c *Codec, row Row, past *Past) Chunk {
	at := max(len(k.bits)-chunkPadding, 0)
	k.writer.Reset(k.bits[:at])
	shares := c.Append(&k.writer, row, past)
	chunk := Chunk{uint32(at), uint32(k.writer.Bits()), uint32(len(k.shares))}
	k.shares = append(k.shares, shares[:shareWords(c.schema.Components())]...)
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

// AddShares adds what the components of the chunk's row take, in bits, to sum, for
// rows of a schema with so many of them.
func (k *Chunks) AddShares(sum *Shares, chunk Chunk, components int) {
	for i := range shareWords(components) {
		sum[i] += k.shares[int(chunk.shares)+i]
	}
}
