package rowtrain

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
)

// Training recovers the weights of a scale that the samples were made with.
func TestScalesAreFitted(t *testing.T) {
	n, model := newHistogram(1), rowcodec.Untrained()
	before := model.Scale
	for i := range 100 {
		r := rowcodec.Residual{Lane: 6, Attached: 2, Speed: 1, Magnitude: int32(3 * i)}
		r.Features[0], r.Features[1], r.Features[3] = 16, int32(i), 9
		n.addResidual(r)
	}
	n.fit(&model)
	require.NotEqual(t, before, model.Scale)
	w := &model.Scale[6][2][1]
	for _, i := range []int32{0, 10, 90} {
		require.InDelta(t, 3*i, (16*w[0]+i*w[1]+9*w[3])/256, 2)
	}
}

// Samples are weighted by their error relative to the typical error at their scale.
func TestWeightDependsOnScale(t *testing.T) {
	n := newHistogram(5)
	require.Greater(t, n.weight(3, 2), 100*n.weight(3, 64), "an error of three quanta matters at a scale of one")
	require.Greater(t, n.weight(0, 10), 8*n.weight(100, 10), "relatively large errors get little weight")
	require.Less(t, newHistogram(20).weight(0, 10), 8*newHistogram(20).weight(100, 10), "the first rounds weight them more evenly")
}

// Tables hold the most frequent groups, at most MaxHeads: one more would make a file that
// cannot be parsed.
func TestTablesHoldMostFrequentHeads(t *testing.T) {
	const groups, often = 8, 20
	train := func(prefix string, shapes int) rowcodec.Model {
		n, model := newHistogram(5), rowcodec.Untrained()
		for i := range shapes {
			for g := range groups {
				key := rowcodec.HeadKey{Shape: fmt.Sprint(prefix, i), Group: g, Symbols: 2}
				n.addHead(key, i, g&1)
				if i < often {
					n.addHead(key, i+1, g&1)
				}
			}
		}
		n.code(&model)
		return model
	}
	model := train("a", 40)
	require.Len(t, model.Heads, rowcodec.MaxHeads)
	for i := range often {
		require.True(t, slices.ContainsFunc(model.Heads, func(h rowcodec.Heads) bool { return h.Shape == fmt.Sprint("a", i) }))
	}
	tables := model.Tables()
	more := tables.With(train("b", 4).Tables())
	for _, made := range []*rowcodec.Tables{tables, more} {
		read := must.Get(rowcodec.ParseTables(made.Bytes()))
		require.Equal(t, made.Version(), read.Version())
	}
}
