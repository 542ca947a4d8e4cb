package admin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/world"
)

func TestEffectMetrics(t *testing.T) {
	got := map[string]float64{}
	collectEffects(
		world.Stats{Effects: 7, Interpreted: []world.InterpretedEffect{{Name: "slow", Live: 2}, {Name: "other", Live: 1}}},
		func(value float64, name, _ string, labels ...string) { got[name+" "+strings.Join(labels, "=")] = value },
	)
	require.Equal(t, map[string]float64{
		"worldd_effects run=vector": 4, "worldd_effects run=interpreted": 3,
		"worldd_interpreted_effects effect=slow": 2, "worldd_interpreted_effects effect=other": 1,
	}, got)
}
