package wire

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a codec sums scales with is what was fitted, and not what it was before.
func TestFittedWeightsAreInForce(t *testing.T) {
	n, before := newTally(1), UntrainedTables()
	x := [features]float64{featureOne: 16, featureMissed: 9}
	for i := range 100 {
		x[featureSpeed] = float64(i)
		n.scale[laneLinear][2][1].add(x[:], 3*float64(i), 1)
	}
	after := n.fitted(before).sets[0]
	require.NotEqual(t, before.sets[0].scale, after.scale)
	var f forecast
	f.weights = &after.pairs[2][1]
	f.feature.set(featureOne, 16)
	f.feature.set(featureMissed, 9)
	f.feature.set(featureSpeed, 4)
	w := &after.scale[laneLinear][2][1]
	sum := 16*w[featureOne] + 9*w[featureMissed] + 4*w[featureSpeed]
	require.Positive(t, sum)
	require.Equal(t, int(sum+128)>>8, f.scale(laneLinear))
}

// A row counts by how far off it is in terms of what is usual for its scale.
func TestSamplesCountByTheirScale(t *testing.T) {
	for scale := range scales {
		if v := usual(scale) - 1; v == math.Trunc(v) {
			require.Equal(t, int32(scale), magnitude(int64(v)), "the size of scale %d is %g", scale, v)
		}
	}
	n := newTally(5)
	require.Greater(t, n.weight(3, usual(4)), 100*n.weight(3, usual(24)), "three quanta matter where one is usual")
	require.Greater(t, n.weight(0, 10), 8*n.weight(100, 10), "what is far off for its kind counts little")
	require.Less(t, newTally(20).weight(0, 10), 8*newTally(20).weight(100, 10), "but not as little, at first")
}

// Tables hold the groups that were seen most often: with one more than there is room
// for they would be a file that nobody can read.
func TestTablesHoldTheMostFrequentHeads(t *testing.T) {
	const groups, often = 8, 20
	train := func(prefix string, shapes int) *Tables {
		n := newTally(5)
		for i := range shapes {
			p := &part{shape: fmt.Sprint(prefix, i), groups: slices.Repeat([]group{{ways: 2}}, groups)}
			for g := range groups {
				n.head(p, g, i, g&1)
				if i < often {
					n.head(p, g, i+1, g&1)
				}
			}
		}
		return n.coded(UntrainedTables(), nil)
	}
	tables := train("a", 40)
	require.Equal(t, maxHeads, len(tables.heads))
	for i := range often {
		require.True(t, slices.ContainsFunc(tables.heads, func(h headLengths) bool { return h.shape == fmt.Sprint("a", i) }))
	}
	more := tables.With(train("b", 4))
	require.Equal(t, maxHeads, len(more.heads))
	for _, made := range []*Tables{tables, more} {
		read, err := ParseTables(made.Bytes())
		require.NoError(t, err)
		require.Equal(t, made.Version(), read.Version())
	}
}
