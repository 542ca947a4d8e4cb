package rowcodec

import (
	"math"

	"github.com/worldd/worldd/replication/schema"
)

// vector is a position or displacement along three axes. It is a struct rather than an
// array so that it is passed in registers.
type vector struct{ x, y, z int64 }

// vectorAt returns the vector in the three values starting at at.
func vectorAt(values []uint32, at int) vector {
	w := values[at : at+3 : at+3]
	return vector{int64(w[0]), int64(w[1]), int64(w[2])}
}

func (v vector) plus(w vector) vector { return vector{v.x + w.x, v.y + w.y, v.z + w.z} }

func (v vector) minus(w vector) vector { return vector{v.x - w.x, v.y - w.y, v.z - w.z} }

// scaled returns v times a factor in 1/2^bits.
func (v vector) scaled(factor int64, bits uint) vector {
	return vector{v.x * factor >> bits, v.y * factor >> bits, v.z * factor >> bits}
}

// toFixed returns v in 1/256 of its unit.
func (v vector) toFixed() vector {
	return vector{v.x << fractionBits, v.y << fractionBits, v.z << fractionBits}
}

// size returns the sum of the magnitudes of the components.
func (v vector) size() int64 { return absolute(v.x) + absolute(v.y) + absolute(v.z) }

// axes returns the components as an array.
func (v vector) axes() [3]int64 { return [3]int64{v.x, v.y, v.z} }

// rotation is a unit quaternion in 1/16384. Its arithmetic is in integers so that both
// sides of a connection predict the same. It is a struct rather than an array so that
// it is passed in registers.
type rotation struct{ x, y, z, w int64 }

const (
	rotationBits = 14
	rotationOne  = 1 << rotationBits
	// rotationRange is 1/sqrt(2), the maximum of all components of a unit quaternion except
	// the largest.
	rotationRange = 11585
)

// isqrt returns the whole part of the square root of 0 <= v < 2^52. IEEE 754 requires a
// correctly rounded root, so its whole part is exact in this range.
func isqrt(v int64) int64 { return int64(math.Sqrt(float64(max(v, 0)))) }

// levelTable holds the value of each component number of a rotation.
type levelTable [1 << schema.MaxRotationBits]int16

// levels returns the values of components of n bits: 2^n, evenly spaced from
// -rotationRange to rotationRange.
func levels(n uint) *levelTable {
	most := int64(1)<<n - 1
	all := &levelTable{}
	for i := range most + 1 {
		all[i] = int16((2*i - most) * rotationRange / most)
	}
	return all
}

// unpackRotation unpacks a rotation with components of n bits: the index of the largest
// in the lowest 2 bits, then the others in order.
func unpackRotation(packed uint32, levels *levelTable, n uint) rotation {
	largest, most := packed&3, uint32(1)<<(n&31)-1
	packed >>= 2
	const last = uint32(len(levels) - 1)
	a, b, c := int64(levels[packed&most&last]), int64(levels[packed>>(n&31)&most&last]), int64(levels[packed>>(2*n&31)&most&last])
	// The index of the largest component is unpredictable, so no branch depends on it.
	x, y, z, w := a, b, c, isqrt(rotationOne*rotationOne-a*a-b*b-c*c)
	if largest < 3 {
		z, w = w, c
	}
	if largest < 2 {
		y, z = z, b
	}
	if largest < 1 {
		x, y = y, a
	}
	return rotation{x, y, z, w}
}

// packThree returns the three smaller components of q as numbers of n bits, given the index
// of the largest component. The signs are those that make it positive.
func (q rotation) packThree(largest int, n uint) (a, b, c uint32) {
	most := int64(1)<<(n&63) - 1
	x, y, z, first := q.y, q.z, q.w, q.x
	if largest > 0 {
		x, first = q.x, q.y
	}
	if largest > 1 {
		y, first = q.y, q.z
	}
	if largest > 2 {
		z, first = q.z, q.w
	}
	most *= first>>63 | 1
	return packComponent(x, most), packComponent(y, most), packComponent(z, most)
}

// packComponent returns the number from 0 to |most| for a component. most has the sign of the
// largest component.
func packComponent(v, most int64) uint32 {
	count := max(most, -most)
	v = (v*most + (count+1)*rotationRange) / (2 * rotationRange)
	return uint32(min(max(v, 0), count))
}

// largest returns the index of the first component of largest magnitude, and its margin
// over the second largest magnitude.
func (q rotation) largest() (number int, margin int64) {
	x, y, z, w := absolute(q.x), absolute(q.y), absolute(q.z), absolute(q.w)
	low, high := max(x, y), max(z, w)
	second := min(x, y)
	if y > x {
		number = 1
	}
	numberHigh := 2
	if w > z {
		numberHigh = 3
	}
	if high > low {
		second = min(z, w)
	}
	if high > low {
		number = numberHigh
	}
	return number, max(low, high) - max(min(low, high), second)
}

// times returns the Hamilton product q*r: the rotation r followed by q.
func (q rotation) times(r rotation) rotation {
	const half = 1 << (rotationBits - 1)
	return rotation{
		(q.w*r.x + q.x*r.w + q.y*r.z - q.z*r.y + half) >> rotationBits,
		(q.w*r.y - q.x*r.z + q.y*r.w + q.z*r.x + half) >> rotationBits,
		(q.w*r.z + q.x*r.y - q.y*r.x + q.z*r.w + half) >> rotationBits,
		(q.w*r.w - q.x*r.x - q.y*r.y - q.z*r.z + half) >> rotationBits,
	}
}

func (q rotation) conjugate() rotation { return rotation{-q.x, -q.y, -q.z, q.w} }

func (q rotation) minus(r rotation) rotation {
	return rotation{q.x - r.x, q.y - r.y, q.z - r.z, q.w - r.w}
}

// size returns the sum of the magnitudes of the components.
func (q rotation) size() int64 { return absolute(q.x) + absolute(q.y) + absolute(q.z) + absolute(q.w) }

// towards returns whichever of q and -q, which are the same rotation, is nearer to r.
func (q rotation) towards(r rotation) rotation {
	return q.negatedIf((q.x*r.x + q.y*r.y + q.z*r.z + q.w*r.w) >> 63)
}

// negatedIf returns -q if sign is -1, and q if sign is 0.
func (q rotation) negatedIf(sign int64) rotation {
	return rotation{(q.x ^ sign) - sign, (q.y ^ sign) - sign, (q.z ^ sign) - sign, (q.w ^ sign) - sign}
}

// scaled returns q times a factor in 1/2^bits.
func (q rotation) scaled(factor int64, bits uint) rotation {
	return rotation{q.x * factor >> bits, q.y * factor >> bits, q.z * factor >> bits, q.w * factor >> bits}
}

// toUnit normalises v. The components must be below 2^24. It returns r if v is zero.
func toUnit(v, r rotation) rotation {
	const shift = 24
	length := isqrt(v.x*v.x + v.y*v.y + v.z*v.z + v.w*v.w)
	if length == 0 {
		return r
	}
	scale := rotationOne << shift / length
	const half = 1 << (shift - 1)
	return rotation{(v.x*scale + half) >> shift, (v.y*scale + half) >> shift, (v.z*scale + half) >> shift, (v.w*scale + half) >> shift}
}

// ratioBits is the resolution of ratios of time.
const ratioBits = 16

// power returns r to the power of ratio, in 1/65536. It maps the tangent t of the half
// angle to the tangent of the scaled half angle, by three terms of the arctangent series
// and three of the tangent series. Beyond a half angle of about 0.9 the result turns too
// little, which costs bits but not correctness.
func (r rotation) power(ratio int64) rotation {
	r = r.negatedIf(r.w >> 63)
	const third, fifth, twoFifteenths = rotationOne / 3, rotationOne / 5, rotationOne * 2 / 15
	inverse := int64(1<<(2*rotationBits)) / max(r.w, rotationOne/8)
	x, y, z := r.x*inverse>>rotationBits, r.y*inverse>>rotationBits, r.z*inverse>>rotationBits
	t2 := x*x>>rotationBits + y*y>>rotationBits + z*z>>rotationBits // square of the tangent
	t2 = min(t2, rotationOne)
	// arctangent(t)/t = 1 - t2/3 + t2^2/5
	scale := rotationOne - t2*third>>rotationBits + (t2*t2>>rotationBits)*fifth>>rotationBits
	scale = min(scale*ratio>>ratioBits, 8*rotationOne)
	a2 := min((t2*scale>>rotationBits)*scale>>rotationBits, rotationOne)
	// tangent(a)/a = 1 + a2/3 + 2*a2^2/15
	series := rotationOne + a2*third>>rotationBits + (a2*a2>>rotationBits)*twoFifteenths>>rotationBits
	scale = scale * series >> rotationBits
	return toUnit(rotation{x * scale >> rotationBits, y * scale >> rotationBits, z * scale >> rotationBits, rotationOne},
		rotation{w: rotationOne})
}

// matrix is a rotation matrix in 1/16384.
type matrix [9]int64

func (q rotation) matrix() matrix {
	x, y, z, w := q.x, q.y, q.z, q.w
	const s = rotationBits - 1
	return matrix{
		rotationOne - (y*y+z*z)>>s, (x*y - z*w) >> s, (x*z + y*w) >> s,
		(x*y + z*w) >> s, rotationOne - (x*x+z*z)>>s, (y*z - x*w) >> s,
		(x*z - y*w) >> s, (y*z + x*w) >> s, rotationOne - (x*x+y*y)>>s,
	}
}

// turn returns v rotated, in 1/2^fractionBits of v's unit.
func (m *matrix) turn(v vector) vector {
	const s = rotationBits - fractionBits
	return vector{
		(m[0]*v.x + m[1]*v.y + m[2]*v.z) >> s,
		(m[3]*v.x + m[4]*v.y + m[5]*v.z) >> s,
		(m[6]*v.x + m[7]*v.y + m[8]*v.z) >> s,
	}
}
