package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
)

// The live page may connect to its port and to the game's, and to nothing else.
func TestLivePolicy(t *testing.T) {
	for _, web := range []*server.WebConfig{nil, {}} {
		h := newTestServerWith(t, func(c *server.Config) { c.Web = web })
		t.Cleanup(http.DefaultClient.CloseIdleConnections)
		for path, kind := range map[string]string{"/live": "text/html", "/live.js": "text/javascript", "/live.css": "text/css", "/operator": "text/html", "/operator.js": "text/javascript"} {
			response := must.Get(http.Get("http://" + h.server.AdminAddr().String() + path))
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode, path)
			require.True(t, strings.HasPrefix(response.Header.Get("Content-Type"), kind), path)
			policy := response.Header.Get("Content-Security-Policy")
			require.Contains(t, policy, "default-src 'none'; script-src 'self'; style-src 'self';")
			_, connect, _ := strings.Cut(policy, "connect-src ")
			want := "'self'"
			if web != nil {
				want += fmt.Sprintf(" https://127.0.0.1:%d", h.server.Addr().Port)
			}
			require.Equal(t, want, connect)
		}
	}
}
