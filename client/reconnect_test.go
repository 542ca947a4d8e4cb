package client

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// Delays grow to a bound, and random spreads them.
func TestBackoff(t *testing.T) {
	require.Zero(t, backoff(0, 0), "the first attempt may be immediate")
	require.Less(t, backoff(0, 0.999), minBackoff)
	least := time.Duration(0)
	for n := 1; n < 40; n++ {
		low, high := backoff(n, 0), backoff(n, 0.999)
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
		require.Equal(t, want, retryable(&wire.Error{Code: code}), "%v", code)
	}
	require.True(t, retryable(errors.New("no route")))
	require.False(t, retryable(errCertificate))
}

// A silent server is lost after lostAfter, but time in which the client itself was
// stopped does not count.
func TestSilence(t *testing.T) {
	const frame = time.Second / 60
	var h silence
	now := time.Minute
	h.reset(now)
	silence := func(least time.Duration) {
		t.Helper()
		for began := now; ; {
			now += frame
			if h.check(now, false) {
				require.GreaterOrEqual(t, now-began, least)
				require.LessOrEqual(t, now-began, lostAfter+frame)
				return
			}
		}
	}
	silence(lostAfter)

	h.reset(now)
	now += time.Hour // what arrived meanwhile has not been applied yet
	require.False(t, h.check(now, false))
	silence(lostAfter - maxCheckGap)

	h.reset(now)
	for range 3 { // infrequent checks are late, but find out
		now += maxCheckGap
		require.False(t, h.check(now, false))
	}
	silence(lostAfter - 3*maxCheckGap)

	require.False(t, h.check(now, true))
	silence(lostAfter)
}
