//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/server/host"
)

// liveProbe operates the live page and reports what it shows.
//
//go:embed testdata/live_probe.js
var liveProbe string

// liveTokens operates a live page that requires tokens.
//
//go:embed testdata/live_tokens.js
var liveTokens string

// axeCore checks pages for accessibility. It is there once client/ts/test.sh has run.
const axeCore = "../../client/ts/node_modules/axe-core/axe.min.js"

// axeFindings runs it.
//
//go:embed testdata/axe_findings.js
var axeFindings []byte

// requireAccessible checks the report of axeFindings.
func requireAccessible(t *testing.T, findings []string) {
	if _, err := os.Stat(axeCore); err != nil {
		t.Logf("not checked for accessibility: %v", err)
		return
	}
	require.NotNil(t, findings, "axe-core has not run")
	require.Empty(t, findings)
}

// probed is the report of liveProbe.
type probed struct {
	Message, Title, Advice, Crate                string
	Awake, Asleep, Avatars, Live, Stale, Audited int
	Kinds, Faults, Colours                       int
	Held                                         []string
	Before, After                                string
	Requests                                     []string
	Pasted, Misspelled, History                  string
	Inspected                                    []string
	Away                                         struct {
		Before, After string
		Bodies        int
	}
	Bad struct {
		RTT                     float64
		Frames, Ahead           int
		Agreed, Corrected, Late int
	}
	Components, Ended string
	Axe               []string
}

// played is the report of liveTokens.
type played struct {
	Asked, Fragment, Left, Refused string
	Stored                         int
}

// liveSite serves the live page of a server to browsers, with a probe.
func liveSite(t *testing.T, admin, probe string) *browsertest.Site {
	return browsertest.NewSite(t, liveHandler(admin, probe, ""))
}

// liveHandler passes the live page of a server on to browsers. It adds only the scripts of the
// test: probe, and elements before it.
func liveHandler(admin, probe, elements string) http.Handler {
	target := must.Get(url.Parse(admin))
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(r *http.Response) error {
			if path := r.Request.URL.Path; path != "/live" && path != "/operator" && path != "/replay" {
				return nil
			}
			page, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text := strings.Replace(string(page), "<script", elements+`<script src="/browsertest.js"></script><script src="/axe.js"></script><script type="module" src="/probe.js"></script><script`, 1)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("GET /axe.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		axe, _ := os.ReadFile(axeCore) // missing until npm ci
		_, _ = w.Write(append(axe, axeFindings...))
	})
	mux.HandleFunc("GET /probe.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, probe)
	})
	return mux
}

// serveLive runs serve with flags until the end of t, and returns the address of its admin port.
func serveLive(t *testing.T, flags ...string) string {
	return servePage(t, "/live", append([]string{"serve", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--web"}, flags...)...)
}

// servePage runs a command that serves a page until the end of t, and returns the page's origin.
func servePage(t *testing.T, path string, args ...string) string {
	origin, stop := startPage(t, definition(), path, args...)
	t.Cleanup(stop)
	return origin
}

// startPage runs a game's command that serves a page until stop, and returns the page's origin.
func startPage(t *testing.T, game host.Definition, path string, args ...string) (origin string, stop func()) {
	admin := regexp.MustCompile(`in a browser: (http://\S+)` + path)
	ctx, cancel := context.WithCancel(t.Context())
	up := make(chan struct{})
	out := &programtest.Screen{Words: path, Seen: func() { close(up) }}
	ended := make(chan int, 1)
	go func() {
		ended <- host.Run(ctx, game, args, host.Streams{In: strings.NewReader(""), Out: out, Err: io.Discard})
	}()
	<-up
	m := admin.FindStringSubmatch(out.String())
	require.NotNil(t, m, out.String())
	return m[1], func() {
		cancel()
		require.Equal(t, exitOK, <-ended)
	}
}

// TestLivePage opens the page that serve prints. The page draws the bodies that it computes, no
// audit fails, the avatar moves, a held handle turns stale, and nothing is fetched from
// elsewhere.
func TestLivePage(t *testing.T) {
	admin := serveLive(t)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, liveSite(t, admin, liveProbe), "/live").Next()
		t.Logf("%s", report)
		var p probed
		require.NoError(t, json.Unmarshal(report, &p))
		require.Empty(t, p.Message)
		require.Greater(t, p.Awake+p.Asleep, 100)
		require.Equal(t, "worldd live", p.Title)
		require.Equal(t, 3, p.Kinds)
		require.NotZero(t, p.Avatars)
		require.Regexp(t, `^\d+v\d+ live crate`, p.Crate)
		require.Regexp(t, `Hold the nearest (spark|crate)`, p.Advice, "a spark unless none has come into view for long")
		require.Greater(t, p.Audited, 10)
		require.Zero(t, p.Faults)
		require.Greater(t, p.Colours, 5, "of the canvas's pixels")
		require.NotEqual(t, p.Before, p.After, "the canvas has moved")
		require.NotZero(t, p.Stale)
		require.Contains(t, strings.Join(p.Held, "\n"), "stale")
		require.Contains(t, strings.Join(p.Held, "\n"), "avatar, yours")
		require.Contains(t, p.Pasted, "pending")
		require.Contains(t, p.Misspelled, "17v3")
		require.Equal(t, p.Away.Before, p.Away.After, "where the avatar is drawn, whatever the picture shows")
		require.Greater(t, p.Away.Bodies, 100)
		require.Len(t, p.Inspected, 1, "open details")
		require.Regexp(t, `^live at tick [\d,]+ [\d.]+ k?B of rows since it came into view.* body Position`, p.Inspected[0])
		require.Regexp(t, `live at tick [\d,]+ → (hidden at tick [\d,]+ → )?stale at tick [\d,]+`, p.History)
		for _, r := range p.Requests {
			require.Regexp(t, `^http://127\.0\.0\.1:`, r)
		}
		require.Greater(t, p.Bad.RTT, 140.0)
		require.LessOrEqual(t, p.Bad.Frames, 4, "from the key to the first frame that shows the avatar elsewhere")
		require.Greater(t, p.Bad.Ahead, 5)
		require.NotZero(t, p.Bad.Agreed)
		// Without the search for missed inputs a third of the states are corrected; a loaded
		// machine adds 7 %.
		require.LessOrEqual(t, 5*(p.Bad.Corrected-p.Bad.Late), p.Bad.Agreed, "corrections that are not for late inputs, but for what was not known yet")
		require.Contains(t, p.Components, "body")
		require.Contains(t, p.Ended, "The operator has ended your session")
		requireAccessible(t, p.Axe)
	})
}

// TestLivePageTokens opens the page of a server that requires the operator's token for the page
// and connect tokens for sessions. The page asks for both, and says why one is refused.
func TestLivePageTokens(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	key, operator := filepath.Join(folder, "key"), filepath.Join(folder, "operator")
	require.NoError(t, os.WriteFile(operator, []byte("the-operators-token"), 0o600))
	command := func(arguments ...string) string {
		var out strings.Builder
		require.Equal(t, exitOK, run(t.Context(), arguments, streams{strings.NewReader(""), &out, io.Discard}))
		return strings.TrimSpace(out.String())
	}
	command("token", "new", key)
	admin := serveLive(t, "--admin-token="+operator, "--token-keys="+key+".pub")
	issue := func() string { return command("token", "issue", "--key="+key, "--user=ada", "--lifetime=10m") }
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		probe := strings.NewReplacer("OPERATOR", "the-operators-token", "CONNECT", issue()).Replace(liveTokens)
		var p played
		require.NoError(t, json.Unmarshal(b.Open(t, liveSite(t, admin, probe), "/live#token="+issue()).Next(), &p))
		require.Contains(t, p.Asked, "operator's token")
		require.Empty(t, p.Fragment, "the address has lost the token")
		require.Contains(t, p.Left, "You have left")
		require.Contains(t, p.Refused, "does not accept this token")
		require.Zero(t, p.Stored)
	})
}

// readMessage reports the first message on the live page that is not about progress.
const readMessage = `const wait = setInterval(() => {
  const text = document.getElementById("text").textContent
  if (text === "Joining …") return
  clearInterval(wait)
  browsertest.report(text)
}, 50)`

// TestLivePageOrigin: browsers do not say why a server refuses a page, but the page finds out.
func TestLivePageOrigin(t *testing.T) {
	t.Parallel()
	admin := serveLive(t, "--web-origin=https://game.example")
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		text := string(b.Open(t, liveSite(t, admin, readMessage), "/live").Next())
		require.Contains(t, text, "serve with --web-origin http://127.0.0.1:")
	})
}

// liveOutage watches the live page while its server ends and another one begins.
//
//go:embed testdata/live_outage.js
var liveOutage string

// TestLivePageOutage: the page says that its server has gone, and joins by itself once it is back.
func TestLivePageOutage(t *testing.T) {
	t.Parallel()
	addresses := loopback.Reserve(t, 2)
	start := func() (origin string, stop func()) {
		return startPage(t, definition(), "/live", "serve", "--listen="+addresses[0], "--admin="+addresses[1], "--web")
	}
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		origin, stop := start()
		page := b.Open(t, liveSite(t, origin, liveOutage), "/live?demo")
		require.JSONEq(t, `"joined"`, string(page.Next()))
		stop()
		var gone struct {
			Text, More string
			Axe        []string
		}
		require.NoError(t, json.Unmarshal(page.Next(), &gone))
		require.Contains(t, gone.Text, "The demo has ended: nothing answers at ")
		require.Contains(t, gone.More, "joins by itself")
		requireAccessible(t, gone.Axe)
		_, stop = start()
		t.Cleanup(stop)
		require.JSONEq(t, `{"joined": true, "gone": false}`, string(page.Next()))
	})
}

// liveTour takes the tour of the demo.
//
//go:embed testdata/live_tour.js
var liveTour string

// TestLivePageTour: the tour ends with a handle that turned stale, and begins again only when asked for.
func TestLivePageTour(t *testing.T) {
	t.Parallel()
	admin := serveLive(t)
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, liveSite(t, admin, liveTour), "/live?demo").Next()
		t.Logf("%s", report)
		var p struct {
			Held                   string
			End                    struct{ Title, Text, Button string }
			Closed, Again, Skipped bool
			Seen                   int
			Axe                    []string
		}
		require.NoError(t, json.Unmarshal(report, &p))
		require.Regexp(t, `^You hold \d+v\d+: slot \d+, generation \d+\.`, p.Held)
		require.Equal(t, "4 of 4: your spark went stale", p.End.Title)
		require.Regexp(t, `^\d+v\d+ is dead.* A handle never lies\.$`, p.End.Text)
		require.Equal(t, "Done", p.End.Button)
		require.True(t, p.Closed)
		require.Equal(t, 1, p.Seen, "remembered")
		require.True(t, p.Again, "the focus is on the tour")
		require.True(t, p.Skipped)
		requireAccessible(t, p.Axe)
	})
}
