package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// The log says which server serves what, and has one form for sessions, refused tokens and
// operators' requests.
func TestAuditTrail(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	h, logs := newLoggedTestServer(t, func(c *server.Config) {
		c.GameName, c.Epoch = "tag", 0xabc
		c.Admit = func(_ context.Context, token []byte) (server.Admission, error) {
			if string(token) != "good" {
				return server.Admission{}, &wire.Error{Code: wire.Unauthorized}
			}
			return server.Admission{User: "ada"}, nil
		}
	})
	line := func(text string) map[string]any {
		t.Helper()
		require.Eventually(t, func() bool { return logs.FilterMessage(text).Len() > 0 }, patience, time.Millisecond, text)
		entry := logs.FilterMessage(text).All()[0]
		fields := entry.ContextMap()
		fields["logger"] = entry.LoggerName
		return fields
	}
	serving := line("serving")
	for name, want := range map[string]any{"game": "tag", "epoch": "0000000000000abc", "tick": uint64(0)} {
		require.Equal(t, want, serving[name], name)
	}
	require.NotEmpty(t, serving["version"])

	config := h.config()
	_, err := client.Dial(h.ctx, config)
	require.Equal(t, wire.Unauthorized, wire.CodeOf(err))
	refused := line("ended")
	require.Equal(t, []any{"audit", "unauthorized"}, []any{refused["logger"], refused["code"]})
	require.Regexp(t, `^127\.0\.0\.1:\d+$`, refused["address"])

	config.Token = []byte("good")
	c := must.Get(client.Dial(h.ctx, config))
	t.Cleanup(func() { _ = c.Close() })
	joined := line("joined")
	for name, want := range map[string]any{
		"logger": "audit", "session": c.Welcome().Session, "user": "ada", "name": "guest", "network": "127.0.0.1/32", "epoch": "0000000000000abc",
	} {
		require.Equal(t, want, joined[name], name)
	}
	require.NotZero(t, joined["connection"])

	kick := fmt.Sprintf("/sessions/%d/kick?reason=rude", c.Welcome().Session)
	code, _ := h.operate(http.MethodPost, kick)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, joined["session"], line("left")["session"])
	last := "" // of the operator's requests
	for _, entry := range logs.FilterMessage("an operator's request").All() {
		request := entry.ContextMap()
		require.Equal(t, []any{"audit", "POST", kick}, []any{entry.LoggerName, request["method"], request["request"]}, "reads are not logged")
		require.NotEmpty(t, request["address"])
		last = fmt.Sprint(request["status"])
	}
	require.Equal(t, "200", last, "after 503 if the world was too slow to answer")
}

// The log names the run that a server without Config.Epoch begins.
func TestLogNamesANewRun(t *testing.T) {
	h, logs := newLoggedTestServer(t, func(c *server.Config) { c.Epoch = 0 })
	c := h.dial()
	want := fmt.Sprintf("%016x", c.Welcome().Epoch)
	for _, text := range []string{"serving", "joined"} {
		require.Equal(t, want, logs.FilterMessage(text).All()[0].ContextMap()["epoch"], text)
	}
}
