//go:build faults

package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
)

// TestFaultRooms runs the simulation of rooms with every deliberate fault of moves.
func TestFaultRooms(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	faults, err := fault.All()
	require.NoError(t, err)
	n := 0
	for _, f := range faults {
		if !strings.HasPrefix(f.Name, "Room") {
			continue
		}
		n++
		fault.Inject(f.Name)
		var caught error
		for seed := uint64(0); seed < 40 && caught == nil; seed++ {
			caught = newRoomsSim(t, seed).simulate()
		}
		fault.Inject("")
		t.Logf("%-20s %v", f.Name, caught)
		require.Error(t, caught, "fault %s survives: %s", f.Name, f.Breaks)
	}
	require.Equal(t, 8, n)
}
