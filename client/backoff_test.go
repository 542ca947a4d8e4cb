package client

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// Attempts are ever further apart, to a bound, and never at the same time for all.
func TestBackoff(t *testing.T) {
	require.Zero(t, backoff(0, 0), "at once, for the lucky")
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
		wire.OK: false, wire.Kicked: false, wire.JoinRefused: false, wire.TooMuch: false, wire.Replaced: false, wire.Unauthorized: false, wire.BadMessage: false, wire.SchemaMismatch: false, wire.EpochMismatch: false,
	} {
		require.Equal(t, want, retryable(&wire.Error{Code: code}), "%v", code)
	}
	require.True(t, retryable(errors.New("no route")))
	require.False(t, retryable(errCertificate))
}
