package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// The file of an image, all of it little-endian:
//
//	magic "wimg" | version u32
//	chunks x { raw u32 | packed u32 | packed bytes, zstd | sum u64 }
//	the last chunk has raw = packed = 0, and nothing follows it
//
// A sum is xxhash64 of the whole file up to itself, so that no chunk can be left
// out, doubled or moved. It is checked before the chunk is unpacked, and keeps
// accidents out, not an adversary.
const (
	imageMagic   = "wimg"
	imageVersion = 1
	// chunkBytes is how much of the contents a chunk holds at most: what a reader
	// must have room for, whatever the file claims.
	chunkBytes = 1 << 20
	// maxPackedBytes is what zstd makes of a chunk at the worst, and some more.
	maxPackedBytes   = chunkBytes + chunkBytes/128 + 1024
	chunkHeaderBytes = 8
	sumBytes         = 8
)

// chunkWriter writes the chunks of an image. After an error it does nothing.
type chunkWriter struct {
	to      io.Writer
	sum     xxhash.Digest
	zstd    *zstd.Encoder
	raw     []byte // of the chunk to come
	packed  []byte
	written int64
	err     error
}

func newChunkWriter(to io.Writer) (*chunkWriter, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("world: image: %w", err)
	}
	w := &chunkWriter{to: to, zstd: encoder}
	w.sum.Reset()
	w.put(binary.LittleEndian.AppendUint32([]byte(imageMagic), imageVersion))
	return w, nil
}

// put writes to the file, and sums.
func (w *chunkWriter) put(b []byte) {
	if w.err != nil {
		return
	}
	_, _ = w.sum.Write(b) // never fails
	n, err := w.to.Write(b)
	w.written += int64(n)
	w.err = err
}

// bytes adds to the contents.
func (w *chunkWriter) bytes(b []byte) {
	for len(b) > 0 && w.err == nil {
		n := min(len(b), chunkBytes-len(w.raw))
		w.raw = append(w.raw, b[:n]...)
		b = b[n:]
		if len(w.raw) == chunkBytes {
			w.flush()
		}
	}
}

func (w *chunkWriter) flush() {
	if len(w.raw) == 0 {
		return
	}
	w.packed = w.zstd.EncodeAll(w.raw, append(w.packed[:0], make([]byte, chunkHeaderBytes)...))
	binary.LittleEndian.PutUint32(w.packed, uint32(len(w.raw)))
	binary.LittleEndian.PutUint32(w.packed[4:], uint32(len(w.packed)-chunkHeaderBytes))
	w.put(w.packed)
	w.putSum()
	w.raw = w.raw[:0]
}

func (w *chunkWriter) putSum() { w.put(binary.LittleEndian.AppendUint64(nil, w.sum.Sum64())) }

// end writes what is left, and the end.
func (w *chunkWriter) end() error {
	w.flush()
	w.put(make([]byte, chunkHeaderBytes))
	w.putSum()
	return errors.Join(w.err, w.zstd.Close())
}

// chunkReader reads the chunks of an image.
type chunkReader struct {
	from   io.Reader
	sum    xxhash.Digest
	zstd   *zstd.Decoder
	raw    []byte
	rest   []byte // of raw, not read yet
	packed []byte
	ended  bool
}

func newChunkReader(from io.Reader) (*chunkReader, error) {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(chunkBytes))
	if err != nil {
		return nil, fmt.Errorf("world: image: %w", err)
	}
	r := &chunkReader{from: from, zstd: decoder}
	r.sum.Reset()
	var head [len(imageMagic) + 4]byte
	err = r.get(head[:])
	switch version := binary.LittleEndian.Uint32(head[len(imageMagic):]); {
	case err != nil:
	case string(head[:len(imageMagic)]) != imageMagic:
		err = fmt.Errorf("%w: it does not begin with %q: it is no image", ErrImage, imageMagic)
	case version != imageVersion:
		err = fmt.Errorf("%w: it has version %d, this program reads %d", ErrImageVersion, version, imageVersion)
	}
	if err != nil {
		decoder.Close()
		return nil, err
	}
	return r, nil
}

// get reads from the file, and sums.
func (r *chunkReader) get(b []byte) error {
	_, err := io.ReadFull(r.from, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrImage)
	}
	if err != nil {
		return fmt.Errorf("world: image: reading: %w", err)
	}
	_, _ = r.sum.Write(b) // never fails
	return nil
}

// read fills b with contents.
func (r *chunkReader) read(b []byte) error {
	for len(b) > 0 {
		if len(r.rest) == 0 {
			if err := r.next(); err != nil {
				return err
			}
			if r.ended {
				return fmt.Errorf("%w: its contents end too early", ErrImage)
			}
		}
		n := copy(b, r.rest)
		b, r.rest = b[n:], r.rest[n:]
	}
	return nil
}

// next reads a chunk, or finds the end.
func (r *chunkReader) next() error {
	if r.ended {
		return nil
	}
	var head [chunkHeaderBytes]byte
	if err := r.get(head[:]); err != nil {
		return err
	}
	raw, packed := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if raw > chunkBytes || packed > maxPackedBytes {
		return fmt.Errorf("%w: a chunk of %d bytes, %d unpacked; the most are %d and %d", ErrImage, packed, raw, maxPackedBytes, chunkBytes)
	}
	r.packed = slices.Grow(r.packed[:0], int(packed))[:packed]
	if err := r.get(r.packed); err != nil {
		return err
	}
	want := r.sum.Sum64()
	var sum [sumBytes]byte
	if err := r.get(sum[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(sum[:]) != want {
		return fmt.Errorf("%w: a checksum is wrong: bytes have changed", ErrImage)
	}
	if r.ended = raw == 0; r.ended {
		return nil
	}
	var err error
	r.raw, err = r.zstd.DecodeAll(r.packed, slices.Grow(r.raw[:0], int(raw)))
	if err != nil || len(r.raw) != int(raw) {
		return fmt.Errorf("%w: a chunk cannot be unpacked: %d bytes instead of %d: %w", ErrImage, len(r.raw), raw, err)
	}
	r.rest = r.raw
	return nil
}

// end wants the contents to be over.
func (r *chunkReader) end() error {
	if len(r.rest) == 0 {
		if err := r.next(); err != nil {
			return err
		}
	}
	if !r.ended {
		return fmt.Errorf("%w: its contents go on behind the end", ErrImage)
	}
	return nil
}

func (r *chunkReader) close() { r.zstd.Close() }

// fixed are the element types of arrays in an image.
type fixed interface {
	~uint16 | ~uint32 | ~uint64 | ~float32
}

// bytesOf is the memory of an array.
func bytesOf[T fixed](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// swapBytes turns an array's elements from the machine's byte order into the
// file's, or back.
func swapBytes[T fixed](s []T) {
	size := int(unsafe.Sizeof(*new(T)))
	for b := bytesOf(s); len(b) > 0; b = b[size:] {
		reverse(b, size)
	}
}
