//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// watchCanvas reports the status of examples/canvas, and the colours on its canvas, once the
// status matches the query's until. The frames of a headless page may not advance.
const watchCanvas = `<script src="/browsertest.js"></script><script>
requestAnimationFrame = f => setTimeout(f, 16)
const until = new RegExp(new URLSearchParams(location.search).get("until"))
const watch = setInterval(() => {
  const status = document.querySelector("#status")?.textContent ?? ""
  if (!until.test(status)) return
  clearInterval(watch)
  const { width, height } = document.querySelector("canvas")
  const pixels = new Uint32Array(document.querySelector("canvas").getContext("2d").getImageData(0, 0, width, height).data.buffer)
  browsertest.report({ status, colours: new Set(pixels).size })
}, 50)
</script>`

// TestCanvas plays examples/canvas in each browser.
func TestCanvas(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	built := api.Build(api.BuildOptions{
		AbsWorkingDir: root, EntryPoints: []string{"examples/canvas/main.ts"}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, LogLevel: api.LogLevelWarning,
	})
	require.Empty(t, built.Errors)
	document, err := os.ReadFile("../examples/canvas/index.html")
	require.NoError(t, err)
	files := fstest.MapFS{
		"game.html": {Data: []byte(strings.Replace(string(document), "<title>", watchCanvas+"<title>", 1))},
		"main.js":   {Data: built.OutputFiles[0].Contents},
	}
	options := serve(t)
	server, err := url.Parse(options.URL)
	require.NoError(t, err)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		site := browsertest.NewSite(t, http.FileServerFS(files))
		open := func(link url.Values) (report struct {
			Status  string
			Colours int
		},
		) {
			require.NoError(t, json.Unmarshal(b.Open(t, site, "/game.html?"+link.Encode()).Next(), &report))
			return report
		}
		played := open(url.Values{"server": {server.Host}, "hash": options.Hashes, "until": {`^\d\d+ bodies`}})
		require.Greater(t, played.Colours, 3)
		require.Contains(t, open(url.Values{"until": {"open"}}).Status, "?server=HOST:PORT")
	})
}
