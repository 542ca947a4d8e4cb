package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a codec sums scales with is what was fitted, and not what it was before.
func TestFittedWeightsAreInForce(t *testing.T) {
	n, before := newTally(UntrainedTables()), UntrainedTables()
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
