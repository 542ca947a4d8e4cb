package bitio

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/worldd/worldd/internal/invariants"
)

// Writer appends bits to a []byte, least significant bit first: bit i of the string is
// bit i%8 of byte i/8. The zero value appends to nil. A Writer does not allocate while its
// slice has 8 bytes of spare capacity.
type Writer struct {
	buf   []byte // as long as its capacity
	start int    // length of the slice given to Reset
	at    int    // length including the bytes written
	acc   uint64 // bits not yet in buf, from bit 0
	n     uint   // number of bits in acc: 0 to 7 between calls
}

// Reset makes w append to b, starting at its next byte.
func (w *Writer) Reset(b []byte) {
	*w = Writer{buf: b[:cap(b)], start: len(b), at: len(b)}
}

// Write appends the low n bits of v, n at most 64. Higher bits must be zero.
func (w *Writer) Write(v uint64, n uint) {
	if invariants.Enabled {
		invariants.Checkf(n == 64 || v>>n == 0, "%d does not fit into %d bits", v, n)
	}
	if n > 56 || w.at+8 > len(w.buf) {
		w.writeSlow(v, n)
		return
	}
	w.at, w.acc, w.n = Put(w.buf, w.at, w.acc, w.n, v, n)
}

// Open returns w's state for callers that keep it in registers. They write with Put while
// at+8 <= len(buf), call Lengthen otherwise, and finish with Close. len(buf) is the
// buffer's capacity. The complete bytes written precede index at, and acc holds the n <= 7
// bits that follow them.
func (w *Writer) Open() (buf []byte, at int, acc uint64, n uint) { return w.buf, w.at, w.acc, w.n }

// Close stores the state returned by Put back into w.
func (w *Writer) Close(at int, acc uint64, n uint) { w.at, w.acc, w.n = at, acc, n }

// Lengthen grows w's buffer, keeping the first at bytes, so that 8 more fit, and returns it.
func (w *Writer) Lengthen(at int) []byte {
	w.buf = append(w.buf[:at], make([]byte, 8)...)
	w.buf = w.buf[:cap(w.buf)]
	return w.buf
}

// Put appends the low more bits of v, at most 56, to a state from Open. buf must have room
// for 8 bytes at at.
func Put(buf []byte, at int, acc uint64, n uint, v uint64, more uint) (int, uint64, uint) {
	acc |= v << (n & 63)
	n += more
	binary.LittleEndian.PutUint64(buf[at:], acc)
	return at + int(n>>3), acc >> (n & 56), n & 7
}

// writeSlow handles the end of the buffer, and fields that are too wide for the
// accumulator.
func (w *Writer) writeSlow(v uint64, n uint) {
	if w.at+8 > len(w.buf) {
		w.Lengthen(w.at)
	}
	if n > 56 {
		w.Write(v&(1<<32-1), 32)
		v, n = v>>32, n-32
	}
	w.Write(v, n)
}

// WriteSized appends v in the sized form: 2 bits that choose a width of 4, 8,
// 16 or 32 bits, then v in the smallest width that holds it.
func (w *Writer) WriteSized(v uint32) {
	class := uint(0)
	if v > 0xf {
		class = uint(bits.Len32((uint32(bits.Len32(v)) - 1) >> 2))
	}
	w.Write(uint64(class)|uint64(v)<<2, 2+4<<class)
}

// WriteGolomb appends v in the exponential Golomb form of order k. With u = v + 2^k, it
// consists of a 1 bit for each bit of u beyond k+1 bits, a 0 bit, and u without its highest
// bit.
func (w *Writer) WriteGolomb(v uint32, k uint) {
	if v >= golombShort {
		u := uint64(v) + 1<<k
		low := uint(bits.Len64(u)) - 1
		ones := low - k
		w.Write(1<<ones-1, ones+1)
		w.Write(u&(1<<low-1), low)
		return
	}
	w.Write(Golomb(v, k))
}

// golombShort bounds the numbers whose Golomb form fits into one Write.
const golombShort = 1 << 27

// Golomb returns the Golomb form of a number below 2^27 and its length, at most 55 bits,
// for callers that write several forms at once.
func Golomb(v uint32, k uint) (form uint64, n uint) {
	u := uint64(v) + 1<<k
	low := uint(bits.Len64(u)) - 1
	ones := low - k
	return (u^1<<low)<<(ones+1) | (1<<ones - 1), ones + 1 + low
}

// GolombBits returns the number of bits that WriteGolomb writes.
func GolombBits(v uint32, k uint) int {
	return 2*bits.Len64(uint64(v)>>k+1) - 1 + int(k)
}

// Bits returns the number of bits written since Reset.
func (w *Writer) Bits() int { return (w.at-w.start)*8 + int(w.n) }

// Bytes returns the slice given to Reset with the bits appended, the last byte padded with
// zeros. It aliases the writer's memory; further writes are allowed.
func (w *Writer) Bytes() []byte {
	if w.n == 0 {
		return w.buf[:w.at]
	}
	return append(w.buf[:w.at], byte(w.acc))
}

// Reader reads the output of a Writer from untrusted bytes. Reading past the end returns
// zeros and sets a sticky error. It aliases its input.
type Reader struct {
	buf []byte
	pos int // next bit
	err error
}

// Reset makes r read b from its first bit.
func (r *Reader) Reset(b []byte) { *r = Reader{buf: b} }

// Read returns the next n bits, n at most 64.
func (r *Reader) Read(n uint) uint64 {
	if r.err != nil {
		return 0
	}
	if int(n) > len(r.buf)*8-r.pos {
		r.Fail("ends inside a bit field: %d bits wanted, %d left", n, len(r.buf)*8-r.pos)
		return 0
	}
	at, shift := r.pos>>3, uint(r.pos&7)
	r.pos += int(n)
	if at+8 <= len(r.buf) && n <= 56 {
		return binary.LittleEndian.Uint64(r.buf[at:]) >> shift & (1<<n - 1)
	}
	return r.gather(at, shift, n)
}

// gather reads near the end of the buffer, and fields wider than 56 bits.
func (r *Reader) gather(at int, shift, n uint) uint64 {
	var v uint64
	for got := uint(0); got < n; at++ {
		v |= uint64(r.buf[at]>>shift) << got
		got += 8 - shift
		shift = 0
	}
	if n < 64 {
		v &= 1<<n - 1
	}
	return v
}

// Peek returns at least the next 56 bits without consuming them. Bits beyond the end are 0.
func (r *Reader) Peek() uint64 {
	at, shift := r.pos>>3, uint(r.pos&7)
	if at+8 > len(r.buf) {
		return r.last(at) >> shift
	}
	return binary.LittleEndian.Uint64(r.buf[at:]) >> shift
}

// Window returns the next n bits, at least 56, for callers that keep them in registers and
// then Skip the consumed bits. Near the end n is 0.
func (r *Reader) Window() (ahead uint64, n uint) {
	at, shift := r.pos>>3, uint(r.pos&7)
	if at+8 > len(r.buf) {
		return 0, 0
	}
	return binary.LittleEndian.Uint64(r.buf[at:]) >> shift, 64 - shift
}

// last returns the bytes from at on, when fewer than 8 are left.
func (r *Reader) last(at int) (last uint64) {
	for i := len(r.buf) - 1; i >= at; i-- {
		last = last<<8 | uint64(r.buf[i])
	}
	return last
}

// Skip consumes n bits that Peek returned.
func (r *Reader) Skip(n uint) {
	r.pos += int(n)
	if r.pos > len(r.buf)*8 {
		r.overrun()
	}
}

// overrun is separate so that Skip is inlined.
//
//go:noinline
func (r *Reader) overrun() {
	r.pos = len(r.buf) * 8
	r.Fail("ends inside a symbol")
}

// ReadBool returns the next bit.
func (r *Reader) ReadBool() bool { return r.Read(1) != 0 }

// ReadSized reads a number in sized form. A width larger than necessary is an error.
func (r *Reader) ReadSized() uint32 {
	class := uint(r.Read(2))
	v := uint32(r.Read(4 << class))
	if class > 0 && r.err == nil && v>>(2<<class) == 0 {
		r.Fail("number %d is not in its shortest form", v)
		return 0
	}
	return v
}

// ReadGolomb reads a number in the exponential Golomb form of order k. It rejects numbers
// above most. Short forms take a single Peek.
func (r *Reader) ReadGolomb(k uint, most uint32) uint32 {
	ahead := r.Peek()
	ones := uint(bits.TrailingZeros64(^ahead))
	low := ones + k
	v := 1<<(low&63) | ahead>>((ones+1)&63)&(1<<(low&63)-1)
	if ones+1+low > 56 {
		v = r.readLongGolomb(ones, k)
	} else {
		r.Skip(ones + 1 + low)
	}
	v -= 1 << (k & 63)
	if v > uint64(most) {
		r.Fail("number %d, at most %d is allowed", v, most)
		return 0
	}
	return uint32(v)
}

// readLongGolomb reads a form longer than a Peek, and returns the number plus 2^k.
func (r *Reader) readLongGolomb(ones, k uint) uint64 {
	ones = min(ones, 32-k)
	r.Skip(ones)
	if r.Read(1) != 0 {
		r.Fail("a number of more than 32 bits")
		return 1 << k
	}
	return 1<<(ones+k) | r.Read(ones+k)
}

// Left returns the number of unread bits, including padding.
func (r *Reader) Left() int { return len(r.buf)*8 - r.pos }

// Err returns the first error, or nil.
func (r *Reader) Err() error { return r.err }

// Fail records an error unless there already is one.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// End returns Err, or an error if more than the zero padding of the last byte is unread.
func (r *Reader) End() error {
	if r.err != nil {
		return r.err
	}
	if left := r.Left(); left >= 8 {
		r.Fail("%d bits too many", left)
	} else if padding := r.Read(uint(left)); padding != 0 {
		r.Fail("the padding of the last byte is %b, not zero", padding)
	}
	return r.err
}
