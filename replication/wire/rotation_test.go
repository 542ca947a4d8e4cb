package wire

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func randomRotation(r *rand.Rand) rotation {
	return toUnit([4]int64{r.Int64N(20001) - 10000, r.Int64N(20001) - 10000, r.Int64N(20001) - 10000, 1 + r.Int64N(10000)}, rotation{})
}

// angleBetween is the angle in radians that takes q to r.
func angleBetween(q, r rotation) float64 {
	dot, a, b := 0.0, 0.0, 0.0
	for i := range q {
		dot += float64(q[i]) * float64(r[i])
		a += float64(q[i]) * float64(q[i])
		b += float64(r[i]) * float64(r[i])
	}
	return 2 * math.Acos(min(math.Abs(dot)/math.Sqrt(a*b), 1))
}

func TestRotationsPackAsTheyUnpack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		n := uint(2 + r.IntN(maxRotationBits-1))
		word := r.Uint32() & (1<<(2+3*n) - 1)
		three := unpackRotation(word, levels(n), n).packThree(int(word&3), n)
		for i, v := range three {
			require.Equal(t, word>>(2+uint(i)*n)&(1<<n-1), v, "%d of %#x, %d bits", i, word, n)
		}
	}
}

func TestPowerGoesOnTurning(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 5_000 {
		axis := randomRotation(r)
		half := r.Float64() * 0.12
		size := math.Sqrt(float64(axis[0])*float64(axis[0]) + float64(axis[1])*float64(axis[1]) + float64(axis[2])*float64(axis[2]))
		if size < 1000 {
			continue
		}
		turn := func(half float64) rotation {
			var q rotation
			for i := range 3 {
				q[i] = int32(math.Round(float64(axis[i]) / size * math.Sin(half) * rotationOne))
			}
			q[3] = int32(math.Round(math.Cos(half) * rotationOne))
			return q
		}
		age, gap := 1+r.Int64N(8), 1+r.Int64N(4)
		if k := float64(age) / float64(gap); half*k < 0.7 {
			require.Less(t, angleBetween(turn(half).power(age<<ratioBits/gap), turn(half*k)), 0.01+0.001*k, "%v to the power of %v", half, k)
		}
	}
}

func TestMatrixTurnsAsTheProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 2_000 {
		q := randomRotation(r)
		v := rotation{int32(r.IntN(16000) - 8000), int32(r.IntN(16000) - 8000), int32(r.IntN(16000) - 8000), 0}
		want := q.times(v).times(q.conjugate())
		m := q.matrix()
		got := m.turn([3]int64{int64(v[0]), int64(v[1]), int64(v[2])})
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
