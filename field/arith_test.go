package field

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
)

func requireFMA(t *testing.T, a, b, c float32) {
	t.Helper()
	if want, got := exactFMA(a, b, c), fma32(a, b, c); math.Float32bits(want) != math.Float32bits(got) {
		t.Fatalf("fma32(%g, %g, %g) = %g (%#x), not %g (%#x)", a, b, c, got, math.Float32bits(got), want, math.Float32bits(want))
	}
}

func TestFMATies(t *testing.T) {
	naive := 0
	for m := 1; m < 4096; m++ {
		e := float32(m) / (1 << 23)
		a, b := (1+e)/4096, (1-e)/4096 // the product is just below 2^-24: nearly a tie with 1
		for k := range 4 {
			c := 1 + float32(k)/(1<<23)
			for _, c := range []float32{c, -c} {
				requireFMA(t, a, b, c)
				requireFMA(t, -a, b, c)
			}
			if float32(math.FMA(float64(a), float64(b), float64(c))) != fma32(a, b, c) {
				naive++
			}
		}
	}
	require.Greater(t, naive, 100, "the cases are meant to be hard")
}

// TestFMASubnormal tests sums between two subnormal float32s, which tie at another bit.
func TestFMASubnormal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3_000 {
		c := math.Float32frombits(r.Uint32N(1<<23) | r.Uint32()&signBit)
		a := math.Float32frombits(r.Uint32N(1<<23) | (64+r.Uint32N(4))<<23) // about 2^-62
		b := math.Float32frombits(r.Uint32N(1<<23)>>r.Uint32N(24) | (36+r.Uint32N(6))<<23)
		requireFMA(t, a, b, c)
		e := float32(r.IntN(8)+1) / (1 << 22)
		a, b = (1+e)/(1<<40)/(1<<35), (1-e)/(1<<40)/(1<<35) // just below half of the smallest number
		c = math.Float32frombits(1<<22 | math.Float32bits(c))
		for _, c := range []float32{c, -c} {
			requireFMA(t, a, b, c)
			requireFMA(t, -a, b, c)
		}
		half := math.Float32frombits((127 - 75) << 23) // half*half is half of the smallest number
		requireFMA(t, half, half, c)
		requireFMA(t, half, -half, c)
		requireFMA(t, half, math.Nextafter32(half, 1), c)
		requireFMA(t, half, math.Nextafter32(half, 0), c)
	}
}

func TestFMARandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range shorttest.Pick(1_000_000, 30_000) {
		a, b, c := math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
		if r.IntN(2) == 0 { // few bits and close exponents, to provoke ties and cancellation
			a, b, c = float32(r.IntN(4096)-2048), float32(r.IntN(4096)-2048)/4096, float32(r.IntN(1<<24))*float32(math.Exp2(float64(r.IntN(40)-30)))
		}
		if isFinite(a) && isFinite(b) && isFinite(c) {
			requireFMA(t, a, b, c)
		}
	}
}

// TestArithmeticSpecial pins edge cases bit by bit. NaN stands for any NaN.
func TestArithmeticSpecial(t *testing.T) {
	inf, nan, zero := float32(math.Inf(1)), float32(math.NaN()), float32(0)
	minusZero, tiny, huge := neg32(0), math.Float32frombits(1), float32(math.MaxFloat32)
	halfStep := float32(math.Exp2(103)) // half a step at the end of the range
	for _, c := range []struct {
		op            Opcode
		a, b, c, d, r float32
	}{
		{op: opMad, a: inf, b: 1, c: -3, r: inf},
		{op: opMad, a: inf, b: 0, c: 1, r: nan},
		{op: opMad, a: inf, b: 1, c: -inf, r: nan},
		{op: opMad, a: 3e38, b: 3e38, c: -inf, r: -inf},
		{op: opMad, a: 3e38, b: 3e38, c: 1, r: inf},
		{op: opMad, a: huge, b: 1, c: halfStep, r: inf},
		{op: opMad, a: huge, b: 1, c: math.Nextafter32(halfStep, 0), r: huge},
		{op: opMad, a: nan, b: 1, c: 1, r: nan},
		{op: opMad, a: zero, b: -1, c: minusZero, r: minusZero},
		{op: opMad, a: zero, b: 1, c: minusZero, r: zero},
		{op: opMad, a: 2, b: 3, c: -6, r: zero},
		{op: opMad, a: tiny, b: -tiny, c: 0, r: minusZero},
		{op: opMad, a: tiny, b: 0.5, c: 0, r: zero},
		{op: opMad, a: tiny, b: 0.5, c: tiny, r: 2 * tiny},
		{op: opNmad, a: 2, b: 3, c: 7, r: 1},
		{op: opNmad, a: zero, b: 1, c: minusZero, r: minusZero},
		{op: opMin, a: nan, b: 1, r: 1},
		{op: opMin, a: 1, b: nan, r: nan},
		{op: opMin, a: zero, b: minusZero, r: minusZero},
		{op: opMin, a: minusZero, b: zero, r: zero},
		{op: opMax, a: nan, b: 1, r: 1},
		{op: opMax, a: 1, b: nan, r: nan},
		{op: opMax, a: zero, b: minusZero, r: minusZero},
		{op: opMax, a: minusZero, b: zero, r: zero},
		{op: opAbs, a: minusZero, r: zero},
		{op: opAbs, a: -inf, r: inf},
		{op: opNeg, a: zero, r: minusZero},
		{op: opNeg, a: nan, r: nan},
		{op: opFloor, a: -0.5, r: -1},
		{op: opFloor, a: minusZero, r: minusZero},
		{op: opFloor, a: 0.99999994, r: zero},
		{op: opFloor, a: -tiny, r: -1},
		{op: opFloor, a: huge, r: huge},
		{op: opSqrt, a: -1, r: nan},
		{op: opSqrt, a: minusZero, r: minusZero},
		{op: opDiv, a: 1, b: minusZero, r: -inf},
		{op: opDiv, a: 0, b: 0, r: nan},
		{op: opDiv, a: tiny, b: 2, r: zero},
		{op: opSaturate, a: nan, r: zero},
		{op: opSaturate, a: minusZero, r: zero},
		{op: opSaturate, a: inf, r: 1},
		{op: opSaturate, a: 0.25, r: 0.25},
		{op: opRsqrt, a: inf, r: inf},
		{op: opRsqrt, a: nan, r: rsqrt32(1e-12)},
		{op: opRsqrt, a: -4, r: rsqrt32(1e-12)},
		{op: opRsqrt, a: 0, r: rsqrt32(1e-12)},
		{op: opSin, a: 0, r: 0},
		{op: opSin, a: minusZero, r: minusZero},
		{op: opSin, a: 0.5, r: zero},
		{op: opSin, a: -0.5, r: minusZero},
		{op: opSin, a: 7, r: zero},
		{op: opSin, a: inf, r: nan},
		{op: opSin, a: nan, r: nan},
		{op: opExp2, a: 0, r: 1},
		{op: opExp2, a: minusZero, r: 1},
		{op: opExp2, a: 128, r: inf},
		{op: opExp2, a: huge, r: inf},
		{op: opExp2, a: inf, r: inf},
		{op: opExp2, a: -126, r: 1.1754943508222875e-38},
		{op: opExp2, a: math.Nextafter32(-126, -127), r: zero},
		{op: opExp2, a: -inf, r: zero},
		{op: opExp2, a: nan, r: zero},
		{op: opHash, a: zero, b: zero, c: zero, r: hash32(minusZero, minusZero, minusZero)},
		{op: opHash, a: 1, b: 2, c: 3, r: math.Float32frombits(0x3ed1da78)},
		{op: opSelectLT, a: 1, b: 2, c: 3, d: 4, r: 3},
		{op: opSelectLT, a: 2, b: 2, c: 3, d: 4, r: 4},
		{op: opSelectLT, a: nan, b: 2, c: 3, d: 4, r: 4},
		{op: opSelectGE, a: 2, b: 2, c: 3, d: 4, r: 3},
		{op: opSelectGE, a: 1, b: 2, c: 3, d: 4, r: 4},
		{op: opSelectGE, a: nan, b: 2, c: 3, d: 4, r: 4},
		{op: opSelectGE, a: minusZero, b: zero, c: 3, d: 4, r: 3},
	} {
		got := evaluate(c.op, c.a, c.b, c.c, c.d)
		require.Equal(t, bitsOf(c.r), bitsOf(got), "%v of %g, %g, %g, %g: %g, not %g", c.op, c.a, c.b, c.c, c.d, got, c.r)
	}
}

// bitsOf returns the bits of a number, the same for every NaN.
func bitsOf(f float32) uint32 {
	if f != f {
		return 0x7fc00000
	}
	return math.Float32bits(f)
}

func TestRsqrtError(t *testing.T) {
	worst := 0.0
	for bits := math.Float32bits(1e-12); bits < math.Float32bits(math.MaxFloat32); bits += 997 {
		x := float64(math.Float32frombits(bits))
		worst = max(worst, math.Abs(float64(rsqrt32(float32(x)))*math.Sqrt(x)-1))
	}
	require.Less(t, worst, 9e-7)
}

func TestSin(t *testing.T) {
	racetest.SkipSequential(t)
	worst := 0.0
	for i := -400_000; i <= 400_000; i++ {
		turns := float32(i) / 100_003
		worst = max(worst, math.Abs(float64(sin32(turns))-math.Sin(2*math.Pi*float64(turns))))
	}
	require.Less(t, worst, 2e-7)
	for bits := uint32(0); bits < 0x7f800000; bits += 991 { // every magnitude
		f := math.Float32frombits(bits)
		if s := sin32(f); !(abs32(s) <= 1) || f < 1<<22 && sin32(-f) != -s {
			t.Fatalf("sin of %g turns is %g, of the negative %g", f, s, sin32(-f))
		}
	}
}

// TestKernels compares every kernel with its definition, including in-place operands
// and every block length.
func TestKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	hard := []float32{0, neg32(0), 1, -1, 1e-45, 1e-38, 3e38, float32(math.Inf(1)), float32(math.NaN()), 0.5, 1e-12}
	number := func() float32 {
		if r.IntN(3) == 0 {
			return hard[r.IntN(len(hard))] * float32(1-2*r.IntN(2))
		}
		return float32(r.NormFloat64() * 10)
	}
	for o := opAdd; o < opcodes; o++ {
		for lanes := 1; lanes <= BlockPoints; lanes++ {
			p := &Program{code: []instruction{{op: o, to: uint8(lanes % 5), operands: [4]uint8{0, 1, 2, 3}}}}
			var m machine
			var before [5][]float32
			for i := range before {
				for range lanes {
					before[i] = append(before[i], number())
				}
				m.planes[i] = append([]float32(nil), before[i]...)
			}
			m.run(p, &Env{})
			for i := range lanes {
				want := evaluate(o, before[0][i], before[1][i], before[2][i], before[3][i])
				require.Equal(t, bitsOf(want), bitsOf(m.planes[lanes%5][i]), "%v lane %d of %d", o, i, lanes)
			}
		}
	}
}
