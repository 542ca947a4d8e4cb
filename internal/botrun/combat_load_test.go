package botrun_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/loadtest/rig"
)

// requireNoConfusion requires that the bots have checked much and found no confusion.
func (s *botWorld) requireNoConfusion() {
	s.t.Helper()
	for _, b := range s.bots {
		require.Empty(s.t, b.Confusions())
		require.NotZero(s.t, b.Probes())
	}
}

// TestCombatOnALoadedMachine: server and bots stall now and then. After a stall some
// predictions are wrong, since the server's time goes back, but no answer is wrong.
func TestCombatOnALoadedMachine(t *testing.T) {
	racetest.SkipUnchecked(t)
	corrected := uint64(0)
	for name, link := range map[string]rig.Link{"near": {}, "rough": {Delay: 30 * time.Millisecond, Jitter: 60 * time.Millisecond, Loss: 0.03}} {
		for _, lag := range []int64{150, 900} {
			t.Run(name, func(t *testing.T) {
				s := newLoadedBotWorld(t, "calm", link, rig.Load{Stall: 600 * time.Millisecond, Every: 900 * time.Millisecond, Snapshots: 1})
				random := rand.New(rand.NewPCG(1, 2))
				s.join(6, botrun.Config{Seed: 5, Scenario: bots.Combat, AreaMetres: 15}, func(b *botrun.Bot) func(time.Time) error {
					var until time.Time
					return func(now time.Time) error {
						if now.Before(until) {
							return nil
						}
						if random.IntN(30) == 0 {
							until = now.Add(time.Duration(random.Int64N(lag)) * time.Millisecond)
						}
						return b.PlayFrame(now)
					}
				})
				require.NoError(t, s.RunFor(20*time.Second))
				s.requireNoConfusion()
				for _, b := range s.bots {
					corrected += b.Counted("corrections")
				}
			})
		}
	}
	require.NotZero(t, corrected)
}

// TestCombatOverLinksThatDie: a connection almost dies for seconds, so that single snapshots
// arrive while the stream waits. Missiles and names are due by the tick of the stream.
func TestCombatOverLinksThatDie(t *testing.T) {
	racetest.SkipUnchecked(t)
	for _, dead := range []time.Duration{10500 * time.Millisecond, 13 * time.Second} {
		good := rig.Link{Delay: 60 * time.Millisecond, Jitter: 40 * time.Millisecond}
		s := newBotWorld(t, "storm", good)
		s.join(4, botrun.Config{Seed: 5 + uint64(dead.Milliseconds()), Scenario: bots.Combat, AreaMetres: 15}, playFrame)
		for range 2 {
			require.NoError(t, s.RunFor(5*time.Second))
			for _, c := range s.Clients()[:2] {
				c.SetLink(rig.Link{Delay: 20 * time.Millisecond, Loss: 0.97})
			}
			require.NoError(t, s.RunFor(dead))
			for _, c := range s.Clients()[:2] {
				c.SetLink(good)
			}
		}
		require.NoError(t, s.RunFor(25*time.Second))
		s.requireNoConfusion()
	}
}

// TestRoamingOnALoadedMachine: with many events and few snapshots, no answer precedes the
// records on which it depends.
func TestRoamingOnALoadedMachine(t *testing.T) {
	racetest.SkipUnchecked(t)
	s := newLoadedBotWorld(t, "storm", rig.Link{Delay: 20 * time.Millisecond, Jitter: 60 * time.Millisecond, Loss: 0.02}, rig.Load{Stall: 500 * time.Millisecond, Every: time.Second, Snapshots: 2})
	s.join(40, botrun.Config{Seed: 5, AreaMetres: 15}, playFrame)
	require.NoError(t, s.RunFor(10*time.Second))
	s.requireNoConfusion()
	require.True(t, slices.ContainsFunc(s.bots, (*botrun.Bot).HasLearnt), "no event named anything")
}
