package client_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
)

// Clients that share a socket leave it open for the others.
func TestClientsShareAPort(t *testing.T) {
	s, stop := railway()
	defer stop()
	port := must.Get(client.OpenPort())
	defer func() { require.NoError(t, port.Close()) }()
	config := client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: railwaySchema, Port: port}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var clients [3]*client.Client
	for i := range clients {
		clients[i] = must.Get(client.Dial(ctx, config))
	}
	require.NoError(t, clients[0].Close())
	for _, c := range clients[1:] {
		before := c.Replica().Stats().Snapshots
		for c.Replica().Stats().Snapshots < before+3 {
			require.NoError(t, c.Wait(ctx))
			require.NoError(t, c.Update())
		}
	}
	again := must.Get(client.Dial(ctx, config))
	for _, c := range append(clients[1:], again) {
		require.NoError(t, c.Close())
	}
	config.Socket = func() (net.PacketConn, error) { return nil, nil }
	require.ErrorContains(t, config.Validate(), "Port and Socket")
}
