package bot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/loadtest/rig"
)

// fightOn lets bots fight in virtual time and returns them with the sum of their checks.
func fightOn(t *testing.T, world string, link rig.Link, d time.Duration) (*botWorld, CombatChecks) {
	s := newBotWorld(t, world, link)
	s.join(6, Config{Seed: 5, Scenario: Combat, AreaMetres: 15}, func(b *bot) func(time.Time) error { return b.playFrame })
	require.NoError(t, s.RunFor(d))
	var sum CombatChecks
	for _, b := range s.bots {
		sum.add(b.combat.checks)
	}
	return s, sum
}

// TestCombat: bots check everything and find nothing wrong, over good and bad links.
func TestCombat(t *testing.T) {
	for name, link := range map[string]rig.Link{
		"near":  {},
		"far":   {Delay: 40 * time.Millisecond},
		"rough": {Delay: 75 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			s, sum := fightOn(t, "calm", link, 20*time.Second)
			for _, b := range s.bots {
				require.Empty(t, b.oracle.recorded)
			}
			t.Logf("%+v", sum)
			require.NotZero(t, sum.Bound)
			require.NotZero(t, sum.Rejected)
			require.NotZero(t, sum.Unseen)
			require.NotZero(t, sum.Judged)
			require.NotZero(t, sum.Agreed)
			require.Zero(t, sum.Unexplained)
			if name != "rough" {
				require.Zero(t, sum.Capped)
				require.Greater(t, sum.Hits+sum.Blocked, sum.Shots*9/10)
			}
		})
	}
}
