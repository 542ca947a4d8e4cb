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

// The file format of an image, all little-endian:
//
//	magic "wimg" | version u32
//	chunks x { raw u32 | packed u32 | packed bytes, zstd | sum u64 }
//	the last chunk has raw = packed = 0, and nothing follows it
//
// A sum is xxhash64 of the whole file before it, which detects chunks that are missing,
// duplicated or moved. Readers check it before they decompress the chunk. It protects from
// accidents, not from adversaries. All versions have these chunks and sums, so that every
// program can tell an image of another version from a damaged image.
const (
	imageMagic = "wimg"
	// imageVersion: version 1 has no causes of doomed entities, and versions 1 and 2 have
	// no paths of effects. Up to version 3, bodies could sleep where effects change with
	// time, and RestTicks did not depend on TickHz. Versions up to 4 name no program and give no
	// sizes of values.
	imageVersion = 5
	// chunkBytes bounds the uncompressed size of a chunk, and so a reader's buffer,
	// whatever the file claims.
	chunkBytes = 1 << 20
	// maxPackedBytes exceeds the worst-case size of a compressed chunk.
	maxPackedBytes   = chunkBytes + chunkBytes/128 + 1024
	chunkHeaderBytes = 8
	sumBytes         = 8
)

// chunkWriter writes the chunks of an image. After an error it writes nothing.
type chunkWriter struct {
	to      io.Writer
	sum     xxhash.Digest
	zstd    *zstd.Encoder
	raw     []byte // pending contents of the next chunk
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

// put writes to the file and updates the checksum.
func (w *chunkWriter) put(b []byte) {
	if w.err != nil {
		return
	}
	_, _ = w.sum.Write(b) // never fails
	n, err := w.to.Write(b)
	w.written += int64(n)
	w.err = err
}

// bytes appends to the contents.
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

// end writes the last chunk and the end marker.
func (w *chunkWriter) end() error {
	w.flush()
	w.put(make([]byte, chunkHeaderBytes))
	w.putSum()
	return errors.Join(w.err, w.zstd.Close())
}

// chunkReader reads the chunks of an image.
type chunkReader struct {
	version uint32
	from    io.Reader
	sum     xxhash.Digest
	zstd    *zstd.Decoder
	raw     []byte
	rest    []byte // unread part of raw
	packed  []byte
	ended   bool
	err     error // first error of frame: later chunks are not read
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
		err = fmt.Errorf("%w: not an image: it does not begin with %q", ErrImage, imageMagic)
	case version == 0:
		err = fmt.Errorf("%w: there is no version 0", ErrImage)
	default:
		r.version = version
	}
	if err != nil {
		decoder.Close()
		return nil, err
	}
	return r, nil
}

// get reads from the file and updates the checksum.
func (r *chunkReader) get(b []byte) error {
	_, err := io.ReadFull(r.from, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends early", ErrImage)
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
				return fmt.Errorf("%w: its contents end early", ErrImageWorld)
			}
		}
		n := copy(b, r.rest)
		b, r.rest = b[n:], r.rest[n:]
	}
	return nil
}

// next reads the next chunk, or the end marker.
func (r *chunkReader) next() error {
	if r.ended || r.err != nil {
		return r.err
	}
	var raw uint32
	raw, r.err = r.frame()
	if r.err != nil || r.ended {
		return r.err
	}
	var err error
	r.raw, err = r.zstd.DecodeAll(r.packed, slices.Grow(r.raw[:0], int(raw)))
	if err != nil || len(r.raw) != int(raw) {
		return fmt.Errorf("%w: a chunk cannot be decompressed: %d bytes instead of %d: %w", ErrImageWorld, len(r.raw), raw, err)
	}
	r.rest = r.raw
	return nil
}

// checkRest checks the sums of all chunks that have not been read.
func (r *chunkReader) checkRest() error {
	for !r.ended && r.err == nil {
		_, r.err = r.frame()
	}
	return r.err
}

// frame reads a chunk into packed and checks its sum. It returns its uncompressed size.
func (r *chunkReader) frame() (raw uint32, err error) {
	var head [chunkHeaderBytes]byte
	if err := r.get(head[:]); err != nil {
		return 0, err
	}
	raw, packed := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if raw > chunkBytes || packed > maxPackedBytes {
		return 0, fmt.Errorf("%w: a chunk of %d bytes, %d uncompressed; at most %d and %d", ErrImage, packed, raw, maxPackedBytes, chunkBytes)
	}
	r.packed = slices.Grow(r.packed[:0], int(packed))[:packed]
	if err := r.get(r.packed); err != nil {
		return 0, err
	}
	want := r.sum.Sum64()
	var sum [sumBytes]byte
	if err := r.get(sum[:]); err != nil {
		return 0, err
	}
	if binary.LittleEndian.Uint64(sum[:]) != want {
		return 0, fmt.Errorf("%w: wrong checksum: its bytes were changed", ErrImage)
	}
	r.ended = raw == 0
	return raw, nil
}

// end checks that the contents have ended.
func (r *chunkReader) end() error {
	if len(r.rest) == 0 {
		if err := r.next(); err != nil {
			return err
		}
	}
	if !r.ended {
		return fmt.Errorf("%w: its contents are longer than expected", ErrImageWorld)
	}
	return nil
}

func (r *chunkReader) close() { r.zstd.Close() }

// fixed is the set of element types of arrays in an image.
type fixed interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32
}

// bytesOf returns the memory of an array.
func bytesOf[T fixed](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// swapBytes converts an array between the machine's byte order and the file's.
func swapBytes[T fixed](s []T) {
	size := int(unsafe.Sizeof(*new(T)))
	for b := bytesOf(s); len(b) > 0; b = b[size:] {
		reverse(b, size)
	}
}
