package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/session"
)

// fullDesk returns a desk with the given number of clients; each counts its snapshots.
func fullDesk(t *testing.T, clients int) (*desk, []*seat) {
	d := newDeskWith(t, func(c *session.Config) { c.MaxSessions = clients })
	var seats []*seat
	for range clients {
		seats = append(seats, d.join())
	}
	d.ticks(60)
	return d, seats
}

// shortTicks runs ticks with time for some snapshots each. It returns the ticks in which
// each client received one.
func (d *desk) shortTicks(n, some int, seats []*seat) (when [][]int) {
	when = make([][]int, len(seats))
	for tick := range n {
		before := make([]int, len(seats))
		for i, c := range seats {
			before[i] = c.shots
		}
		d.core.Receive()
		d.core.Step()
		left := some
		d.core.Send(func() bool { left--; return left < 0 })
		for i, c := range seats {
			if c.shots > before[i] {
				when[i] = append(when[i], tick)
			}
		}
	}
	return when
}

// The longest-waiting session is served first: all receive equally many, evenly spaced.
func TestLongestWaitingFirst(t *testing.T) {
	const clients = 6 // of 20 snapshots a second: two in each of 60 ticks
	d, seats := fullDesk(t, clients)
	before := d.core.Stats()
	for i, ticks := range d.shortTicks(120, 1, seats) {
		require.Len(t, ticks, 20, "half of them")
		for n := 1; n < len(ticks); n++ {
			require.Equal(t, clients, ticks[n]-ticks[n-1], "client %d", i)
		}
	}
	after := d.core.Stats()
	require.EqualValues(t, 240, after.SnapshotsDue-before.SnapshotsDue)
	require.InDelta(t, 120, after.SnapshotsSkipped-before.SnapshotsSkipped, clients, "or still waits")

	d.shortTicks(6, 2, seats) // until nobody waits
	before = d.core.Stats()
	for _, ticks := range d.shortTicks(60, 2, seats) {
		require.Len(t, ticks, 20, "there is time for all")
	}
	require.Equal(t, before.SnapshotsSkipped, d.core.Stats().SnapshotsSkipped)
}

// With time for most snapshots, every session misses some and none misses half, whatever
// the order of joining.
func TestShortageIsShared(t *testing.T) {
	for _, c := range []struct{ hz, clients, some, shots, least, most int }{
		{20, 12, 3, 30, 4, 4}, // four in each tick, and time for three
		{60, 5, 3, 72, 1, 2},
	} {
		d := newDeskWith(t, func(config *session.Config) {
			config.MaxSessions, config.Replication.SnapshotHz = c.clients, c.hz
		})
		var seats []*seat
		for range c.clients {
			seats = append(seats, d.join())
		}
		d.shortTicks(60, c.some, seats)
		for i, ticks := range d.shortTicks(120, c.some, seats) {
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
	d, seats := fullDesk(t, 5)
	for _, ticks := range d.shortTicks(480, 0, seats) {
		require.GreaterOrEqual(t, len(ticks), 15)
		for n := 1; n < len(ticks); n++ {
			require.LessOrEqual(t, ticks[n]-ticks[n-1], 30, "half a second")
		}
	}
}

// After a stall all sessions are overdue, and are served over several ticks.
func TestOverdueAreSpread(t *testing.T) {
	const clients = 60 // a third of them has its turn in each tick
	d, seats := fullDesk(t, clients)
	served := make([]int, 480)
	for i, ticks := range d.shortTicks(len(served), 0, seats) {
		require.GreaterOrEqual(t, len(ticks), 15, "client %d", i)
		for _, tick := range ticks {
			served[tick]++
		}
	}
	require.Equal(t, 8, slices.Max(served))
}

// The last tick sends every session a snapshot, so a queued session misses none.
func TestLastTickMissesNothing(t *testing.T) {
	d, seats := fullDesk(t, 1)
	turns := d.core.Stats().SnapshotsDue
	for d.core.Stats().SnapshotsDue == turns {
		d.shortTicks(1, 0, seats)
	}
	before, shots := d.core.Stats(), seats[0].shots
	d.core.Receive()
	d.core.Step()
	d.core.SendAll()
	after := d.core.Stats()
	require.Equal(t, shots+1, seats[0].shots)
	require.Equal(t, before.SnapshotsDue, after.SnapshotsDue, "it was already due")
	require.Equal(t, before.SnapshotsSkipped, after.SnapshotsSkipped)
}

// A session without a connection takes no time, and is scheduled again when it resumes.
func TestAwayIsNotScheduled(t *testing.T) {
	d := newDeskWith(t, func(c *session.Config) { c.MaxSessions = 2 })
	first, w := d.enter()
	second := d.join()
	d.ticks(60)
	d.busy = true
	d.ticks(3)
	first.peer.Gone()
	d.ticks(1)
	d.busy = false
	before := second.shots
	d.ticks(1)
	require.Equal(t, before+1, second.shots, "the other waited, too, and is served at once")
	first, _ = d.again(w, asIs)
	d.ticks(4)
	require.NotZero(t, first.shots)
}
