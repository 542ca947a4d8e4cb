package replication_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
)

// TestDue: every viewer is due evenly at its own phase, and each tick serves equally
// many viewers.
func TestDue(t *testing.T) {
	const viewers = 192
	for _, hz := range []int{5, 7, 20, 25, 30, 45, 60} {
		t.Run(fmt.Sprint(hz), func(t *testing.T) {
			s := newViewedWorld(t, replication.Config{SnapshotHz: hz})
			last, count, all := [viewers]int{}, [viewers]int{}, 0
			for tick := range 60 * 4 {
				s.world.Step()
				before := all
				for v := range viewers {
					if !s.rep.Due(uint64(v)) {
						continue
					}
					all++
					count[v]++
					if count[v] > 1 {
						gap := tick - last[v]
						require.GreaterOrEqual(t, gap, 60/hz, "never closer than whole ticks of an interval")
						require.Less(t, math.Abs(float64(gap)-60/float64(hz)), 1.0)
					}
					last[v] = tick
				}
				require.InDelta(t, float64(viewers*hz)/60, all-before, 4, "in one tick")
			}
			for v := range viewers {
				require.Equal(t, hz*4, count[v])
			}
		})
	}
}
