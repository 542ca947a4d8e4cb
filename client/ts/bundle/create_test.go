//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
)

// watchRunner steers the runner of a created game, the only one in blue but for those that earlier browsers have left,
// towards the middle, and reports how far it has come, in pixels, what the page said before it joined, and what the
// overlay says. Then it waits until a server whose rules have changed has replaced the first one.
const watchRunner = `<script src="/browsertest.js"></script><script>
requestAnimationFrame = f => setTimeout(f, 16)
function runner() {
  const canvas = document.querySelector("canvas"), { width, height } = canvas
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height)
  let n = 0, sum = 0
  for (let i = 0; i < data.length; i += 4)
    if (data[i] === 0x2f && data[i + 1] === 0x7f && data[i + 2] === 0xd1) n++, sum += i / 4 % width
  return n ? sum / n - width / 2 : undefined
}
// What the developer's overlay says of the runner.
function avatar() {
  const root = document.querySelector("worldd-devtools").shadowRoot
  for (const button of ["button", "#tab-avatar"]) root.querySelector(button).click()
  return root.querySelector("#avatar").innerText
}
let from, key, turns, waited = "", replaced = false
function hold(code) {
  if (key) dispatchEvent(new KeyboardEvent("keyup", { code: key }))
  if (code) dispatchEvent(new KeyboardEvent("keydown", { code }))
  key = code
}
const watch = setInterval(() => {
  const status = document.querySelector("#status")?.textContent ?? ""
  if (/^waiting/.test(status)) waited = status
  if (!/^W A S D/.test(status)) {
    replaced = from !== undefined && /reconnecting/.test(status)
    return
  }
  const at = runner()
  if (at === undefined) return
  if (from === undefined) {
    from = at
    hold(at < 0 ? "KeyD" : "KeyA")
    turns = setInterval(() => hold(key === "KeyD" ? "KeyA" : "KeyD"), 10_000) // it may be at the border
  } else if (key && Math.abs(at - from) > 40) {
    clearInterval(turns)
    hold()
    browsertest.report({ from, to: at, status, waited, avatar: avatar() })
  } else if (replaced) {
    clearInterval(watch)
    browsertest.report({ from, to: at, status })
  }
}, 20)
</script>`

// TestCreate plays a game of create-worldd below Vite: the page waits for its server, the avatar moves, and saving a Go
// file replaces a killed server below the page, with the same world.
func TestCreate(t *testing.T) {
	t.Parallel()
	require.DirExists(t, "../build/game", "client/ts/test.sh creates a game: run it first")
	folder := must.Get(filepath.Abs("../build/game"))
	rules := filepath.Join(folder, "server/main.go")
	vite, _, dev := runDev(t, folder)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		p := b.Open(t, browsertest.NewSite(t, afterOutage(withScript(vite, watchRunner))), "/")
		var moved struct {
			From, To       float64
			Status, Waited string
			Avatar         string
		}
		require.NoError(t, json.Unmarshal(p.Next(), &moved))
		t.Logf("%+v", moved)
		require.Contains(t, moved.Waited, "waiting for the server")
		require.Regexp(t, `(?s)kind\s+runner.*ahead\s+\d+ ticks.*agreed\s+\d.*corrected\s+\d`, moved.Avatar)
		killServer(t, vite, dev)
		require.NoError(t, os.WriteFile(rules, must.Get(os.ReadFile(rules)), 0o600))
		require.NoError(t, json.Unmarshal(p.Next(), &moved), "on the next server")
		require.FileExists(t, filepath.Join(folder, "saves/world.image"))
	})
}

// runDev runs npm run dev in folder until the end of t, and returns the addresses of Vite and of the game's server once
// both answer, and the process.
func runDev(t *testing.T, folder string) (vite *url.URL, game string, dev *exec.Cmd) {
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "saves"))) // of an earlier run
	addresses := loopback.Reserve(t, 3)
	vite = must.Get(url.Parse("http://" + addresses[2]))
	dev = exec.Command("npm", "run", "dev", "--", "--host", "127.0.0.1", "--port", vite.Port(), "--strictPort")
	dev.Dir = folder
	dev.Env = append(os.Environ(), "GAME_LISTEN="+addresses[0], "GAME_ADMIN="+addresses[1])
	output := new(programtest.Screen)
	dev.Stdout, dev.Stderr = output, output
	dev.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // npm, Vite and the server
	require.NoError(t, dev.Start())
	ended := make(chan error, 1)
	go func() { ended <- dev.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-dev.Process.Pid, syscall.SIGINT)
		<-ended
		t.Log(output.String())
	})
	require.Eventually(t, func() bool {
		answer, err := http.Get(vite.String() + "/web")
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	}, 2*time.Minute, 100*time.Millisecond)
	return vite, addresses[0], dev
}

// killServer kills the game's server below Vite. Until the next one Vite answers pages that ask for it, and says so
// once.
func killServer(t *testing.T, vite *url.URL, dev *exec.Cmd) {
	said := func() int {
		return strings.Count(dev.Stdout.(*programtest.Screen).String(), "pages wait for the game's server")
	}
	before := said()
	require.NoError(t, exec.Command("pkill", "-KILL", "-x", "-g", strconv.Itoa(dev.Process.Pid), "game").Run())
	for refused := 0; refused < 3; {
		answer := must.Get(http.Get(vite.String() + "/web"))
		require.NoError(t, answer.Body.Close())
		if answer.StatusCode != http.StatusOK { // the process is gone
			require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
			refused++
		}
	}
	require.Eventually(t, func() bool { return said() == before+1 }, time.Minute, 10*time.Millisecond)
}

// afterOutage has no server of the game for the first page that asks for it, and passes all other requests on.
func afterOutage(next http.Handler) http.Handler {
	var asked atomic.Bool
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/web" && asked.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withScript passes requests on to Vite, and puts a script into its document.
func withScript(vite *url.URL, script string) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(vite)
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			return nil
		}
		document, err := io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return err
		}
		document = bytes.Replace(document, []byte("<title>"), []byte(script+"<title>"), 1)
		r.Body = io.NopCloser(bytes.NewReader(document))
		r.Header.Set("Content-Length", strconv.Itoa(len(document)))
		return nil
	}
	return proxy
}
