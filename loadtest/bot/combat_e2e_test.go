//go:build !faults

package bot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/loadtest/bot"
)

// TestCombatOverSockets: fighting bots measure all figures, in the demo's world.
func TestCombatOverSockets(t *testing.T) {
	report := play(t, bot.Config{Scenario: bot.Combat, Bots: 6, AreaMetres: 12}, func(_ *hosted, p *bot.Progress) bool {
		return p.Connected == 6 && p.ElapsedS > 8
	})
	c := report.Combat
	require.NotNil(t, c)
	require.NotZero(t, c.Shots)
	require.NotZero(t, c.Hits+c.Blocked)
	require.NotZero(t, c.Bound)
	require.NotZero(t, c.Agreed)
	require.NotNil(t, c.P99Mm)
	require.NotNil(t, report.Input.P50Ms)
}
