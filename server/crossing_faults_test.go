//go:build faults

package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/must"
)

// TestFaultCrossings plays crossings with each deliberate fault until a seed has failed.
func TestFaultCrossings(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	n := 0
	for _, f := range must.Get(fault.All()) {
		if !strings.HasPrefix(f.Name, "Crossing") {
			continue
		}
		n++
		failure := ""
		for seed := uint64(0); seed < 20 && failure == ""; seed++ {
			fault.Inject(f.Name)
			failure = playCrossings(t, seed).failure
			fault.Inject("")
		}
		t.Logf("%-25s %s", f.Name, failure)
		require.NotEmpty(t, failure, "fault %s survives: %s", f.Name, f.Breaks)
	}
	require.Equal(t, 7, n)
}
