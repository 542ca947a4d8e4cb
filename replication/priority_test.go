package replication

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRanking: the greatest weights come first, and equal weights keep their order. Weights
// that rank as equal differ by less than 1/128.
func TestRanking(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	var r ranking
	for _, n := range []int{0, 1, 2, 300, 5000, 3} {
		var weights []float32
		r.beginRanking()
		for i := range n {
			w := float32(math.Exp(random.NormFloat64() * 8))
			if i%5 == 0 {
				w = []float32{0, 1, math.MaxFloat32, math.SmallestNonzeroFloat32}[i%4]
			}
			weights = append(weights, w)
			r.addWeight(w)
		}
		order := r.sortedIndexes()
		want := make([]uint32, n)
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int {
			return cmp.Compare(math.Float32bits(weights[b])>>15, math.Float32bits(weights[a])>>15)
		})
		require.True(t, slices.Equal(want, order))
		for i := 1; i < n; i++ {
			before, after := weights[order[i-1]], weights[order[i]]
			require.LessOrEqual(t, float64(after), float64(before)*(1+1.0/128)+1e-38)
		}
	}
}
