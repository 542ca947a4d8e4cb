package botrun

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// A bot that follows a redirection at the end of its run has not failed, unless that takes too long.
func TestEndDuringMove(t *testing.T) {
	moved := &outage{why: &wire.Error{Code: wire.Moved, Address: "127.0.0.1:1"}}
	require.NoError(t, moved.errorAtEnd(time.Second))
	require.ErrorIs(t, moved.errorAtEnd(moveTimeout), moved.why)
	cut := &outage{why: errors.New("cut")}
	require.ErrorIs(t, cut.errorAtEnd(time.Second), cut.why)
}

// B6: in a new session of the same run destroyed handles stay Stale, and all others are
// Pending until they are shown again.
func TestOracleAcrossANewSession(t *testing.T) {
	o := newOracle(0, 100, 1, 64)
	dead, replaced, tenant, hidden, live := bulk.NewHandle(1, 3), bulk.NewHandle(2, 1), bulk.NewHandle(2, 3), bulk.NewHandle(3, 1), bulk.NewHandle(4, 1)
	for i, h := range []bulk.Handle{dead, replaced, tenant, hidden, live} {
		o.checkEntered(h, uint64(i+1))
	}
	o.noteDestroyed(dead)
	o.checkLeft(hidden)
	o.beginSession()
	for _, h := range []bulk.Handle{dead, replaced} {
		o.checkProbe(h, answer{verdict: wire.Stale})
		o.checkAnswer(h, wire.StaleHandle, wire.Stale)
	}
	for _, h := range []bulk.Handle{tenant, hidden, live} {
		o.checkProbe(h, answer{verdict: wire.Pending})
		o.checkAnswer(h, wire.UnknownHandle, wire.Pending)
	}
	o.checkEntered(hidden, 4)
	o.checkProbe(hidden, answer{verdict: wire.Live, present: true, handle: hidden, identity: 4})
	require.Zero(t, o.confusions, "%v", o.recorded)

	o.checkProbe(dead, answer{verdict: wire.Pending})
	o.checkProbe(replaced, answer{verdict: wire.Pending})
	o.checkEntered(dead, 1)
	o.checkEntered(live, 77)
	require.EqualValues(t, 4, o.confusions, "B6: it lies")
}

// B6: after a restart from an image all earlier handles are dead, and surviving
// entities keep their identities under new handles.
func TestOracleAcrossARestart(t *testing.T) {
	o := newOracle(0, 100, 1, 64)
	live, hidden, next := bulk.NewHandle(1, 3), bulk.NewHandle(2, 5), bulk.NewHandle(1, 1001)
	o.checkEntered(live, 7)
	o.checkEntered(hidden, 8)
	o.checkLeft(hidden)
	require.True(t, o.isBelow(1001))
	require.False(t, o.isBelow(5), "a handle of that generation was heard of")
	o.beginRun(1001, 64)
	for _, h := range []bulk.Handle{live, hidden} {
		o.checkProbe(h, answer{verdict: wire.Stale})
		o.checkAnswer(h, wire.StaleHandle, wire.Stale)
	}
	o.checkEntered(next, 7)
	o.checkProbe(next, answer{verdict: wire.Live, present: true, handle: next, identity: 7})
	require.Zero(t, o.confusions, "%v", o.recorded)

	o.checkProbe(hidden, answer{verdict: wire.Hidden})
	o.checkEntered(hidden, 8)
	require.EqualValues(t, 2, o.confusions, "B6: it lies")
}
