package replication_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// At every tick rate, viewers with a snapshot a second receive effects and members once, and compute
// the storm to the bit.
func TestSparseSnapshotsOfTheStorm(t *testing.T) {
	for _, rates := range [][2]int{{240, 4}, {240, 3}, {240, 1}, {60, 1}} {
		t.Run(fmt.Sprintf("%d ticks %d snapshots", rates[0], rates[1]), func(t *testing.T) {
			const seconds = 5
			m := newTempestAt(t, rates[0], 4, 0, replication.Config{SnapshotHz: rates[1]}, true)
			compared, bytes := 0, 0
			for range seconds * rates[0] {
				m.step()
				m.send(0, func(w *walker, h wire.StateHeader) {
					n, _ := compareExact(t, m.world, w, h)
					compared += n
				})
			}
			for _, w := range m.viewers {
				bytes += w.bytes
			}
			t.Logf("%d resyncs, %d bytes a second for a viewer, %d states compared", m.rep.Stats().Resyncs, bytes/len(m.viewers)/seconds, compared)
			require.Zero(t, m.rep.Stats().Resyncs)
			require.Greater(t, compared, 1000)
		})
	}
}

// The same where everything happens that may disturb a body or change an effect, up to the highest
// tick rate, with both clients.
func TestSparseSnapshotsUnderMischief(t *testing.T) {
	for _, rates := range [][2]int{{1000, 4}, {1000, 1}, {240, 3}} {
		t.Run(fmt.Sprintf("%d ticks %d snapshots", rates[0], rates[1]), func(t *testing.T) {
			seconds := 20
			if testing.Short() {
				seconds = 8
			}
			m := newMischiefAt(t, rates[0], 1, 2, replication.Config{SnapshotHz: rates[1]})
			own := &comparedClient{walker: m.viewers[0], m: m}
			sdk := newSDKClient(t, m.rep, m.world)
			clients := []mischiefClient{own, &lossyClient{sdk, m.rand}}
			for range seconds * rates[0] {
				m.settled = m.rand.IntN(rates[0]/15) != 0
				m.meddle(0.5)
				m.world.Step()
				m.rep.AfterStep()
				captured := false
				for i, v := range m.viewers {
					if !m.rep.Due(uint64(i)) {
						continue
					}
					if !captured {
						m.rep.Capture()
						captured = true
					}
					for len(v.acks) > 0 {
						require.NoError(t, v.Acknowledge(v.acks[0]))
						v.acks = v.acks[1:]
					}
					u := v.Snapshot()
					require.NoError(t, v.CheckInvariants())
					clients[i].receive(u.Stream, u.Datagrams)
					v.acks = append(v.acks, clients[i].Ack())
				}
			}
			t.Logf("%d resyncs; %d and %d states compared; %+v", m.rep.Stats().Resyncs, own.compared, sdk.compared, sdk.Stats().Motion)
			require.Zero(t, m.rep.Stats().Resyncs)
			require.Positive(t, own.compared)
			require.Positive(t, sdk.compared)
			require.Zero(t, sdk.Stats().Motion.Faults)
		})
	}
}
