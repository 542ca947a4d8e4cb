package field_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// explosion is the article's example, verbatim.
const explosion = `direction = sub position, (2,4,0,0)
lensqr = dot direction, direction
direction = normalize direction
direction = mul direction, (50,50,50,50)
direction = select_lt lensqr, (25,25,25,25), direction, (0,0,0,0)
output = add output, direction
`

// fma is an exact fused multiply-add, slowly.
func fma(a, b, c float32) float32 {
	if special(a) || special(b) || special(c) {
		return float32(math.FMA(float64(a), float64(b), float64(c)))
	}
	exact := func(v float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(v)) }
	p := new(big.Float).SetPrec(2000).Mul(exact(a), exact(b))
	r, _ := p.Add(p, exact(c)).Float32()
	return r
}

func special(v float32) bool { return v != v || math.IsInf(float64(v), 0) || v == 0 }

// handWritten is the explosion written in Go with the machine's arithmetic.
func handWritten(x, y, z float32) (float32, float32, float32) {
	x, y, z = x-2, y-4, z-0
	lensqr := fma(z, z, fma(y, y, float32(x*x)))
	clamped := float32(1e-12)
	if lensqr > clamped {
		clamped = lensqr
	}
	half := float32(clamped * 0.5023863)
	r := math.Float32frombits(0x5f370000 - math.Float32bits(clamped)>>1)
	r = float32(r * fma(-half, float32(r*r), 1.5016537))
	r = float32(r * fma(-half, float32(r*r), 1.5023831))
	push := float32(0)
	if lensqr < 25 {
		push = float32(r * 50)
	}
	return fma(x, push, 0), fma(y, push, 0), fma(z, push, 0)
}

// awkward lists edge cases of arithmetic.
func awkward() []float32 {
	return []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 2, 4, 0.5, 1e-45, -1e-45, 1e-38, 1.1754942e-38, 3e38, -3e38, 16777216,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 1e-6, 7, 4.9999995,
	}
}

func somePoints(n int) field.Planes {
	p := planes(n)
	rng := rand.New(rand.NewPCG(1, 2))
	values := awkward()
	for _, plane := range [][]float32{p.X, p.Y, p.Z} {
		for i := range plane {
			plane[i] = float32(rng.Float32()*16) - 6
			if rng.IntN(8) == 0 {
				plane[i] = values[rng.IntN(len(values))]
			}
		}
	}
	p.X[0], p.Y[0], p.Z[0] = 2, 4, 0 // the centre
	return p
}

func planes(n int) field.Planes {
	return field.Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
}

// canonical returns the bits that the machine stores for a sum.
func canonical(v float32) uint32 {
	if v != v {
		return 0
	}
	return math.Float32bits(0 + v)
}

func TestArticleExplosion(t *testing.T) {
	p := must.Get(field.Compile(explosion))
	points, out := somePoints(20_011), planes(20_011)
	require.NoError(t, p.Evaluate(points, out, field.Env{}, make([]float32, p.Scratch())))
	blown := 0
	for i := range points.X {
		x, y, z := handWritten(points.X[i], points.Y[i], points.Z[i])
		want := [3]uint32{canonical(x), canonical(y), canonical(z)}
		got := [3]uint32{math.Float32bits(out.X[i]), math.Float32bits(out.Y[i]), math.Float32bits(out.Z[i])}
		require.Equal(t, want, got, "point %d: %v, %v, %v", i, points.X[i], points.Y[i], points.Z[i])
		if out.X[i] != 0 {
			blown++
		}
	}
	require.Greater(t, blown, 1000)
	require.Zero(t, out.X[0], "normalize of the zero vector is the zero vector")
}
