package cookbook

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/server"
)

// newRig plays a game with players in one goroutine.
func newRig(t *testing.T, g server.WorldConfig, names ...string) (*rig.Rig, []*rig.Client) {
	r, err := rig.New(1, rig.Config{Server: server.Config{WorldConfig: g}})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	for _, name := range names {
		c, err := r.Join(name)
		require.NoError(t, err)
		c.EachFrame(30, c.Update)
	}
	require.NoError(t, r.RunFor(time.Second))
	return r, r.Clients()
}

// serve runs a server until the test ends. attach receives it before.
func serve(t *testing.T, c server.Config, attach func(*server.Server)) (context.Context, *server.Server) {
	c.Listen = "127.0.0.1:0"
	s, err := server.Listen(c)
	require.NoError(t, err)
	attach(s)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return ctx, s
}

// dial joins a server.
func dial(t *testing.T, ctx context.Context, s *server.Server, c client.Config) *client.Client {
	c.Addr, c.Fingerprint = s.Addr().String(), s.Fingerprint()
	player, err := client.Dial(ctx, c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = player.Close() })
	return player
}

// until updates a client until done.
func until(t *testing.T, ctx context.Context, c *client.Client, done func() bool) {
	for !done() {
		require.NoError(t, errors.Join(c.Wait(ctx), c.Update()))
	}
}
