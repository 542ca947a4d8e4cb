package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// A WebSocket message is refused, or is one that can be written again.
func FuzzWebSocketMessage(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 0, 'a', 'b', 'c'})
	f.Add([]byte{3, 0, 'a', 'b'})
	f.Add(wire.AppendWebSocketMessage(nil, make([]byte, wire.MaxWebSocketStream), make([]byte, wire.MaxDatagram)))
	f.Add(wire.AppendWebSocketMessage(nil, make([]byte, wire.MaxWebSocketStream+1), nil))
	f.Add(wire.AppendWebSocketMessage(nil, nil, make([]byte, wire.MaxDatagram+1)))
	f.Fuzz(func(t *testing.T, m []byte) {
		stream, datagram, err := wire.ParseWebSocketMessage(m)
		if err != nil {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err))
			require.Empty(t, stream)
			require.Empty(t, datagram)
			return
		}
		require.LessOrEqual(t, len(stream), wire.MaxWebSocketStream)
		require.LessOrEqual(t, len(datagram), wire.MaxDatagram)
		require.Equal(t, m, wire.AppendWebSocketMessage(nil, stream, datagram))
	})
}
