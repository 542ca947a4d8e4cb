package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// An exposed admin port requires its token, and accepts the configured host names.
func TestAdminPort(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600))
	s := startServing(t, "--admin=0.0.0.0:0", "--admin-token="+token, "--admin-host=one.example", "--admin-host=two.example")
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	ask := func(path, host, authorization string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+path, nil)
		require.NoError(t, err)
		request.Host = host
		request.Header.Set("Authorization", authorization)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	const bearer = "Bearer 0123456789abcdef"
	require.Equal(t, http.StatusOK, ask("/metrics", "one.example", bearer))
	require.Equal(t, http.StatusOK, ask("/metrics", "two.example:80", bearer))
	require.Equal(t, http.StatusForbidden, ask("/metrics", "three.example", bearer))
	require.Equal(t, http.StatusUnauthorized, ask("/metrics", "localhost", ""))
	require.Equal(t, http.StatusOK, ask("/healthz", "localhost", ""))
	s.end(os.Interrupt)
}

// A token that every user can read is used, with a warning.
func TestAdminTokenIsReadable(t *testing.T) {
	for mode, warned := range map[os.FileMode]int{0o600: 0, 0o644: 1} {
		path := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(path, []byte("0123456789abcdef"), mode))
		core, logged := observer.New(zapcore.WarnLevel)
		access, err := (&adminFlags{AdminToken: path}).access(zap.New(core))
		require.NoError(t, err)
		require.Equal(t, "0123456789abcdef", access.Token)
		require.Equal(t, warned, logged.FilterMessageSnippet("can read the secret key").Len(), "%v", mode)
	}
}
