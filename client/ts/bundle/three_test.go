//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// watchThree reports the status of examples/three, and the colours in its picture, once it
// shows all bodies. It fails with the page's first error. The frames of a headless page may not
// advance, and its pictures are small: WebGL without a graphics card leaves no time for the network on a busy machine.
const watchThree = `<script src="/browsertest.js"></script><script>
console.error = (...all) => browsertest.fail(all.join(" "))
Object.defineProperties(window, { innerWidth: { value: 200 }, innerHeight: { value: 150 } })
const frames = []
requestAnimationFrame = f => setTimeout(() => {
  f()
  const status = document.querySelector("#status").textContent
  if (!/^100\d bodies/.test(status) || frames.push(status) !== 20) return
  const canvas = document.querySelector("canvas"), copy = document.createElement("canvas")
  copy.width = copy.height = 64
  const pen = copy.getContext("2d")
  pen.drawImage(canvas, 0, 0, 64, 64) // in the task that drew it
  const colours = new Set(new Uint32Array(pen.getImageData(0, 0, 64, 64).data.buffer)).size
  browsertest.report({ status, colours, size: [canvas.width, canvas.height] })
}, 16)
</script>`

// TestThree shows examples/three in Chromium, whose WebGL runs on any machine, with a fifth of its world's crates.
func TestThree(t *testing.T) {
	files := examplePage(t, "three", "main.ts", watchThree, nil)
	heap, err := os.ReadFile("../examples/three/world.yaml")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(heap), "count: 5000"))
	world := filepath.Join(t.TempDir(), "heap.yaml")
	require.NoError(t, os.WriteFile(world, []byte(strings.Replace(string(heap), "count: 5000", "count: 1000", 1)), 0o600))
	link := serve(t, "--world", world).link(t)
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
