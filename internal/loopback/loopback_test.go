package loopback

import (
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReserve(t *testing.T) {
	var before []string
	t.Run("an earlier test", func(t *testing.T) { before = Reserve(t, 20) })
	now := Reserve(t, 200)
	seen := map[string]bool{}
	for _, address := range now {
		require.False(t, seen[address], address)
		seen[address] = true
		stream, err := net.Listen("tcp", address)
		require.NoError(t, err)
		require.False(t, free(address))
		require.NoError(t, stream.Close())
		packets, err := net.ListenPacket("udp", address)
		require.NoError(t, err)
		require.False(t, free(address))
		require.NoError(t, packets.Close())
	}
	require.True(t, slices.ContainsFunc(before, func(address string) bool {
		lock, err := net.ResolveTCPAddr("tcp", address)
		require.NoError(t, err)
		return free(loopback(lock.Port + 1))
	}), "given back, unless tests of other packages have reserved all of them since")
}
