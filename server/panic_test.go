package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// A panic of the game is logged with its stack, and counted in the metrics.
func TestPanicIsReported(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.ErrorLevel)
	h := newTestServerWith(t, func(c *server.Config) {
		c.Log = zap.New(core)
		c.Hooks.Commands = append(c.Hooks.Commands, server.OnRawCommand("break", func(*server.Session, world.Entity, []byte) error { return breakDown(nil) }))
		c.Admit = func(_ context.Context, token []byte) (server.Admission, error) {
			return server.Admission{User: string(token[:4])}, nil
		}
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	config := h.config()
	_, err := client.Dial(h.ctx, config)
	require.Equal(t, wire.Internal, wire.CodeOf(err), "%v: no token, and Admit reads it", err)
	config.Token = []byte("anne")
	c := must.Get(client.Dial(h.ctx, config))
	defer c.Close()
	must.Get(c.DoRaw("break", 0, nil))
	require.Equal(t, wire.Internal, wire.CodeOf(h.ends(c)))
	for range 2 { // the server keeps running
		require.NoError(t, must.Get(client.Dial(h.ctx, config)).Close())
	}
	lines := logged.FilterMessage("the game panicked: its session ends").All()
	require.Len(t, lines, 2)
	require.Equal(t, "admit", lines[0].ContextMap()["hook"])
	fields := lines[1].ContextMap()
	require.Equal(t, "command", fields["hook"])
	require.Contains(t, fields["panic"], "nil map")
	require.Contains(t, fields["stack"], "server_test.breakDown")
	var text string
	for !strings.Contains(text, `worldd_hook_panics_total{hook="command"} 1`) { // published once a second
		_, text = h.operate(http.MethodGet, "/metrics")
	}
	require.Contains(t, text, `worldd_hook_panics_total{hook="admit"} 1`)
	require.Contains(t, text, `worldd_hook_panics_total{hook="leave"} 0`)
}

//go:noinline
func breakDown(m map[string]int) error {
	m["a mistake"] = 1
	return nil
}
