package replication_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// TestViewersAreIndependent: a viewer is sent the same bytes alone and beside other
// viewers, although viewers copy rows and whole datagrams from each other (R9).
func TestViewersAreIndependent(t *testing.T) {
	const viewers = 9
	for name, c := range map[string]struct {
		budget int
		moving float32
	}{
		"all move":      {4_000_000, 1}, // each tick has the rows and baselines of the tick before
		"all rows fit":  {4_000_000, 0.3},
		"most rows fit": {24_000, 0.3},
		"few rows fit":  {6_000, 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			config := replication.Config{SnapshotHz: 30, EnterRadius: 400, BudgetBytesPerSecond: c.budget}
			together, stats := sentBytes(t, config, c.moving, viewers, -1)
			require.NotZero(t, stats.RowsCopied)
			for i := range viewers {
				alone, stats := sentBytes(t, config, c.moving, viewers, i)
				require.Equal(t, alone[i], together[i], "viewer %d", i)
				require.Zero(t, stats.RowsWhole, "no baseline was out of reach")
			}
		})
	}
}

// sentBytes runs a world for some ticks and returns the bytes sent to each viewer, or
// to the one given. Viewers acknowledge late, groups of three equally.
func sentBytes(t *testing.T, c replication.Config, moving float32, viewers, one int) ([][]byte, replication.Stats) {
	a := newManyViewers(t, 120, viewers, 120, c)
	sent, written := make([][]byte, viewers), make([][]uint32, viewers)
	for tick := range 50 {
		a.step(moving, 3)
		if tick%5 == 0 {
			i := 20 + tick
			a.world.Destroy(a.crowd[i])
			a.crowd[i] = a.spawn()
		}
		a.rep.Capture()
		for i, v := range a.viewers {
			if one >= 0 && i != one {
				continue
			}
			u := v.Snapshot()
			sent[i] = append(sent[i], u.Stream...)
			sent[i] = append(sent[i], slices.Concat(u.Datagrams...)...)
			if len(u.Stream) > 0 {
				a.written[i] += a.records(u.Stream)
			}
			for range u.Datagrams {
				written[i] = append(written[i], a.written[i])
			}
			if late := 1 + i/3; len(written[i]) > late {
				newest := len(written[i]) - late
				require.NoError(t, v.Acknowledge(wire.Ack{
					Seen: true, Newest: uint32(newest), Mask: 1<<64 - 1, Structure: written[i][newest-1],
				}))
			}
		}
	}
	return sent, a.rep.Stats()
}
