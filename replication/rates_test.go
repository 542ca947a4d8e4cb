package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// Times that are counted in ticks last as long at every tick rate, and at least as many ticks as
// at 60 a second.
func TestTimesFollowTheTickRate(t *testing.T) {
	for _, c := range []struct {
		hz           int
		idle, within uint32
		settled      uint16
	}{{10, 600, 15, 20}, {60, 600, 15, 20}, {240, 2400, 60, 80}, {1000, 10_000, 250, 333}} {
		w := must.Get(world.New(world.Config{TickHz: c.hz}))
		r := must.Get(New(w, schema.NewWithBody(), Config{SnapshotHz: 10}))
		require.Equal(t, c.idle, r.frame.idleTicks)
		require.Equal(t, []uint32{uint32(c.settled), c.within}, []uint32{uint32(settledTicksAt(c.hz)), disturbedWithinAt(c.hz)})
	}
}
