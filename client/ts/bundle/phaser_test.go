//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// watchPhaser steers the avatar of examples/phaser to the middle of the world, and reports how far it has come, in
// metres, with the status and the colours in the picture. The frames of a headless page may not advance.
const watchPhaser = `<script src="/browsertest.js"></script><script>
console.error = (...all) => browsertest.fail(all.join(" "))
let from, done = false
requestAnimationFrame = f => setTimeout(() => {
  f(performance.now())
  const status = document.querySelector("#status").textContent, at = Number(/ around (\S+),/.exec(status)?.[1])
  if (/[Ee]rror|:/.test(status)) browsertest.fail(status)
  if (done || !/^\d\d+ bodies/.test(status)) return
  const keyCode = at < 0 ? 68 : 65 // D, A: Phaser knows keys by their codes
  if (from === undefined) dispatchEvent(new KeyboardEvent("keydown", { keyCode }))
  from ??= at
  if (Math.abs(at - from) < 5) return
  done = true
  const copy = document.createElement("canvas"), pen = copy.getContext("2d")
  copy.width = copy.height = 256
  pen.drawImage(document.querySelector("canvas"), 0, 0, 256, 256) // in the task that drew it
  const colours = new Set(new Uint32Array(pen.getImageData(0, 0, 256, 256).data.buffer)).size
  browsertest.report({ from, to: at, status, colours })
}, 16)
</script>`

// TestPhaser plays examples/phaser in each browser, by WebGL or on a canvas, as Phaser chooses.
func TestPhaser(t *testing.T) {
	t.Parallel()
	files := examplePage(t, "phaser", "main.ts", watchPhaser, nil)
	link := serve(t).link(t)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		var shown struct {
			From, To float64
			Status   string
			Colours  int
		}
		require.NoError(t, json.Unmarshal(b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/game.html?"+link.Encode()).Next(), &shown))
		t.Logf("%+v", shown)
		require.Greater(t, shown.Colours, 3)
	})
}
