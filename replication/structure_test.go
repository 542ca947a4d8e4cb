package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// A client that reads and never acknowledges costs no memory that grows, and
// what is on its way to it is still counted to the byte.
func TestFlightsAreBounded(t *testing.T) {
	var s structure
	sent := 0
	for i := range uint32(100_000) {
		s.append(wire.Record{Op: wire.OpDestroy, Reason: wire.ReasonDestroyed, Handle: bulk.NewHandle(i, 1)})
		sent += len(s.take(1))
	}
	require.Equal(t, sent, s.outstanding())
	require.Len(t, s.inflight, maxFlights)
	s.acknowledge(s.written)
	require.Zero(t, s.outstanding())
	require.Empty(t, s.inflight)
}
