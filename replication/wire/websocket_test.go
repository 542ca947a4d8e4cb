package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// A WebSocket message is refused, or is one that can be written again.
func FuzzSocketMessage(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 0, 'a', 'b', 'c'})
	f.Add([]byte{3, 0, 'a', 'b'})
	f.Add(wire.AppendSocketMessage(nil, make([]byte, wire.MaxSocketStream), make([]byte, wire.MaxDatagram)))
	f.Add(wire.AppendSocketMessage(nil, make([]byte, wire.MaxSocketStream+1), nil))
	f.Add(wire.AppendSocketMessage(nil, nil, make([]byte, wire.MaxDatagram+1)))
	f.Fuzz(func(t *testing.T, m []byte) {
		stream, datagram, err := wire.ParseSocketMessage(m)
		if err != nil {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err))
			require.Empty(t, stream)
			require.Empty(t, datagram)
			return
		}
		require.LessOrEqual(t, len(stream), wire.MaxSocketStream)
		require.LessOrEqual(t, len(datagram), wire.MaxDatagram)
		require.Equal(t, m, wire.AppendSocketMessage(nil, stream, datagram))
	})
}
