package rowcodec

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
)

// A scale is the sum of features with the model's weights.
func TestScaleUsesModelWeights(t *testing.T) {
	racetest.SkipSequential(t)
	model := Untrained()
	w := &model.Scale[laneLinear][2][1]
	*w = [Features]int32{featureOne: 70, featureSpeed: 700, featureMissed: -20}
	var f prediction
	f.weights = &model.Tables().sets[0].scaleWeights[2][1]
	f.features[pairAxisSpeed] = pairOf(0, 4)
	packed := &f.weights[laneLinear]
	x := residual{rest: f.rest(packed), weight: packed.missed}
	const missed = 4 // of magnitude 9
	require.EqualValues(t, 9, magnitude(missed))
	sum := 16*w[featureOne] + 9*w[featureMissed] + 4*w[featureSpeed]
	require.Positive(t, sum)
	require.Equal(t, int(sum+128)>>8, x.scale(missed))
}

func TestUsualInvertsMagnitude(t *testing.T) {
	for scale := range Scales {
		if v := usual(scale) - 1; v == math.Trunc(v) {
			require.Equal(t, int32(scale), magnitude(int64(v)), "scale %d has size %g", scale, v)
		}
	}
}

// With keeps at most MaxHeads heads.
func TestWithBoundsHeads(t *testing.T) {
	racetest.SkipSequential(t)
	of := func(shape string, groups int) *Tables {
		model := Untrained()
		for g := range groups {
			h := Heads{Shape: shape, Group: g, Symbols: 2}
			for i := range h.Lengths {
				h.Lengths[i] = []uint8{1, 1}
			}
			model.Heads = append(model.Heads, h)
		}
		return model.Tables()
	}
	more := of("a", MaxHeads).With(of("b", 32))
	require.Len(t, more.heads, MaxHeads)
	require.Equal(t, "b", more.heads[MaxHeads-1].Shape)
}
