package replication_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
)

// At each pace every viewer is sent its share, evenly, at its own phase, and each
// tick makes as many snapshots as the others.
func TestPace(t *testing.T) {
	const viewers = 96
	for _, hz := range []int{20, 30, 60} {
		for pace := 1; pace <= replication.FullPace; pace++ {
			t.Run(fmt.Sprint(hz, "/", pace), func(t *testing.T) {
				s := newStage(t, replication.Config{SnapshotHz: hz})
				s.rep.SetPace(pace)
				interval := 60 / hz
				last, count := [viewers]int{}, [viewers]int{}
				for tick := range 16 * interval * 4 {
					s.world.Step()
					due := 0
					for v := range viewers {
						if !s.rep.Due(uint64(v)) {
							continue
						}
						due++
						if count[v]++; count[v] > 1 {
							gap := tick - last[v]
							require.Zero(t, gap%interval, "never closer than at full pace")
							require.InDelta(t, float64(16*interval)/float64(pace), gap, float64(interval))
						}
						last[v] = tick
					}
					require.Equal(t, viewers*pace/(16*interval), due)
				}
				for v := range viewers {
					require.Equal(t, 4*pace, count[v])
				}
			})
		}
	}
}
