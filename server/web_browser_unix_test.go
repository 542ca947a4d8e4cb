//go:build unix

package server_test

import (
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

//go:embed testdata/web.html
var webPage []byte

// webOptions are the options of testdata/web.html.
type webOptions struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes"`
	Hello  string   `json:"hello"` // hex, as the others
	Input  string   `json:"input"`
	Bye    string   `json:"bye"`
	Leave  string   `json:"leave"` // "bye", "close" or "navigate"
}

// options returns the options for a page that visits h.
func (h *testServer) webOptions(leave string) webOptions {
	hashes := must.Get(h.server.WebCertificates())
	hello := wire.Hello{Protocol: wire.Version, Tables: rowcodec.DefaultTables().Version(), Name: "page"}
	input := wire.Input{Stamp: 77}
	return webOptions{
		URL: webURL(h.server), Hashes: hashes, Leave: leave,
		Hello: hex.EncodeToString(wire.AppendMessage(nil, hello)), Input: hex.EncodeToString(input.Append(nil)),
		Bye: hex.EncodeToString(wire.AppendMessage(nil, wire.Bye{})),
	}
}

// webSite serves testdata/web.html, which makes a visit with each of the options.
func webSite(t *testing.T, visits <-chan webOptions) *browsertest.Site {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(webPage)
	})
	mux.HandleFunc("GET /options", func(w http.ResponseWriter, r *http.Request) {
		select {
		case options := <-visits:
			_ = json.NewEncoder(w).Encode(options)
		case <-r.Context().Done(): // the page is closed
		}
	})
	return browsertest.NewSite(t, mux)
}

// pageReport is a report of testdata/web.html.
type pageReport struct {
	Refused  string `json:"refused"` // why there is no session
	Frame    string `json:"frame"`   // the first one on the stream, in hex
	Snapshot string `json:"snapshot"`
	Echo     string `json:"echo"` // a snapshot that may echo the Input
	Closed   string `json:"closed"`
}

func next(t *testing.T, page *browsertest.Page) (r pageReport) {
	require.NoError(t, json.Unmarshal(page.Next(), &r))
	return r
}

func unhex(t *testing.T, text string) []byte {
	return must.Get(hex.DecodeString(text))
}

// A page in a real browser joins by certificate hash, receives Welcome and snapshots, sends an
// Input, and leaves in each of the ways that a page has.
func TestBrowserVisits(t *testing.T) {
	t.Parallel()
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		core, logs := observer.New(zapcore.InfoLevel)
		h := newTestServerWith(t, func(c *server.Config) {
			c.Web, c.Log, c.Grace = &server.WebConfig{}, zap.New(core), time.Hour
		})
		visits := make(chan webOptions, 1)
		page := b.Open(t, webSite(t, visits), "/")
		for _, leave := range []string{"bye", "close", "navigate"} { // the last ends the page
			logs.TakeAll()
			visits <- h.webOptions(leave)
			r := next(t, page)
			require.Empty(t, r.Refused, leave)
			var frames wire.FrameReader
			frames.Feed(unhex(t, r.Frame))
			kind, body, whole, err := frames.Next()
			require.NoError(t, err)
			require.True(t, whole)
			require.Equal(t, byte(wire.TypeWelcome), kind)
			require.EqualValues(t, testEpoch, must.Get(wire.Parse[wire.Welcome](body)).Epoch)
			first := must.Get(wire.ParseStateHeader(unhex(t, r.Snapshot), new(bitio.Reader)))
			echo := must.Get(wire.ParseStateHeader(unhex(t, r.Echo), new(bitio.Reader)))
			require.Greater(t, echo.Tick, first.Tick, leave)
			require.EqualValues(t, 77, echo.Echo)
			if leave != "navigate" {
				t.Log("the page saw:", next(t, page).Closed)
			}
			require.Eventually(t, func() bool {
				return logs.FilterMessage("ended").Len() > 0 && logs.FilterMessage("left").Len()+logs.FilterMessage("away").Len() > 0
			}, patience, time.Millisecond)
			require.Zero(t, logs.FilterMessage("away").Len(), "it left: nobody will resume: %s", leave)
			require.Equal(t, "client", logs.FilterMessage("ended").All()[0].ContextMap()["by"], leave)
		}
	})
}

// A page of an origin that is not allowed, and a page with another hash, do not get a session.
func TestBrowserIsRefused(t *testing.T) {
	t.Parallel()
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		h := newTestServerWith(t, func(c *server.Config) {
			c.Web = &server.WebConfig{Origins: []string{"https://game.example"}}
		})
		visits := make(chan webOptions, 1)
		page := b.Open(t, webSite(t, visits), "/")
		visits <- h.webOptions("")
		r := next(t, page)
		require.NotEmpty(t, r.Refused)
		require.EqualValues(t, 1, h.server.Report().Traffic.WebOrigins)
		t.Log("origin:", r.Refused)

		h = newWebTestServer(t)
		options := h.webOptions("")
		options.Hashes = []string{h.server.Fingerprint()} // of raw clients
		visits <- options
		r = next(t, page)
		require.NotEmpty(t, r.Refused)
		t.Log("hash:", r.Refused)
	})
}
