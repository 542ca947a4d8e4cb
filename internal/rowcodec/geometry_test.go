package rowcodec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/schema"
)

func randomRotation(r *rand.Rand) rotation {
	return toUnit(rotation{r.Int64N(20001) - 10000, r.Int64N(20001) - 10000, r.Int64N(20001) - 10000, 1 + r.Int64N(10000)}, rotation{})
}

// angleBetween returns the angle between q and r in radians.
func angleBetween(q, r rotation) float64 {
	dot, a, b := 0.0, 0.0, 0.0
	to := r.parts()
	for i, v := range q.parts() {
		dot += v * to[i]
		a += v * v
		b += to[i] * to[i]
	}
	return 2 * math.Acos(min(math.Abs(dot)/math.Sqrt(a*b), 1))
}

func TestRotationsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		n := uint(2 + r.IntN(schema.MaxRotationBits-1))
		packed := r.Uint32() & (1<<(2+3*n) - 1)
		a, b, c := unpackRotation(packed, levels(n), n).packThree(int(packed&3), n)
		for i, v := range [...]uint32{a, b, c} {
			require.Equal(t, packed>>(2+uint(i)*n)&(1<<n-1), v, "%d of %#x, %d bits", i, packed, n)
		}
	}
}

func TestPowerScalesAngles(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 5_000 {
		axis := randomRotation(r)
		half := r.Float64() * 0.12
		size := math.Sqrt(float64(axis.x*axis.x + axis.y*axis.y + axis.z*axis.z))
		if size < 1000 {
			continue
		}
		turn := func(half float64) rotation {
			part := func(v int64) int64 { return int64(math.Round(float64(v) / size * math.Sin(half) * rotationOne)) }
			return rotation{part(axis.x), part(axis.y), part(axis.z), int64(math.Round(math.Cos(half) * rotationOne))}
		}
		age, gap := 1+r.Int64N(8), 1+r.Int64N(4)
		if k := float64(age) / float64(gap); half*k < 0.7 {
			require.Less(t, angleBetween(turn(half).power(age<<ratioBits/gap), turn(half*k)), 0.01+0.001*k, "%v to the power of %v", half, k)
		}
	}
}

func TestMatrixEqualsProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 2_000 {
		q := randomRotation(r)
		v := rotation{x: r.Int64N(16000) - 8000, y: r.Int64N(16000) - 8000, z: r.Int64N(16000) - 8000}
		want := q.times(v).times(q.conjugate()).parts()
		m := q.matrix()
		got := m.turn(vector{v.x, v.y, v.z}).axes()
		for i := range got {
			require.InDelta(t, want[i], float64(got[i])/(1<<fractionBits), 8)
		}
	}
}

func TestIsqrt(t *testing.T) {
	for _, v := range []int64{0, 1, 3, 4, 8, 9, 1<<52 - 1, 1 << 51} {
		root := isqrt(v)
		require.LessOrEqual(t, root*root, v)
		require.Greater(t, (root+1)*(root+1), v)
	}
	require.Zero(t, isqrt(-5))
}
