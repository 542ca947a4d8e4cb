//go:build unix

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
)

// TestRestart restarts a server below a page, as a developer does. The page asks for the hashes of
// the new certificate, on another port than its own, and plays on. A dead port is answered too.
func TestRestart(t *testing.T) {
	t.Parallel()
	script := testPage(t, "restart")
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		addresses := loopback.Reserve(t, 3)
		game, admin, dead := addresses[0], addresses[1], addresses[2]
		config := must.Get(json.Marshal(map[string]string{
			"url": "https://" + game + "/worldd", "web": "http://" + admin + "/web", "dead": "https://" + dead + "/worldd",
		}))
		files := fstest.MapFS{"index.html": {Data: page("restart.js")}, "restart.js": {Data: script}, "restart.json": {Data: config}}
		serve := func() (end func()) {
			s := must.Get(server.Listen(server.Config{Listen: game, AdminListen: admin, Web: &server.WebConfig{}, WorldConfig: oldGame(t)}))
			ctx, stop := context.WithCancel(context.Background())
			served := make(chan error, 1)
			go func() { served <- s.Serve(ctx) }()
			return func() {
				stop()
				require.NoError(t, <-served)
			}
		}
		end := serve()
		p := b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/index.html")
		var first, second struct{ Seen []string }
		require.NoError(t, json.Unmarshal(p.Next(), &first))
		end()
		end = serve()
		defer func() { end() }()
		require.NoError(t, json.Unmarshal(p.Next(), &second))
		require.Len(t, first.Seen, 1)
		require.Len(t, second.Seen, 2, "another server has another certificate")
		var last struct{ End string }
		require.NoError(t, json.Unmarshal(p.Next(), &last))
		t.Log(last.End)
		require.NotContains(t, []string{"joined", "late"}, last.End)
	})
}
