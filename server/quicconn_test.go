package server

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A buffer that grew for a burst is not kept for the life of the connection, and
// small ones are used again.
func TestSpentBuffersAreLetGo(t *testing.T) {
	c := &quicConn{wake: make(chan struct{}, 1), counters: &traffic{}}
	var w work
	roundTrip := func(bytesQueued []byte) {
		require.True(t, c.SendStream(bytesQueued))
		c.take(&w)
		require.Equal(t, bytesQueued, w.stream)
		require.Empty(t, c.out)
	}
	roundTrip(bytes.Repeat([]byte{1}, 60<<10))
	roundTrip([]byte{2})
	roundTrip([]byte{3})
	require.LessOrEqual(t, cap(w.stream)+cap(c.out), 2*keptStream)
	allocs := testing.AllocsPerRun(100, func() {
		c.SendStream([]byte{4})
		c.take(&w)
	})
	require.Zero(t, allocs)
	require.Zero(t, c.counters.unsent.Load())
}
