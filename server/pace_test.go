package server

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/stage"
)

// A tick encodes snapshots for a share of its interval, and for at least minSnapshotShare if it
// was late or its step took long.
func TestSnapshotDeadline(t *testing.T) {
	due := time.Unix(100, 0)
	next := due.Add(100 * time.Millisecond)
	for stepped, until := range map[int]int{0: 45, 10: 45, 20: 45, 30: 55, 90: 115, 500: 525} {
		at := func(ms int) time.Time { return due.Add(time.Duration(ms) * time.Millisecond) }
		require.Equal(t, at(until), snapshotDeadline(next, at(stepped), 100*time.Millisecond), "stepped after %d ms", stepped)
	}
}

// Thinning is logged after a second with too many missed turns. Its end is logged after two
// seconds with few.
func TestPace(t *testing.T) {
	p := pace{full: 30, hz: 30}
	turns, missed := uint64(0), uint64(0)
	for i, second := range []struct {
		missed uint64 // of 160
		hz     float64
		tell   bool
	}{{0, 30, false}, {9, 28.3125, false}, {10, 28.125, true}, {80, 15, false}, {0, 30, false}, {20, 26.25, false}, {0, 30, false}, {0, 30, true}, {0, 30, false}, {160, 0, true}} {
		turns, missed = turns+160, missed+second.missed
		require.Equal(t, second.tell, p.endSecond(turns, missed), i)
		require.InDelta(t, second.hz, p.hz, 1e-9, i)
	}
	p.endSecond(turns, missed)
	require.EqualValues(t, 30, p.hz, "no sessions")
}

// joinSlowClients adds clients to a loop. Each of their snapshots takes *work.
func joinSlowClients(t *testing.T, l *loop, clients int, work *time.Duration) {
	enough := l.enough
	l.enough = func() bool {
		time.Sleep(*work)
		return enough()
	}
	for range clients {
		openClient(t, l.core, &stage.Conn{}, 0)
	}
}

// When time is short, snapshots are delayed and ticks are not. The delay is logged.
func TestLoopThinsSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLoop(t, func(uint64) time.Duration { return 0 })
		logs, seen := observer.New(zap.InfoLevel)
		l.log = zap.New(logs)
		work := testInterval * 3 / 10
		joinSlowClients(t, l, 10, &work) // two in each tick, and time for one
		require.EqualValues(t, 10, l.report().Tick.SnapshotHz)
		runFor(t, l, 5*time.Second) // silent sessions are away after ten
		thinned := l.report().Tick
		require.InDelta(t, 5, thinned.SnapshotHz, 0.2)
		require.Greater(t, thinned.Thinned, uint64(240))
		require.Zero(t, thinned.Late)
		require.Less(t, thinned.Max, testInterval*2/3)
		work = 0
		runFor(t, l, 4*time.Second)
		again := l.report().Tick
		require.EqualValues(t, 10, again.SnapshotHz)
		require.LessOrEqual(t, again.Thinned-thinned.Thinned, uint64(1))
		require.Equal(t, 2, seen.Len())
		require.Equal(t, "no time for all snapshots: sending fewer", seen.All()[0].Message)
		require.Equal(t, "time for all snapshots again", seen.All()[1].Message)
	})
}

// Clients of a world that takes all the time still receive snapshots.
func TestLoopGrantsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLoop(t, func(uint64) time.Duration { return testInterval * 9 / 10 })
		work := testInterval / 5
		joinSlowClients(t, l, 10, &work)
		runFor(t, l, 5*time.Second)
		require.InDelta(t, 5, l.report().Tick.SnapshotHz, 0.2, "of its ticks, which are fewer")
		require.InDelta(t, 5*50/1.3, l.report().Tick.Count, 5)
	})
}
