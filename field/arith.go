package field

import "math"

// The scalar definitions of the machine's arithmetic (M1). Every conversion to
// float32 below is there to forbid fusing: Go may fuse x*y+z on arm64 and on
// amd64 v3, also across inlined calls.

// fma32 is the IEEE fused multiply-add of float32.
func fma32(a, b, c float32) float32 {
	if s := fma64(a, b, c); roundsOnce(s) {
		return float32(s)
	}
	return fmaToOdd(a, b, c)
}

// fma64 rounds in float64: the product of two float32 is exact there, the sum
// is not.
func fma64(a, b, c float32) float64 { return float64(float64(a)*float64(b)) + float64(c) }

// roundsOnce tells whether float32(s), for a sum s that was rounded to float64,
// is what rounding the true sum at once gives. It may not be when s lies midway
// between two float32, and when the result is subnormal, whose midpoints are
// elsewhere; float32 of math.FMA has the same flaw.
func roundsOnce(s float64) bool {
	const (
		lost, midway = 1<<29 - 1, 1 << 28 // the bits that float32 has no room for
		normal       = (1023 - 126) << 53 // of 0x1p-126, without its sign
	)
	bits := math.Float64bits(s)
	return bits&lost != midway && bits<<1 >= normal
}

// fmaToOdd is fma32 the long way, right for all values: it rounds the sum to
// odd in float64, after which rounding to float32 is right (Boldo and
// Melquiond, 2008).
func fmaToOdd(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := float64(p) + z
	if math.IsInf(s, 0) || s != s {
		return float32(s)
	}
	back := s - p
	lost := (p - (s - back)) + (z - back)
	bits := math.Float64bits(s)
	if lost != 0 && bits&1 == 0 {
		// The true sum lies between s and its neighbour towards lost.
		if (lost > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

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

func abs32(a float32) float32 { return math.Float32frombits(math.Float32bits(a) &^ (1 << 31)) }
func neg32(a float32) float32 { return math.Float32frombits(math.Float32bits(a) ^ 1<<31) }

// floor32 and sqrt32 are exact through float64.
func floor32(a float32) float32 { return float32(math.Floor(float64(a))) }
func sqrt32(a float32) float32  { return float32(math.Sqrt(float64(a))) }

// rsqrt32 is an integer seed with two tuned Newton steps.
func rsqrt32(a float32) float32 {
	x := max32(a, 1e-12)
	h := float32(x * 0.5023863)
	y := math.Float32frombits(0x5f370000 - math.Float32bits(x)>>1)
	y = float32(y * fma32(-h, float32(y*y), 1.5016537))
	return float32(y * fma32(-h, float32(y*y), 1.5023831))
}

// sin32 takes turns.
func sin32(t float32) float32 {
	const round = 12582912 // 1.5 * 2^23: adding it rounds to an integer
	q := float32(t - float32(float32(t+round)-round))
	v := float32(0.25 - abs32(float32(abs32(q)-0.25)))
	w := float32(v * v)
	p := fma32(39.53671, w, -76.54978)
	p = fma32(p, w, 81.601006)
	p = fma32(p, w, -41.341656)
	p = fma32(p, w, 6.283185)
	p = float32(p * v)
	return math.Float32frombits(math.Float32bits(p) ^ math.Float32bits(q)&(1<<31))
}

// added is what output becomes.
func added(out, a float32) float32 {
	if s := float32(out + a); s == s {
		return s
	}
	return 0
}
