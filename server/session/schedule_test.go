package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/session"
)

// fullTestServer returns a test server with n clients.
func fullTestServer(t *testing.T, n int) (*testServer, []*testClient) {
	d := newTestServerWith(t, func(c *session.Config) { c.MaxSessions = n })
	var clients []*testClient
	for range n {
		clients = append(clients, d.join())
	}
	d.ticks(60)
	return d, clients
}

// shortTicks runs n ticks with time for some snapshots each. It returns the ticks in which
// each client received a snapshot.
func (d *testServer) shortTicks(n, some int, clients []*testClient) (when [][]int) {
	when = make([][]int, len(clients))
	for tick := range n {
		before := make([]int, len(clients))
		for i, c := range clients {
			before[i] = c.Datagrams
		}
		d.core.Receive()
		d.core.Step()
		left := some
		d.core.Send(func() bool { left--; return left < 0 })
		for i, c := range clients {
			if c.Datagrams > before[i] {
				when[i] = append(when[i], tick)
			}
		}
	}
	return when
}

// The longest-waiting session is served first: all sessions receive equally many snapshots,
// evenly spaced.
func TestLongestWaitingFirst(t *testing.T) {
	const count = 6 // 20 snapshots a second for each client: two clients in each of 60 ticks
	d, clients := fullTestServer(t, count)
	before := d.core.Stats()
	for i, ticks := range d.shortTicks(120, 1, clients) {
		require.Len(t, ticks, 20, "half of them")
		for n := 1; n < len(ticks); n++ {
			require.Equal(t, count, ticks[n]-ticks[n-1], "client %d", i)
		}
	}
	after := d.core.Stats()
	require.EqualValues(t, 240, after.SnapshotsDue-before.SnapshotsDue)
	require.InDelta(t, 120, after.SnapshotsSkipped-before.SnapshotsSkipped, count, "or still waiting")

	d.shortTicks(6, 2, clients) // until none waits
	before = d.core.Stats()
	for _, ticks := range d.shortTicks(60, 2, clients) {
		require.Len(t, ticks, 20, "time for all")
	}
	require.Equal(t, before.SnapshotsSkipped, d.core.Stats().SnapshotsSkipped)
}

// With time for most snapshots, every session misses some snapshots and no session misses
// half, whatever the order of joining.
func TestShortageIsShared(t *testing.T) {
	for _, c := range []struct{ hz, clients, some, shots, least, most int }{
		{20, 12, 3, 30, 4, 4}, // four are due in each tick, with time for three
		{60, 5, 3, 72, 1, 2},
	} {
		d := newTestServerWith(t, func(config *session.Config) {
			config.MaxSessions, config.Replication.SnapshotHz = c.clients, c.hz
		})
		var clients []*testClient
		for range c.clients {
			clients = append(clients, d.join())
		}
		d.shortTicks(60, c.some, clients)
		for i, ticks := range d.shortTicks(120, c.some, clients) {
			require.Len(t, ticks, c.shots, "%d Hz, client %d", c.hz, i)
			for n := 1; n < len(ticks); n++ {
				apart := ticks[n] - ticks[n-1]
				require.True(t, c.least <= apart && apart <= c.most, "%d Hz, client %d: %d ticks", c.hz, i, apart)
			}
		}
	}
}

// With no time at all, every session still receives two snapshots a second.
func TestMinimumSnapshotRate(t *testing.T) {
	d, clients := fullTestServer(t, 5)
	for _, ticks := range d.shortTicks(480, 0, clients) {
		require.GreaterOrEqual(t, len(ticks), 15)
		for n := 1; n < len(ticks); n++ {
			require.LessOrEqual(t, ticks[n]-ticks[n-1], 30, "half a second")
		}
	}
}

// After a stall all sessions are overdue, and are served over several ticks.
func TestOverdueAreSpread(t *testing.T) {
	const count = 60 // a third of them is due in each tick
	d, clients := fullTestServer(t, count)
	served := make([]int, 480)
	for i, ticks := range d.shortTicks(len(served), 0, clients) {
		require.GreaterOrEqual(t, len(ticks), 15, "client %d", i)
		for _, tick := range ticks {
			served[tick]++
		}
	}
	require.Equal(t, 8, slices.Max(served))
}

// The last tick sends every session a snapshot, so a queued session misses none.
func TestLastTickMissesNothing(t *testing.T) {
	d, clients := fullTestServer(t, 1)
	turns := d.core.Stats().SnapshotsDue
	for d.core.Stats().SnapshotsDue == turns {
		d.shortTicks(1, 0, clients)
	}
	before, shots := d.core.Stats(), clients[0].Datagrams
	d.core.Receive()
	d.core.Step()
	d.core.SendAll()
	after := d.core.Stats()
	require.Equal(t, shots+1, clients[0].Datagrams)
	require.Equal(t, before.SnapshotsDue, after.SnapshotsDue, "it was already due")
	require.Equal(t, before.SnapshotsSkipped, after.SnapshotsSkipped)
}

// A session without a connection takes no time, and is scheduled again when it resumes.
func TestAwayIsNotScheduled(t *testing.T) {
	d := newTestServerWith(t, func(c *session.Config) { c.MaxSessions = 2 })
	first, w := d.enter()
	second := d.join()
	d.ticks(60)
	d.busy = true
	d.ticks(3)
	first.lose()
	d.busy = false
	before := second.Datagrams
	d.ticks(1)
	require.Equal(t, before+1, second.Datagrams, "the other waited, too, and is served first")
	first, _ = d.resume(w)
	d.ticks(4)
	require.NotZero(t, first.Datagrams)
}

// A session whose connection has not sent its last snapshot takes no time and no turn from
// others. It gets the next snapshot as soon as the last has left (S8).
func TestUnsentSnapshotHoldsTheNext(t *testing.T) {
	d, clients := fullTestServer(t, 3)
	slow := clients[0]
	d.shortTicks(6, 2, clients)
	slow.Unsent = true
	before := d.core.Stats()
	for i, ticks := range d.shortTicks(60, 1, clients) {
		require.Len(t, ticks, []int{0, 20, 20}[i], "client %d", i)
	}
	after := d.core.Stats()
	require.EqualValues(t, 19, after.SnapshotsHeld-before.SnapshotsHeld, "the first of 20 still waits")
	require.Zero(t, after.SnapshotsSkipped-before.SnapshotsSkipped)
	require.Zero(t, d.core.Waiting(), "none waits for time")
	slow.Unsent = false
	require.Equal(t, []int{0}, d.shortTicks(1, 1, clients)[0], "it has waited longest")
}
