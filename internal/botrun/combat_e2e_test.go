//go:build !faults

package botrun_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/scenes/bots"
)

// TestCombatOverSockets: fighting bots measure all figures, in the demo's world.
func TestCombatOverSockets(t *testing.T) {
	report := play(t, botrun.Config{Scenario: bots.Combat, Bots: 6, AreaMetres: 12}, func(_ *hosted, p *botrun.Progress) bool {
		return p.Connected == 6 && p.ElapsedS > 8
	})
	n := report.Game
	require.NotZero(t, n["shots"])
	require.NotZero(t, n["hits"]+n["shots_blocked"])
	require.NotZero(t, n["provisional_handles_bound"])
	require.NotZero(t, n["predictions_agreed"])
	require.Contains(t, n, "prediction_error_p99_mm")
	require.NotNil(t, report.Input.P50Ms)
}
