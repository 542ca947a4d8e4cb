//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/loopback"
)

// TestFallback plays where UDP is blocked: in browsers, and in Node, which has no WebTransport.
func TestFallback(t *testing.T) {
	t.Parallel()
	s := serveOldGame(t)
	options, err := json.Marshal(map[string]any{"url": fmt.Sprintf("https://%s/worldd", loopback.NewRelay(t, s.Addr().String()).Addr)})
	require.NoError(t, err)
	script := testPage(t, "fallback")
	const want = `{"transport": "websocket", "code": 0, "changes": ["joined", "ended"]}`

	t.Run("node", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "fallback.mjs")
		require.NoError(t, os.WriteFile(file, script, 0o600))
		// From version 22 on Node needs no flag.
		text, err := exec.CommandContext(t.Context(), "node", "--experimental-websocket", file, string(options)).Output()
		require.NoError(t, err)
		require.JSONEq(t, want, string(text))
	})
	files := fstest.MapFS{
		"index.html": {Data: page("fallback.js")}, "fallback.js": {Data: script}, "fallback.json": {Data: options},
	}
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		require.JSONEq(t, want, string(b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/index.html").Next()))
	})
}
