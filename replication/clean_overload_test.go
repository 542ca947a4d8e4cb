package replication_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// Under a budget that rows exceed, snapshots are complete often enough, and ordinary rows are
// sent too.
func TestCompleteUnderBudget(t *testing.T) {
	racetest.SkipSequential(t)
	m := newStormWorld(t, 40, 0, replication.Config{BudgetBytesPerSecond: 4000}, true)
	complete, snapshots, ordinary, longest, oldest, ages := 0, 0, 0, uint32(0), uint32(0), uint32(0)
	last := map[*walker]uint32{}
	ticks := shorttest.Pick(900, 600)
	for tick := range ticks {
		for i, w := range m.viewers { // steered in each tick, avatars are ordinary
			w.heading += 0.1
			m.scene.Steer(w.entity, [2]float32{float32(math.Cos(w.heading + float64(i))), float32(math.Sin(w.heading))})
		}
		m.step()
		m.send(0, func(w *walker, h wire.StateHeader) {
			if h.Complete || last[w] == 0 {
				last[w] = h.Tick
			}
			if tick < 300 {
				return
			}
			snapshots++
			if h.Complete {
				complete++
			}
			longest = max(longest, h.Tick-last[w])
			for _, member := range w.client.members {
				if member.exact == 0 {
					ordinary++
					ages += h.Tick - member.newest
					oldest = max(oldest, h.Tick-member.newest)
				}
			}
		})
	}
	t.Logf("%d of %d snapshots complete, at most %d ticks without; %d states of ordinary bodies, %.2f ticks old, at most %d",
		complete, snapshots, longest, ordinary, float64(ages)/float64(ordinary), oldest)
	require.Less(t, complete, snapshots, "not all rows fit")
	require.Less(t, longest, uint32(24))
	require.Less(t, float64(ages)/float64(ordinary), 6.0)
	require.Less(t, oldest, uint32(120))
}
