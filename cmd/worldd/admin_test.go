package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// An exposed admin port requires its token, and accepts the configured host names.
func TestAdminPort(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600))
	s := startServing(t, "--admin=0.0.0.0:0", "--admin-token="+token, "--admin-host=one.example", "--admin-host=two.example")
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	ask := func(path, host, authorization string) int {
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+path, nil))
		request.Host = host
		request.Header.Set("Authorization", authorization)
		response := must.Get(http.DefaultClient.Do(request))
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Eventually(t, func() bool { return ask("/healthz", "localhost", "") == http.StatusOK }, time.Minute, time.Millisecond, "the port answers before the first tick")
	const bearer = "Bearer 0123456789abcdef"
	require.Equal(t, http.StatusOK, ask("/metrics", "one.example", bearer))
	require.Equal(t, http.StatusOK, ask("/metrics", "two.example:80", bearer))
	require.Equal(t, http.StatusForbidden, ask("/metrics", "three.example", bearer))
	require.Equal(t, http.StatusUnauthorized, ask("/metrics", "localhost", ""))
	s.end(os.Interrupt)
}
