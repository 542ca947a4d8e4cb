package botrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/loadtest/rig"
)

// fightOn lets bots fight in virtual time and returns them with the sum of their checks.
func fightOn(t *testing.T, world string, link rig.Link, d time.Duration) (*botWorld, map[string]uint64) {
	s := newBotWorld(t, world, link)
	s.join(6, botrun.Config{Seed: 5, Scenario: bots.Combat, AreaMetres: 15}, playFrame)
	require.NoError(t, s.RunFor(d))
	sum := map[string]uint64{}
	for _, b := range s.bots {
		for _, m := range bots.Player().Metrics {
			sum[m.Name] += b.Counted(m.Name)
		}
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
			racetest.SkipUnchecked(t)
			s, sum := fightOn(t, "calm", link, 20*time.Second)
			for _, b := range s.bots {
				require.Empty(t, b.Confusions())
			}
			t.Logf("%+v", sum)
			require.NotZero(t, sum["provisional_handles_bound"])
			require.NotZero(t, sum["provisional_handles_rejected"])
			require.NotZero(t, sum["missiles_unseen"])
			if name != "near" { // so near, a drawn moment lies between two received states by chance
				require.NotZero(t, sum["shots_judged"])
			}
			require.NotZero(t, sum["predictions_agreed"])
			require.Zero(t, sum["corrections_unexplained"])
			if name != "rough" {
				require.Zero(t, sum["shots_capped"])
				require.Greater(t, sum["hits"]+sum["shots_blocked"], sum["shots"]*9/10)
			}
		})
	}
}
