//go:build unix

package browsertest

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const page = `<!doctype html><meta charset="utf-8"><script src="/browsertest.js"></script>
<script type="module">
await browsertest.log("WebTransport is", typeof WebTransport);
await browsertest.report({secure: isSecureContext, webTransport: typeof WebTransport});
await browsertest.report([1, 2]);
</script>`

func TestReport(t *testing.T) {
	Each(t, func(t *testing.T, b Browser) {
		site := NewSite(t, html(page))
		p := b.Open(t, site, "/")
		require.JSONEq(t, `{"secure": true, "webTransport": "function"}`, string(p.Next()))
		require.JSONEq(t, `[1, 2]`, string(p.Next()))
	})
}

// TestDrive hides and freezes a page.
func TestDrive(t *testing.T) {
	Each(t, func(t *testing.T, b Browser) {
		if !b.Drives() {
			return
		}
		site := NewSite(t, html(`<!doctype html><meta charset="utf-8"><script src="/browsertest.js"></script>
			<script>
			document.addEventListener("visibilitychange", () => browsertest.report(document.visibilityState))
			let frozen = 0
			document.addEventListener("freeze", () => frozen++)
			document.addEventListener("resume", () => browsertest.report({frozen}))
			browsertest.report(document.visibilityState)
			</script>`))
		p, d := b.Drive(t, site, "/")
		require.JSONEq(t, `"visible"`, string(p.Next()))
		d.Hide()
		require.JSONEq(t, `"hidden"`, string(p.Next()))
		d.Show()
		require.JSONEq(t, `"visible"`, string(p.Next()))
		d.Freeze(true)
		d.Freeze(false)
		require.ElementsMatch(t, []string{`"hidden"`, `{"frozen":1}`}, []string{string(p.Next()), string(p.Next())}, "requests of a frozen page may overtake each other")
	})
}

// TestFailures opens pages that fail. They report to a channel of the site, so that they do not
// fail this test.
func TestFailures(t *testing.T) {
	Each(t, func(t *testing.T, b Browser) {
		site := NewSite(t, html(`<!doctype html><meta charset="utf-8"><script src="/browsertest.js"></script>
			<script>throw new Error("thrown")</script><script type="module">await Promise.reject(new Error("rejected"))</script>
			<script>syntax error</script>`))
		b.Open(t, site, "/")
		text := <-site.failures + <-site.failures + <-site.failures
		for _, want := range []string{"thrown", "rejected", "SyntaxError"} {
			require.Contains(t, text, want)
		}
	})
}

func html(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(text))
	})
}

func TestInstalled(t *testing.T) {
	only := func(names ...string) func(string) (string, error) {
		return func(program string) (string, error) {
			for _, n := range names {
				if n == program {
					return "/bin/" + n, nil
				}
			}
			return "", errors.New("not found")
		}
	}
	chromium, firefox := Browser{"chromium", "/bin/chromium-browser"}, Browser{"firefox", "/bin/firefox"}
	for _, c := range []struct {
		wanted string
		has    func(string) (string, error)
		want   []Browser
		err    string
	}{
		{"", only("chromium-browser", "firefox"), []Browser{chromium, firefox}, ""},
		{"", only("firefox"), []Browser{firefox}, ""},
		{"", only(), nil, ""},
		{"none", only("firefox"), nil, ""},
		{"firefox", only("chromium-browser", "firefox"), []Browser{firefox}, ""},
		{"firefox,chromium", only("chromium-browser", "firefox"), []Browser{chromium, firefox}, ""},
		{"chromium,firefox", only("firefox"), nil, "not all of these are installed"},
		{"safari", only("firefox"), nil, `"safari" is not a browser`},
	} {
		t.Run(c.wanted, func(t *testing.T) {
			got, err := installed(c.wanted, c.has)
			require.Equal(t, c.want, got)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
		})
	}
}
