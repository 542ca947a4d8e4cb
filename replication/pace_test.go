package replication_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
)

// At each pace every viewer is sent its share, evenly, at its own phase, and each
// tick makes as many snapshots as the others.
func TestPace(t *testing.T) {
	const viewers = 192
	for _, hz := range []int{20, 25, 30, 45, 60} {
		for pace := 1; pace <= replication.FullPace; pace++ {
			t.Run(fmt.Sprint(hz, "/", pace), func(t *testing.T) {
				s := newStage(t, replication.Config{SnapshotHz: hz})
				s.rep.SetPace(pace)
				interval := 60 * 16 / float64(hz*pace)
				last, count := [viewers]int{}, [viewers]int{}
				for tick := range 60 * 16 {
					s.world.Step()
					due := 0
					for v := range viewers {
						if !s.rep.Due(uint64(v)) {
							continue
						}
						due++
						if count[v]++; count[v] > 1 {
							gap := tick - last[v]
							require.GreaterOrEqual(t, gap, 60/hz, "never closer than at full pace")
							require.Less(t, math.Abs(float64(gap)-interval), 1.0)
						}
						last[v] = tick
					}
					require.Equal(t, viewers*hz*pace/(60*16), due)
				}
				for v := range viewers {
					require.Equal(t, hz*pace, count[v])
				}
			})
		}
	}
}
