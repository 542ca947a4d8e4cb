package client

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// Delays grow up to a bound, and random spreads them.
func TestBackoff(t *testing.T) {
	require.Zero(t, backoffBefore(0, 0), "the first attempt may be immediate")
	require.Less(t, backoffBefore(0, 0.999), minBackoff)
	least := time.Duration(0)
	for n := 1; n < 40; n++ {
		low, high := backoffBefore(n, 0), backoffBefore(n, 0.999)
		require.GreaterOrEqual(t, low, least)
		require.Less(t, low, high)
		require.LessOrEqual(t, high, maxBackoff)
		least = low
	}
	require.Equal(t, maxBackoff/2, least)
}

func TestRetryable(t *testing.T) {
	for code, want := range map[wire.Code]bool{
		wire.Timeout: true, wire.Draining: true, wire.ServerFull: true, wire.Internal: true, wire.TooSlow: true,
		wire.OK: false, wire.Kicked: false, wire.NoRoom: false, wire.RoomClosed: false, wire.JoinRefused: false, wire.TooMuch: false, wire.Replaced: false, wire.Unauthorized: false, wire.BadMessage: false, wire.SchemaMismatch: false, wire.EpochMismatch: false,
	} {
		require.Equal(t, want, mayRetry(&wire.Error{Code: code}), "%v", code)
	}
	require.True(t, mayRetry(errors.New("no route")))
	require.False(t, mayRetry(errCertificate))
}

// A silent server is lost after lostAfter. Time in which the client itself was stopped does not
// count.
func TestSilence(t *testing.T) {
	const frame = time.Second / 60
	var h silence
	now := time.Minute
	h.restartAt(now)
	silence := func(least time.Duration) {
		t.Helper()
		for began := now; ; {
			now += frame
			if h.noteArrivals(now, false) {
				require.GreaterOrEqual(t, now-began, least)
				require.LessOrEqual(t, now-began, lostAfter+frame)
				return
			}
		}
	}
	silence(lostAfter)

	h.restartAt(now)
	now += time.Hour // datagrams that arrived meanwhile have not been applied yet
	require.False(t, h.noteArrivals(now, false))
	silence(lostAfter - maxCheckGap)

	h.restartAt(now)
	for range 3 { // infrequent checks notice the loss late
		now += maxCheckGap
		require.False(t, h.noteArrivals(now, false))
	}
	silence(lostAfter - 3*maxCheckGap)

	require.False(t, h.noteArrivals(now, true))
	silence(lostAfter)
}
