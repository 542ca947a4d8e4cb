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

// watchThree reports the status of examples/three, and the colours in its picture, once it
// shows all bodies. It fails with the page's first error. The frames of a headless page may not
// advance.
const watchThree = `<script src="/browsertest.js"></script><script>
console.error = (...all) => browsertest.fail(all.join(" "))
const frames = []
requestAnimationFrame = f => setTimeout(() => {
  f()
  const status = document.querySelector("#status").textContent
  if (!/^500\d bodies/.test(status) || frames.push(status) !== 20) return
  const canvas = document.querySelector("canvas"), copy = document.createElement("canvas")
  copy.width = copy.height = 64
  const pen = copy.getContext("2d")
  pen.drawImage(canvas, 0, 0, 64, 64) // in the task that drew it
  const colours = new Set(new Uint32Array(pen.getImageData(0, 0, 64, 64).data.buffer)).size
  browsertest.report({ status, colours, size: [canvas.width, canvas.height] })
}, 16)
</script>`

// TestThree shows examples/three in Chromium, whose WebGL runs on any machine.
func TestThree(t *testing.T) {
	require.DirExists(t, "../examples/three/node_modules", "client/ts/test.sh fetches three from npm: run it first")
	root, err := filepath.Abs("../examples/three")
	require.NoError(t, err)
	built := api.Build(api.BuildOptions{AbsWorkingDir: root, EntryPoints: []string{"main.ts"}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022, LogLevel: api.LogLevelWarning})
	require.Empty(t, built.Errors)
	document, err := os.ReadFile("../examples/three/index.html")
	require.NoError(t, err)
	files := fstest.MapFS{
		"game.html": {Data: []byte(strings.Replace(string(document), "<title>", watchThree+"<title>", 1))},
		"main.js":   {Data: built.OutputFiles[0].Contents},
	}
	options := serve(t, "--world", filepath.Join(root, "world.yaml"))
	server, err := url.Parse(options.URL)
	require.NoError(t, err)
	link := url.Values{"server": {server.Host}, "hash": options.Hashes}
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		if b.Name != "chromium" { // the others need a graphics driver
			return
		}
		var shown struct {
			Status  string
			Colours int
			Size    [2]int
		}
		require.NoError(t, json.Unmarshal(b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/game.html?"+link.Encode()).Next(), &shown))
		t.Logf("%+v", shown)
		require.Greater(t, shown.Colours, 10)
	})
}
