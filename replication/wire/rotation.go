package wire

import "math"

// rotation is a unit quaternion x, y, z, w in 1/16384. All arithmetic on it is
// in integers, so that both sides of a connection predict the same.
type rotation [4]int32

const (
	rotationBits = 14
	rotationOne  = 1 << rotationBits
	// rotationRange is 1/sqrt(2), the largest value that any but the largest
	// component of a unit quaternion can have.
	rotationRange = 11585
)

// isqrt is the whole part of the square root of 0 <= v < 2^52. IEEE 754 wants
// the root of a double rounded correctly, so its whole part is exact there.
func isqrt(v int64) int64 {
	if v <= 0 {
		return 0
	}
	return int64(math.Sqrt(float64(v)))
}

// levels are the values that a component of n bits stands for: 2^n of them,
// evenly from -rotationRange to rotationRange.
func levels(n uint) []int16 {
	most := int64(1)<<n - 1
	all := make([]int16, most+1)
	for i := range all {
		all[i] = int16((2*int64(i) - most) * rotationRange / most)
	}
	return all
}

// unpackRotation reads a smallest-three word whose components have these
// levels, n bits each: the number of the largest in the lowest 2 bits, then the
// others in order.
func unpackRotation(word uint32, levels []int16, n uint) rotation {
	largest, most := word&3, uint32(len(levels)-1)
	word >>= 2
	a, b, c := int32(levels[word&most]), int32(levels[word>>n&most]), int32(levels[word>>(2*n)&most])
	rest := int32(isqrt(rotationOne*rotationOne - int64(a)*int64(a) - int64(b)*int64(b) - int64(c)*int64(c)))
	switch largest {
	case 0:
		return rotation{rest, a, b, c}
	case 1:
		return rotation{a, rest, b, c}
	case 2:
		return rotation{a, b, rest, c}
	}
	return rotation{a, b, c, rest}
}

// packThree gives the three smaller components of q as numbers of n bits, for
// a given largest component, whose sign is made positive.
func (q rotation) packThree(largest int, n uint) (three [3]uint32) {
	most := int64(1)<<n - 1
	sign := int64(1)
	if q[largest] < 0 {
		sign = -1
	}
	at := 0
	for i := range q {
		if i == largest {
			continue
		}
		v := (sign*int64(q[i])*most + (most+1)*rotationRange) / (2 * rotationRange)
		three[at] = uint32(min(max(v, 0), most))
		at++
	}
	return three
}

// largest is the number of the largest component, and by how much its
// magnitude exceeds that of the second.
func (q rotation) largest() (number int, margin int32) {
	var first, second int32 = -1, -1
	for i, v := range q {
		v = max(v, -v)
		switch {
		case v > first:
			number, first, second = i, v, first
		case v > second:
			second = v
		}
	}
	return number, first - second
}

// times is the product q*r: r, then q.
func (q rotation) times(r rotation) rotation {
	x, y, z, w := int64(q[0]), int64(q[1]), int64(q[2]), int64(q[3])
	a, b, c, d := int64(r[0]), int64(r[1]), int64(r[2]), int64(r[3])
	const half = 1 << (rotationBits - 1)
	return rotation{
		int32((w*a + x*d + y*c - z*b + half) >> rotationBits),
		int32((w*b - x*c + y*d + z*a + half) >> rotationBits),
		int32((w*c + x*b - y*a + z*d + half) >> rotationBits),
		int32((w*d - x*a - y*b - z*c + half) >> rotationBits),
	}
}

func (q rotation) conjugate() rotation { return rotation{-q[0], -q[1], -q[2], q[3]} }

// towards is q or -q, which is the same rotation, whichever is nearer to r.
func (q rotation) towards(r rotation) rotation {
	if int64(q[0])*int64(r[0])+int64(q[1])*int64(r[1])+int64(q[2])*int64(r[2])+int64(q[3])*int64(r[3]) < 0 {
		return rotation{-q[0], -q[1], -q[2], -q[3]}
	}
	return q
}

// toUnit scales v, in any unit below 2^24, to length 1; no direction gives r.
func toUnit(v [4]int64, r rotation) rotation {
	const shift = 24
	length := isqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2] + v[3]*v[3])
	if length == 0 {
		return r
	}
	scale := rotationOne << shift / length
	var q rotation
	for i := range q {
		q[i] = int32((v[i]*scale + 1<<(shift-1)) >> shift)
	}
	return q
}

// ratioBits is how fine ratios of times are.
const ratioBits = 16

// power is r to the power of ratio, in 1/65536: a turn gone on with. It takes
// the tangent of the half angle, t, to that of the scaled one by three terms of
// the series of arctangent and tangent; beyond a half angle of about 0.9 the
// result turns too little, which costs bits and nothing else.
func (r rotation) power(ratio int64) rotation {
	if r[3] < 0 {
		r = rotation{-r[0], -r[1], -r[2], -r[3]}
	}
	const third, fifth, twoFifteenths = rotationOne / 3, rotationOne / 5, rotationOne * 2 / 15
	inverse := int64(1<<(2*rotationBits)) / max(int64(r[3]), rotationOne/8)
	var v [3]int64
	var t2 int64 // of the tangent, squared
	for i := range v {
		v[i] = int64(r[i]) * inverse >> rotationBits
		t2 += v[i] * v[i] >> rotationBits
	}
	t2 = min(t2, rotationOne)
	// arctangent(t)/t = 1 - t2/3 + t2^2/5
	scale := rotationOne - t2*third>>rotationBits + (t2*t2>>rotationBits)*fifth>>rotationBits
	scale = min(scale*ratio>>ratioBits, 8*rotationOne)
	a2 := min((t2*scale>>rotationBits)*scale>>rotationBits, rotationOne)
	// tangent(a)/a = 1 + a2/3 + 2*a2^2/15
	series := rotationOne + a2*third>>rotationBits + (a2*a2>>rotationBits)*twoFifteenths>>rotationBits
	scale = scale * series >> rotationBits
	return toUnit([4]int64{
		v[0] * scale >> rotationBits, v[1] * scale >> rotationBits, v[2] * scale >> rotationBits, rotationOne,
	}, rotation{0, 0, 0, rotationOne})
}

// matrix is a rotation of vectors, in 1/16384.
type matrix [9]int64

func (q rotation) matrix() matrix {
	x, y, z, w := int64(q[0]), int64(q[1]), int64(q[2]), int64(q[3])
	const s = rotationBits - 1
	return matrix{
		rotationOne - (y*y+z*z)>>s, (x*y - z*w) >> s, (x*z + y*w) >> s,
		(x*y + z*w) >> s, rotationOne - (x*x+z*z)>>s, (y*z - x*w) >> s,
		(x*z - y*w) >> s, (y*z + x*w) >> s, rotationOne - (x*x+y*y)>>s,
	}
}

// turn rotates v, and gives the result in 1/2^fractionBits of v's unit.
func (m *matrix) turn(v [3]int64) [3]int64 {
	const s = rotationBits - fractionBits
	return [3]int64{
		(m[0]*v[0] + m[1]*v[1] + m[2]*v[2]) >> s,
		(m[3]*v[0] + m[4]*v[1] + m[5]*v[2]) >> s,
		(m[6]*v[0] + m[7]*v[1] + m[8]*v[2]) >> s,
	}
}
