//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// relayTCP returns a port that passes TCP connections on to another one, and no UDP.
func relayTCP(t *testing.T, to int) (port int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var relays sync.WaitGroup
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		relays.Wait()
	})
	relays.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", to))
			if err != nil {
				_ = from.Close()
				continue
			}
			relays.Go(func() { _, _ = io.Copy(server, from); _ = server.Close() })
			relays.Go(func() { _, _ = io.Copy(from, server); _ = from.Close() })
		}
	})
	return listener.Addr().(*net.TCPAddr).Port
}

// TestFallback plays where UDP is blocked: in browsers, and in Node, which has no WebTransport.
func TestFallback(t *testing.T) {
	t.Parallel()
	s := serveOldGame(t)
	options, err := json.Marshal(map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d/worldd", relayTCP(t, s.Addr().Port))})
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
