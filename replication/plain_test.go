package replication_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// ages counts the rows of an update with and without a baseline.
func ages(u replication.Update) (full, coded int) {
	for _, d := range u.Datagrams {
		var r bitio.Reader
		h := must.Get(wire.ParseStateHeader(d, &r))
		if h.Rows == 0 {
			continue
		}
		coding := wire.ReadRowCoding(&r, h.Tick)
		for range h.Rows {
			if _, b := wire.ReadRowHeader(&r, coding, h.Tick); b.Age == 0 {
				full++
			} else {
				coded++
			}
		}
	}
	return full, coded
}

// A viewer with plain rows receives each row in full, whether all fit into one datagram or not; others receive the same entities coded.
func TestPlainRows(t *testing.T) {
	for _, crates := range []int{20, 400} {
		s := newViewedWorld(t, replication.Config{EnterRadius: 1000, BudgetBytesPerSecond: 400_000})
		var moving []bulk.Handle
		for i := range crates {
			moving = append(moving, s.spawn(float32(i%20), float32(i/20)))
		}
		plain := s.rep.AddViewer(s.focus)
		plain.SendPlainRows()
		all, applied := [2][2]int{}, [2]uint32{}
		for round := range 40 {
			for i, h := range moving {
				s.world.SetVelocity(h, world.Vec3{X: float32((round + i) % 3)})
			}
			first := s.snapshot()
			for i, u := range []replication.Update{first, plain.Snapshot()} {
				if round > 20 {
					full, coded := ages(u)
					all[i][0] += full
					all[i][1] += coded
				}
				applied[i] += uint32(len(records(t, u)))
			}
			for i, v := range []*replication.Viewer{s.viewer, plain} {
				n := v.Numbers()
				require.NoError(t, v.Acknowledge(wire.Ack{Seen: n.Seq > 0, Newest: n.Seq, Mask: (1<<64 - 1) * uint64(min(n.Seq, 1)), Structure: applied[i]}))
			}
		}
		require.Greater(t, all[0][1], 10*crates, "coded rows of an ordinary viewer")
		require.Greater(t, all[1][0], 10*crates, "plain rows")
		require.Zero(t, all[1][1], "coded rows among plain ones")
	}
}
