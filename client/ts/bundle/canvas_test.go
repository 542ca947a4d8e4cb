//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// watchCanvas reports the status of examples/canvas, and the colours on its canvas, once the
// status matches the query's until; then what the developer's overlay shows, by keys alone. The frames
// of a headless page may not advance.
const watchCanvas = `<script src="/browsertest.js"></script><script src="/axe.js"></script><script>
requestAnimationFrame = f => setTimeout(f, 16)
const until = new RegExp(new URLSearchParams(location.search).get("until"))
const watch = setInterval(() => {
  const status = document.querySelector("#status")?.textContent ?? ""
  if (!until.test(status)) return
  clearInterval(watch)
  const { width, height } = document.querySelector("canvas")
  const pixels = new Uint32Array(document.querySelector("canvas").getContext("2d").getImageData(0, 0, width, height).data.buffer)
  browsertest.report({ status, colours: new Set(pixels).size })
  const overlay = document.querySelector("worldd-devtools")
  if (overlay) useTools(overlay.shadowRoot)
}, 50)
async function useTools(root) {
  const heard = [], panels = {}
  addEventListener("keydown", e => heard.push(e.key))
  const press = key => root.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true }))
  const panel = () => root.querySelector("[role=tabpanel]:not([hidden])")
  root.querySelector("button").click() // as Enter and Space do
  const ready = { Connection: /snapshots\s+\d/, Avatar: /live\s+kind/, Truth: /live/ } // the page may draw bodies before its avatar comes
  for (let i = 0; i < 3; i++, press("ArrowRight")) {
    const name = root.activeElement.textContent
    while (!ready[name].test(panel().innerText)) await new Promise(f => setTimeout(f, 50))
    panels[name] = panel().innerText
  }
  press("End")
  root.querySelector("input").value = "9999v7"
  root.querySelector("form").requestSubmit()
  while (!/9999v7/.test(panel().innerText)) await new Promise(f => setTimeout(f, 50))
  panels.held = panel().innerText
  const findings = []
  for (const theme of ["light", "dark"]) {
    root.host.style.colorScheme = theme
    for (const { help } of (await axe.run(root.host)).violations) findings.push(theme + ": " + help)
  }
  press("Escape")
  browsertest.report({ panels, heard, findings, focus: root.activeElement.textContent })
}
</script>`

// TestCanvas plays examples/canvas in each browser, with the developer's overlay.
func TestCanvas(t *testing.T) {
	axe, err := os.ReadFile("../node_modules/axe-core/axe.min.js")
	require.NoError(t, err, "client/ts/test.sh fetches axe-core from npm: run it first")
	files := examplePage(t, "canvas", "main.ts", watchCanvas, nil)
	files["axe.js"] = &fstest.MapFile{Data: axe}
	link := serve(t).link(t)
	link.Set("until", `^\d\d+ bodies`)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		site := browsertest.NewSite(t, http.FileServerFS(files))
		open := func(link url.Values) (page *browsertest.Page, report struct {
			Status  string
			Colours int
		},
		) {
			page = b.Open(t, site, "/game.html?"+link.Encode())
			require.NoError(t, json.Unmarshal(page.Next(), &report))
			return page, report
		}
		page, played := open(link)
		require.Greater(t, played.Colours, 3)
		var tools struct {
			Panels          map[string]string
			Heard, Findings []string
			Focus           string
		}
		require.NoError(t, json.Unmarshal(page.Next(), &tools))
		t.Log(tools)
		require.Regexp(t, `(?s)state\s+joined.*transport\s+webtransport.*snapshots\s+\d`, tools.Panels["Connection"])
		require.Regexp(t, `(?s)handle\s+\d+v\d+ live\s+kind\s+avatar\s+body\s+Position \[.*prediction\s+off`, tools.Panels["Avatar"])
		require.Regexp(t, `(?s)\d+v\d+\s+live`, tools.Panels["Truth"])
		require.Regexp(t, `9999v7\s+pending`, tools.Panels["held"])
		require.Empty(t, tools.Heard, "keys of the overlay reach the game")
		require.Empty(t, tools.Findings)
		require.Equal(t, "worldd", tools.Focus)
		_, refused := open(url.Values{"until": {"open"}})
		require.Contains(t, refused.Status, "?server=HOST:PORT")
	})
}
