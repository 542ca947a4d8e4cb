//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
)

// TestReload reloads a page twice. Its session continues over either transport: the player has the same avatar.
func TestReload(t *testing.T) {
	t.Parallel()
	script := testPage(t, "reload")
	for _, transport := range []string{"webtransport", "websocket"} {
		t.Run(transport, func(t *testing.T) {
			browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
				s := serveOldGame(t)
				address := s.Addr().String()
				config := map[string]any{"certificateHashes": must.Get(s.WebCertificates())}
				if transport == "websocket" {
					address = loopback.NewRelay(t, address).Addr
					config = map[string]any{}
				}
				config["url"] = fmt.Sprintf("https://%s/worldd", address)
				files := fstest.MapFS{
					"index.html": {Data: page("reload.js")}, "reload.js": {Data: script}, "reload.json": {Data: must.Get(json.Marshal(config))},
				}
				p := b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/index.html")
				avatar := ""
				for i := range 3 {
					var report struct {
						Avatar, Transport string
						States, Kept      []string
						OK                bool
					}
					require.NoError(t, json.Unmarshal(p.Next(), &report))
					t.Log(report)
					require.Equal(t, transport, report.Transport)
					require.True(t, report.OK)
					require.Empty(t, report.Kept, "a duplicated tab finds nothing")
					if i == 0 {
						avatar = report.Avatar
						require.Equal(t, []string{"joined"}, report.States)
						continue
					}
					require.Equal(t, []string{"restored"}, report.States)
					require.Equal(t, avatar, report.Avatar)
				}
			})
		})
	}
}
