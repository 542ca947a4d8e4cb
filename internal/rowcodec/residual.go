package rowcodec

import (
	"math/bits"

	"github.com/worldd/worldd/internal/bitio"
)

// Residuals are grouped into lanes by their field. Each lane has its own codes.
const (
	lanePosition = 0 // lanes 0 to 2: the axes
	laneRotation = 3 // lanes 3 to 5: the three smaller components, in order
	laneLinear   = 6 // predicted numbers
	laneNumber   = 7
	Lanes        = 8
	Scales       = 32 // codes per lane, by the expected size of a residual
	headSigns    = 2  // number of first lanes whose signs the head carries
)

// Symbols of a residual: magnitudes 0 to 7, then two per power of two, then the
// escape, which is followed by the number itself.
const (
	exact         = 8
	largestPower  = 19
	symbolEscape  = exact + 2*(largestPower-2)
	ResidualCodes = symbolEscape + 1
)

// bucket returns the symbol of a magnitude and the number of its low bits that follow.
func bucket(m uint64) (symbol int, low uint) {
	if m < uint64(len(smallBuckets)) {
		b := smallBuckets[m]
		return int(b.symbol), uint(b.low)
	}
	return largeBucket(m)
}

// smallBuckets holds the buckets of small residuals, which are most. A table avoids an
// unpredictable branch.
var smallBuckets = func() (all [256]struct{ symbol, low uint8 }) {
	for m := range all {
		symbol, low := m, uint(0)
		if m >= exact {
			symbol, low = largeBucket(uint64(m))
		}
		all[m].symbol, all[m].low = uint8(symbol), uint8(low)
	}
	return all
}()

// largeBucket is bucket for magnitudes of at least exact.
func largeBucket(m uint64) (symbol int, low uint) {
	n := uint(bits.Len64(m)) - 1
	if n > largestPower {
		return symbolEscape, 0
	}
	return exact + int(n-3)*2 + int(m>>((n-1)&63)&1), n - 1
}

// magnitudeOf returns the smallest magnitude of a symbol and the number of low bits
// that follow.
func magnitudeOf(symbol int) (least uint64, low uint) {
	low = uint(symbol)/2 - 2
	top := uint64(2 | symbol&1)
	if symbol < exact { // unpredictable, so written to compile to conditional moves
		top = uint64(symbol)
	}
	if symbol < exact {
		low = 0
	}
	return top << (low & 63), low
}

// ringDifference returns now-was by the shorter way around the ring of the numbers
// 0 to most.
func ringDifference(now, was, most uint32) int64 {
	d, modulus := int64(now)-int64(was), int64(most)+1
	switch {
	case 2*d > modulus:
		return d - modulus
	case 2*d <= -modulus:
		return d + modulus
	}
	return d
}

// ringSum returns was+d in the ring of the numbers 0 to most.
func ringSum(was uint32, d int64, most uint32) uint32 {
	v, modulus := int64(was)+d, int64(most)+1
	v += modulus & (v >> 63)
	if v >= modulus {
		v -= modulus
	}
	return uint32(v)
}

// residual holds the inputs to a residual's coding that do not depend on earlier residuals
// of its unit.
type residual struct {
	rest     uint64        // prediction.rest
	weight   uint64        // laneWeights.missed
	codes    *[Scales]code // by scale
	expected uint32        // value
}

// scale returns the scale of the residual, which selects the code. missed is the sum of the
// magnitudes of earlier residuals in its lanes.
func (x *residual) scale(missed int64) int {
	sum := int64(x.rest+x.weight*uint64(smallMagnitude(missed))) >> 40
	return int(min(max(sum, 0), Scales-1))
}

// appendResiduals writes the differences between the values of a unit and the expected
// values. The signs of the first headSigned residuals are in the head. missed is the sum of
// the magnitudes of earlier residuals in these lanes; appendResiduals returns the new sum.
func (u *unit) appendResiduals(w *bitio.Writer, headSigned int, values []uint32, missed int64, expected *[maxResiduals]residual) int64 {
	var ready uint64 // bits to be written
	var count uint   // bits in ready
	most, width := u.max, u.bits
	for i, now := range values {
		x := &expected[i]
		d := ringDifference(now, x.expected, most)
		code := &x.codes[x.scale(missed)&(Scales-1)]
		sign := uint64(d >> 63)
		m := (uint64(d) ^ sign) - sign
		missed += int64(m)
		known := i < headSigned
		if known {
			m = uint64(d) ^ sign
		}
		symbol, low := bucket(m)
		extra, n := m&(1<<(low&63)-1), low
		if !known {
			// The sign follows, unless the residual is 0.
			extra |= (sign & 1) << (low & 63)
			n += uint(-m >> 63)
		}
		if symbol == symbolEscape {
			extra, n = uint64(now), width
		}
		coded, length := code.of(symbol)
		n += length
		if count+n > 56 {
			w.Write(ready, count)
			ready, count = 0, 0
		}
		ready |= (coded | extra<<(length&63)) << (count & 63)
		count += n
	}
	w.Write(ready, count)
	return missed
}

// readResiduals reads the values of a unit that appendResiduals wrote. signs holds the
// signs of the first headSigned residuals, one per bit.
func (u *unit) readResiduals(r *bitio.Reader, headSigned, signs int, values []uint32, missed int64, f *prediction) int64 {
	expected := f.residuals[:min(len(values), maxResiduals)]
	for i := 0; i < len(expected); i++ {
		i, missed = u.readPlain(r, i, headSigned, signs, values, missed, expected)
		if i < len(expected) {
			values[i], missed = u.readAny(r, i, i < headSigned, -int64(signs>>(i&63)&1), missed, &expected[i])
		}
	}
	return missed
}

// readPlain reads residuals from the i-th on, up to the first that is written in full, is
// out of range, or is near the end of the bits. It returns the index of that residual. It
// calls no function, so that its state stays in registers.
func (u *unit) readPlain(r *bitio.Reader, i, headSigned, signs int, values []uint32, missed int64, expected []residual) (int, int64) {
	ahead, left := r.Window()
	all, most := left, u.max
	largest := int64((uint64(most) + 1) / 2)
	for ; i < len(expected) && i < len(values); i++ {
		x := &expected[i]
		e := x.codes[x.scale(missed)&(Scales-1)].lookup(ahead)
		d, size, n := e.residual(ahead, i < headSigned, -int64(signs>>(i&63)&1))
		if size > largest || n > left {
			break
		}
		ahead >>= n & 63
		left -= n
		missed += size
		values[i] = ringSum(x.expected, d, most)
	}
	r.Skip(all - left)
	return i, missed
}

// residual returns the difference that e and the following bits encode, its magnitude, and
// its length in bits. The sign, 0 or -1, is either known or follows.
func (e entry) residual(ahead uint64, known bool, sign int64) (d, size int64, n uint) {
	n, low := e.bits(), e.low()
	ahead >>= n
	n += low
	size = int64(e.value()<<low | ahead&(1<<low-1))
	if known {
		return size ^ sign, size - sign, n
	}
	sign = -int64(ahead >> low & 1)
	return (size ^ sign) - sign, size, n + uint(uint64(-size)>>63) // 0 has no sign
}

// readAny reads the i-th residual in any form. It returns the value and the new sum of the
// magnitudes.
func (u *unit) readAny(r *bitio.Reader, i int, known bool, sign, missed int64, x *residual) (uint32, int64) {
	ahead := r.Peek()
	e := x.codes[x.scale(missed)].lookup(ahead)
	if e.value() == entryEscape {
		r.Skip(e.bits())
		v, size := u.readEscaped(r, i, x.expected)
		return v, missed + size
	}
	d, size, n := e.residual(ahead, known, sign)
	r.Skip(n)
	if 2*size > int64(u.max)+1 {
		r.Fail("%s differs by %d, among %d numbers", u.path(i), d, uint64(u.max)+1)
		return 0, missed
	}
	return ringSum(x.expected, d, u.max), missed + size
}

// readEscaped reads a number written in full.
func (u *unit) readEscaped(r *bitio.Reader, i int, expected uint32) (v uint32, size int64) {
	v = uint32(r.Read(u.bits))
	if v > u.max {
		r.Fail("%s is %d, at most %d is allowed", u.path(i), v, u.max)
		return 0, 0
	}
	return v, absolute(ringDifference(v, expected, u.max))
}

// path returns the path of the field of the unit's i-th residual.
func (u *unit) path(i int) string { return u.fields[min(i, len(u.fields)-1)].Path }
