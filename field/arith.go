package field

import "math"

// Scalar arithmetic of the machine. It is the definition (F1): kernels, constant
// folding and faster implementations must produce the same bits. float32(...) around a
// product keeps the compiler from fusing it with a following sum, which Go does on some
// machines, even across inlined calls.

func evaluate(o Opcode, a, b, c, d float32) float32 { return opcodeTable[o].lane(a, b, c, d) }

// first extends a function of one operand to four; it ignores the others.
func first(f func(float32) float32) func(a, b, c, d float32) float32 {
	return func(a, _, _, _ float32) float32 { return f(a) }
}

// fma32 is a*b + c rounded once, IEEE 754's fusedMultiplyAdd for float32.
func fma32(a, b, c float32) float32 {
	s := wideSum(a, b, c)
	if mayTie(s) {
		return fmaTie(a, b, c)
	}
	return float32(s)
}

// wideSum is a*b + c rounded to float64. The product is exact in float64, so only the
// sum is rounded, and fusing does no harm.
func wideSum(a, b, c float32) float64 { return float64(a)*float64(b) + float64(c) }

// mayTie reports whether rounding a wideSum to float32 may be wrong. It may be only if the
// sum lies exactly between two float32s: the bits lost in the first rounding then decide.
// Such sums end in 28 zero bits, or more if the float32 is subnormal; few other sums do.
func mayTie(s float64) bool { return math.Float64bits(s)<<36 == 0 }

// fmaTie is fma32 for sums that mayTie. It rounds an inexact wide sum to odd: one step
// towards the lost part. Rounding the result to float32 is correct: S. Boldo, G. Melquiond,
// "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd",
// 2008.
func fmaTie(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := float64(p) + z
	if s-s != 0 {
		return float32(s) // infinite or NaN
	}
	back := s - p
	lost := (p - (s - back)) + (z - back) // s + lost is the exact sum (Knuth's TwoSum)
	bits := math.Float64bits(s)
	if lost != 0 {
		if (lost > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}

// min32 and max32 return b if the operands are equal or one is NaN, as x86 does.
func min32(a, b float32) float32 {
	if a < b {
		return a
	}
	return b
}

func max32(a, b float32) float32 {
	if a > b {
		return a
	}
	return b
}

const signBit = 1 << 31

func abs32(a float32) float32 { return math.Float32frombits(math.Float32bits(a) &^ signBit) }
func neg32(a float32) float32 { return math.Float32frombits(math.Float32bits(a) ^ signBit) }

// floor32 and sqrt32 may go through float64: floor is exact, and 53 bits suffice to
// round a square root twice.
func floor32(a float32) float32 { return float32(math.Floor(float64(a))) }
func sqrt32(a float32) float32  { return float32(math.Sqrt(float64(a))) }

// rsqrt32 is 1/sqrt(a) to a relative error below 9e-7: two Newton steps from an integer
// seed, with constants tuned together.
func rsqrt32(a float32) float32 {
	x := max32(a, 1e-12)
	h := float32(x * 0.5023863)
	y := math.Float32frombits(0x5f370000 - math.Float32bits(x)>>1)
	y = float32(y * fma32(-h, float32(y*y), 1.5016537))
	return float32(y * fma32(-h, float32(y*y), 1.5023831))
}

// Sin returns the sine of an angle in turns: the builtin sin of the language, whose bits
// are the same on every machine (F1). The cosine is Sin(turns + 0.25).
func Sin(turns float32) float32 { return sin32(turns) }

// sin32 is the sine of t turns: t is folded to a quarter turn, the argument of an odd
// polynomial of five terms. Beyond 2^22 turns, t has no fraction; max32 then bounds the
// result.
func sin32(t float32) float32 {
	const toInteger = 12582912 // 1.5 * 2^23: adding it rounds to an integer
	q := t - ((t + toInteger) - toInteger)
	v := max32(0, 0.25-abs32(abs32(q)-0.25))
	w := float32(v * v)
	p := fma32(39.53671, w, -76.54978)
	p = fma32(p, w, 81.601006)
	p = fma32(p, w, -41.341656)
	p = fma32(p, w, 6.283185)
	p = float32(p * v)
	return math.Float32frombits(math.Float32bits(p) ^ math.Float32bits(q)&signBit)
}

func saturate32(a float32) float32 { return min32(max32(a, 0), 1) }

func selectLT32(a, b, c, d float32) float32 {
	if a < b {
		return c
	}
	return d
}

func selectGE32(a, b, c, d float32) float32 {
	if a >= b {
		return c
	}
	return d
}

// exp232 is 2^a: a is split into an integer n and a remainder f of at most 1/2. A
// polynomial of degree five computes 2^f, and n is added to its exponent. The sum with
// toInteger ends in the bits of n. For n = 128 the remainder is never above 0, and 2^0 is
// exactly 1, so the result is infinite only when it should be.
func exp232(a float32) float32 {
	const toInteger = 12582912
	if !(a >= -126) {
		return 0
	}
	x := min32(a, 128)
	t := x + toInteger
	f := x - (t - toInteger)
	p := fma32(0.0013264727, f, 0.009671513)
	p = fma32(p, f, 0.055507336)
	p = fma32(p, f, 0.24022242)
	p = fma32(p, f, 0.693147)
	p = fma32(p, f, 1)
	return math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23)
}

// hash32 hashes the bits of three numbers to a number in [0, 1). hashBits gives both zeros
// one pattern, and every NaN one. Integers as float32s differ only in high bits, which a
// multiplication would shift out: a shift precedes each multiplication. The end is
// MurmurHash3's finaliser.
func hash32(a, b, c float32) float32 {
	return hashSum(hashBits(a)*hashFactorX + hashBits(b)*hashFactorY + hashBits(c)*hashFactorZ)
}

const hashFactorX, hashFactorY, hashFactorZ = 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d

func hashSum(h uint32) float32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return float32((h^h>>16)>>8) * (1.0 / (1 << 24))
}

func hashBits(a float32) uint32 {
	u := math.Float32bits(max32(a, float32(math.Inf(-1))) + 0)
	return u ^ u>>15
}

func isFinite(v float32) bool { return v-v == 0 }
