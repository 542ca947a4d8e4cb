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
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// liveProbe plays the live page and reports what it shows.
//
//go:embed testdata/live_probe.js
var liveProbe string

// probed is the report of liveProbe.
type probed struct {
	Message                                      string
	Awake, Asleep, Players, Live, Stale, Audited int
	Faults, Colours                              int
	Held                                         []string
	Before, After                                string
	Requests                                     []string
	Pasted, Misspelled                           string
}

// liveSite passes the live page of a server on to browsers, as it is but for the scripts
// of the test.
func liveSite(t *testing.T, admin string) *browsertest.Site {
	target, err := url.Parse(admin)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path != "/live" {
				return nil
			}
			page, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text := strings.Replace(string(page), "<script", `<script src="/browsertest.js"></script><script type="module" src="/probe.js"></script><script`, 1)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return nil
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("GET /probe.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, liveProbe)
	})
	return browsertest.NewSite(t, mux)
}

// TestLivePage opens the page that serve prints: it draws bodies that it computes, no audit
// fails, the avatar moves, a held handle turns stale, and nothing is fetched elsewhere.
func TestLivePage(t *testing.T) {
	admin := regexp.MustCompile(`in a browser: (http://\S+)/live\n`)
	ctx, stop := context.WithCancel(t.Context())
	up := make(chan struct{})
	out := &watchedScreen{words: "/live\n", seen: func() { close(up) }}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0", "--web"}, streams{strings.NewReader(""), out, io.Discard})
	}()
	defer func() {
		stop()
		require.Equal(t, exitOK, <-ended)
	}()
	<-up
	m := admin.FindStringSubmatch(out.String())
	require.NotNil(t, m, out.String())
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, liveSite(t, m[1]), "/live").Next()
		t.Logf("%s", report)
		var p probed
		require.NoError(t, json.Unmarshal(report, &p))
		require.Empty(t, p.Message)
		require.Greater(t, p.Awake+p.Asleep, 100)
		require.NotZero(t, p.Players)
		require.Greater(t, p.Audited, 10)
		require.Zero(t, p.Faults)
		require.Greater(t, p.Colours, 5, "of the canvas's pixels")
		require.NotEqual(t, p.Before, p.After, "the canvas has moved")
		require.NotZero(t, p.Stale)
		require.Contains(t, strings.Join(p.Held, "\n"), "stale")
		require.Contains(t, strings.Join(p.Held, "\n"), "you")
		require.Contains(t, p.Pasted, "pending")
		require.Contains(t, p.Misspelled, "17v3")
		for _, r := range p.Requests {
			require.Regexp(t, `^http://127\.0\.0\.1:`, r)
		}
	})
}
