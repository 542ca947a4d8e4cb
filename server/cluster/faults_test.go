//go:build faults

package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/must"
)

// faultSeeds is how many seeds each fault gets, at most: the rarest need hundreds.
const faultSeeds = 1500

// counted is after how many seeds, if one has caught a fault, the others are not played.
const counted = 25

// TestFaultCluster plays the simulation with each deliberate fault of the protocol, until enough seeds were played and one of
// them has failed.
func TestFaultCluster(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	n := 0
	for _, f := range must.Get(fault.All()) {
		if !strings.HasPrefix(f.Name, "Cluster") {
			continue
		}
		n++
		t.Run(f.Name, func(t *testing.T) {
			fault.Inject(f.Name)
			caught, played, first := catchFault(t)
			fault.Inject("")
			t.Logf("caught by %d of %d seeds: %s", caught, played, first)
			require.NotZero(t, caught, f.Breaks)
		})
	}
	require.Equal(t, 36, n)
}

// catchFault returns how many seeds have failed, and how the first one did.
func catchFault(t *testing.T) (caught, played int, first string) {
	for _, failure := range []string{playOutages().failure, registerUnanswered(t), adoptLate(t), fencedMeanwhile(t), saveLate(t), handOver(t), heirDoesNotCome(t, "ends"), heirDoesNotCome(t, "begins again")} {
		if failure != "" {
			return 1, 1, failure
		}
	}
	for played < faultSeeds && (played < counted || caught == 0) {
		played++
		s := play(uint64(played), false)
		if s.failure == "" {
			continue
		}
		caught++
		if first == "" {
			first = s.failure
		}
	}
	return caught, played, first
}

// Clocks that run apart by more than the protocol assumes break it.
func TestFaultOfClocks(t *testing.T) {
	failed := 0
	for seed := range uint64(60) {
		s := newSimulation(seed)
		s.drift = 0.2
		s.run(generate(seed, s.lease))
		if s.failure != "" {
			failed++
		}
	}
	t.Logf("clocks that drift by 20 %% are caught by %d of 60 seeds", failed)
	require.NotZero(t, failed)
}
