//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

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
	files := examplePage(t, "three", "main.ts", watchThree, nil)
	link := serve(t, "--world", filepath.FromSlash("../examples/three/world.yaml")).link(t)
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
