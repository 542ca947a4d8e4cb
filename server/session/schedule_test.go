package session_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/session"
)

// fullDesk is a desk with so many clients, each with its own count of snapshots.
func fullDesk(t *testing.T, clients int) (*desk, []*seat) {
	d := newDeskWith(t, func(c *session.CoreConfig) { c.MaxSessions = clients })
	var seats []*seat
	for range clients {
		seats = append(seats, d.join())
	}
	d.ticks(60)
	return d, seats
}

// shortTicks has ticks pass that have time for some snapshots each, and returns in
// which of them each client was sent one.
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

// Who was sent a snapshot longest ago is next, so that all are sent the same, and evenly.
func TestTurns(t *testing.T) {
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

// So it is where there is time for most: nobody has all of his snapshots and nobody
// half of them, whoever came first.
func TestTurnsAreMissedByAll(t *testing.T) {
	for _, c := range []struct{ hz, clients, some, shots, least, most int }{
		{20, 12, 3, 30, 4, 4}, // four in each tick, and time for three
		{60, 5, 3, 72, 1, 2},
	} {
		d := newDeskWith(t, func(config *session.CoreConfig) {
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

// However little time there is, everybody is sent two snapshots a second.
func TestTurnsOfABusyServer(t *testing.T) {
	d, seats := fullDesk(t, 5)
	for _, ticks := range d.shortTicks(480, 0, seats) {
		require.GreaterOrEqual(t, len(ticks), 15)
		for n := 1; n < len(ticks); n++ {
			require.LessOrEqual(t, ticks[n]-ticks[n-1], 30, "half a second")
		}
	}
}

// When all have waited too long, as after a stall, they are not all served in one tick.
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

// In the last tick everybody is sent a snapshot, so that a session which still waited
// for one has missed nothing.
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
	require.Equal(t, before.SnapshotsDue, after.SnapshotsDue, "the turn that it waited with")
	require.Equal(t, before.SnapshotsSkipped, after.SnapshotsSkipped)
}

// Who cannot be reached takes nobody's time, and has a turn when it comes again.
func TestTurnsOfWhoIsGone(t *testing.T) {
	d := newDeskWith(t, func(c *session.CoreConfig) { c.MaxSessions = 2 })
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
