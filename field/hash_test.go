package field

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExp2(t *testing.T) {
	for n := -126; n <= 127; n++ {
		require.Equal(t, float32(math.Ldexp(1, n)), exp232(float32(n)))
	}
	worst, last := 0.0, float32(0)
	for i := -126 * 2000; i < 128*2000; i++ {
		a := float32(i) / 2000
		got := exp232(a)
		worst = max(worst, math.Abs(float64(got)/math.Exp2(float64(a))-1))
		if got < last {
			t.Fatalf("2^%g is %g, and less than before", a, got)
		}
		last = got
	}
	require.Less(t, worst, 2e-7)
	require.True(t, isFinite(exp232(math.Nextafter32(128, 0))))
}

// lattice calls f with the hash of every integer point from -n to n.
func lattice(n int, f func(a, b, c, hash float32)) {
	for i := -n; i <= n; i++ {
		for j := -n; j <= n; j++ {
			for k := -n; k <= n; k++ {
				a, b, c := float32(i), float32(j), float32(k)
				f(a, b, c, hash32(a, b, c))
			}
		}
	}
}

// TestHashDistribution: for small integers, as noise uses them, the hashes cover [0, 1)
// evenly with almost no duplicates.
func TestHashDistribution(t *testing.T) {
	const bins = 256
	var count [bins]int
	seen := map[float32]int{}
	n := 0
	lattice(30, func(_, _, _, h float32) {
		require.True(t, h >= 0 && h < 1)
		count[int(h*bins)]++
		seen[h]++
		n++
	})
	mean, chi := float64(n)/bins, 0.0
	for _, c := range count {
		chi += (float64(c) - mean) * (float64(c) - mean) / mean
	}
	require.Less(t, chi, 256+5*math.Sqrt(2*256), "chi squared of %d bins", bins)
	twice := n - len(seen)
	require.Less(t, float64(twice), 1.2*float64(n)*float64(n)/2/(1<<24), "of %d points", n)
}

// TestHashNeighbours: hashes of neighbours, including diagonal ones, are uncorrelated.
func TestHashNeighbours(t *testing.T) {
	for _, step := range [][3]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, -1, 0}, {0, 1, 1}, {1, 0, -1}, {1, 1, 1}, {2, 0, 0}, {0, 16, 0}, {0, 0, 64}} {
		sum, n := 0.0, 0.0
		lattice(20, func(a, b, c, h float32) {
			other := hash32(a+step[0], b+step[1], c+step[2])
			sum += 12 * (float64(h) - 0.5) * (float64(other) - 0.5)
			n++
		})
		require.Less(t, math.Abs(sum/n), 4/math.Sqrt(n), "the correlation with the neighbour at %v", step)
	}
}

// TestHashAvalanche: changing one bit of an operand flips about half of the bits.
func TestHashAvalanche(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	flips, tries := [24]int{}, 0
	for range 4000 {
		in := [3]float32{float32(r.IntN(512) - 256), float32(r.IntN(512) - 256), float32(r.IntN(512) - 256)}
		before := uint32(hash32(in[0], in[1], in[2]) * (1 << 24))
		i := r.IntN(3)
		in[i] = math.Float32frombits(math.Float32bits(in[i]) ^ 1<<r.IntN(30))
		for turned := before ^ uint32(hash32(in[0], in[1], in[2])*(1<<24)); turned != 0; turned &= turned - 1 {
			flips[bits.TrailingZeros32(turned)]++
		}
		tries++
	}
	for bit, n := range flips {
		require.InDelta(t, 0.5, float64(n)/float64(tries), 0.04, "bit %d", bit)
	}
}

// TestHashCanonical: equal numbers have equal hashes.
func TestHashCanonical(t *testing.T) {
	require.Equal(t, hash32(0, 0, 0), hash32(neg32(0), neg32(0), neg32(0)))
	minusInfinity := float32(math.Inf(-1))
	for _, nan := range []uint32{0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff} {
		f := math.Float32frombits(nan)
		require.Equal(t, hash32(minusInfinity, 2, minusInfinity), hash32(f, 2, f))
	}
	require.NotEqual(t, hash32(1, 2, 3), hash32(3, 2, 1))
}

// TestExp: exp has at most the error in PROGRAM.md.
func TestExp(t *testing.T) {
	var points Planes
	for i := -860; i <= 860; i++ {
		points.X = append(points.X, float32(i)/10)
	}
	points.Y, points.Z = points.X, points.X
	got := fieldAt(t, "output.x += exp(position.x)", points).X
	for i, x := range points.X {
		worst := 2e-7 + 1e-7*math.Abs(float64(x))
		require.InDelta(t, 1, float64(got[i])/math.Exp(float64(x)), worst, "e^%g", x)
	}
}
