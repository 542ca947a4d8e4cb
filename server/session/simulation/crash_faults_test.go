//go:build faults

package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/must"
)

// TestFaultCrash runs the simulation of crashes with every deliberate fault of notes and held output.
func TestFaultCrash(t *testing.T) {
	catchFamily(t, "Crash", 10, 59, func(seed uint64) error { return newCrashSim(seed + 1).simulate() })
}

// TestFaultPassages runs the simulation of crashes between rooms with every deliberate fault of departures and arrivals.
func TestFaultPassages(t *testing.T) {
	catchFamily(t, "Passage", 11, 20, func(seed uint64) error { return newMoveSim(seed, 2+int(seed%4/3)).simulate() })
}

// catchFamily runs a simulation with each of the faults whose names have a prefix, and requires that one of the seeds
// catches it.
func catchFamily(t *testing.T, prefix string, faults int, seeds uint64, simulate func(seed uint64) error) {
	t.Cleanup(func() { fault.Inject("") })
	n := 0
	for _, f := range must.Get(fault.All()) {
		if !strings.HasPrefix(f.Name, prefix) {
			continue
		}
		n++
		fault.Inject(f.Name)
		var caught error
		for seed := uint64(0); seed < seeds && caught == nil; seed++ {
			caught = simulate(seed)
		}
		fault.Inject("")
		t.Logf("%-20s %v", f.Name, caught)
		require.Error(t, caught, "fault %s survives: %s", f.Name, f.Breaks)
	}
	require.Equal(t, faults, n)
}
