package field

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// exactFMA rounds the exact a*b + c once.
func exactFMA(a, b, c float32) float32 {
	special := func(v float32) bool { return v != v || math.IsInf(float64(v), 0) || v == 0 }
	if special(a) || special(b) || special(c) {
		return float32(math.FMA(float64(a), float64(b), float64(c))) // exact in float64
	}
	const enough = 700 // bits from the smallest product to the largest
	exact := func(v float32) *big.Float { return new(big.Float).SetPrec(enough).SetFloat64(float64(v)) }
	p := exact(a)
	p.Mul(p, exact(b))
	r, _ := p.Add(p, exact(c)).Float32()
	return r
}

// sameValue compares bits, treating all NaNs as equal: programs cannot distinguish
// them.
func sameValue(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func requireExactFMA(t require.TestingT, a, b, c float32) {
	want := exactFMA(a, b, c)
	for _, got := range []float32{fma32(a, b, c), evaluate(opMad, a, b, c, 0), evaluate(opNmad, -a, b, c, 0)} {
		if !sameValue(want, got) {
			require.Failf(t, "fma", "%x * %x + %x: want %x, got %x", a, b, c, want, got)
		}
	}
}

// cornerValues are edge cases of float32 arithmetic.
func cornerValues() []float32 {
	up := func(v float32) float32 { return math.Nextafter32(v, float32(math.Inf(1))) }
	values := []float32{
		0, math.SmallestNonzeroFloat32, up(math.SmallestNonzeroFloat32), 0x1p-127, math.Nextafter32(0x1p-126, 0), 0x1p-126,
		up(0x1p-126), 0x1p-75, 0x1p-24, 0x1p-23, 1e-12, 0.5, math.Nextafter32(1, 0), 1, up(1), 1.5, 2, 3, 0x1p23, 0x1p24,
		0x1p24 + 2, 0x1p63, 0x1p64, 0x1p127, math.MaxFloat32, float32(math.Inf(1)), float32(math.NaN()),
	}
	for _, v := range values {
		values = append(values, -v)
	}
	return values
}

// TestFMADirected tests all triples of corner values.
func TestFMADirected(t *testing.T) {
	for _, a := range cornerValues() {
		for _, b := range cornerValues() {
			for _, c := range cornerValues() {
				requireExactFMA(t, a, b, c)
			}
		}
	}
}
