//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// watchReact steers the avatar of examples/react to the middle of the world, and reports how far it has come,
// in metres, with the status. The frames of a headless page may not advance.
const watchReact = `<script src="/browsertest.js"></script><script>
console.error = (...all) => browsertest.fail(all.join(" "))
requestAnimationFrame = f => setTimeout(f, 16)
cancelAnimationFrame = clearTimeout
let from
const watch = setInterval(() => {
  const alert = document.querySelector("[role=alert]"), own = document.querySelector("#own")
  if (alert) browsertest.fail(alert.textContent)
  if (!own) return
  const at = own.cx.baseVal.value
  if (from === undefined) dispatchEvent(new KeyboardEvent("keydown", { code: at < 0 ? "KeyD" : "KeyA" }))
  from ??= at
  if (Math.abs(at - from) < 5) return
  clearInterval(watch)
  browsertest.report({ from, to: at, circles: document.querySelectorAll("circle").length, status: document.querySelector("[role=status]").textContent })
}, 50)
</script>`

// TestReact plays examples/react in each browser, in React's strict mode: the first session is given up.
func TestReact(t *testing.T) {
	t.Parallel()
	files := examplePage(t, "react", "main.tsx", watchReact, map[string]string{"process.env.NODE_ENV": `"development"`}) // strict mode mounts twice
	link := serve(t).link(t)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		var shown struct {
			From, To float64
			Circles  int
			Status   string
		}
		require.NoError(t, json.Unmarshal(b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/game.html?"+link.Encode()).Next(), &shown))
		t.Logf("%+v", shown)
		require.Greater(t, shown.Circles, 3)
	})
}
