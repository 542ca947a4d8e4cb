package bot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// B6: after a restart from an image nothing of before is believed, and what lived
// on has other handles with the same identities.
func TestOracleAcrossARestart(t *testing.T) {
	o := newOracle(0, 100, 1, 64)
	live, hidden, next := bulk.NewHandle(1, 3), bulk.NewHandle(2, 5), bulk.NewHandle(1, 1001)
	o.entered(live, 7)
	o.entered(hidden, 8)
	o.left(hidden)
	require.True(t, o.precedes(1001))
	require.False(t, o.precedes(5), "a handle of that generation was heard of")
	o.restart(1001, 64)
	for _, h := range []bulk.Handle{live, hidden} {
		o.probed(h, answer{verdict: wire.Stale})
		o.answered(h, wire.StaleHandle, wire.Stale, 0)
	}
	o.entered(next, 7)
	o.probed(next, answer{verdict: wire.Live, present: true, handle: next, identity: 7})
	require.Zero(t, o.confusions, "%v", o.recorded)

	o.probed(hidden, answer{verdict: wire.Hidden})
	o.entered(hidden, 8)
	require.EqualValues(t, 2, o.confusions, "B6: it lies")
}
