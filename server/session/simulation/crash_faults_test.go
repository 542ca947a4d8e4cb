//go:build faults

package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
)

// TestFaultCrash runs the simulation of crashes with every deliberate fault of notes and held output.
func TestFaultCrash(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	faults, err := fault.All()
	require.NoError(t, err)
	n := 0
	for _, f := range faults {
		if !strings.HasPrefix(f.Name, "Crash") {
			continue
		}
		n++
		fault.Inject(f.Name)
		var caught error
		for seed := uint64(1); seed < 60 && caught == nil; seed++ {
			caught = newCrashSim(seed).simulate()
		}
		fault.Inject("")
		t.Logf("%-20s %v", f.Name, caught)
		require.Error(t, caught, "fault %s survives: %s", f.Name, f.Breaks)
	}
	require.Equal(t, 10, n)
}

// TestFaultPassages runs the simulation of crashes between rooms with every deliberate fault of departures and arrivals.
func TestFaultPassages(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	faults, err := fault.All()
	require.NoError(t, err)
	n := 0
	for _, f := range faults {
		if !strings.HasPrefix(f.Name, "Passage") {
			continue
		}
		n++
		fault.Inject(f.Name)
		var caught error
		for seed := uint64(0); seed < 20 && caught == nil; seed++ {
			caught = newMoveSim(seed, 2+int(seed%4/3)).simulate()
		}
		fault.Inject("")
		t.Logf("%-20s %v", f.Name, caught)
		require.Error(t, caught, "fault %s survives: %s", f.Name, f.Breaks)
	}
	require.Equal(t, 10, n)
}
