//go:build unix

// Package browsertest opens pages in headless Chromium and Firefox from Go tests. It starts the
// browser's process with a new profile. The page posts its results to a loopback server, so no
// driver is needed.
//
//	func TestPage(t *testing.T) {
//		browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
//			site := browsertest.NewSite(t, http.FileServerFS(files)) // site.Origin() is "http://127.0.0.1:PORT"
//			page := b.Open(t, site, "/page.html")
//			require.JSONEq(t, `{"sum": 3}`, string(page.Next()))
//		})
//	}
//
// A page loads the reporting script before its own scripts:
//
//	<script src="/browsertest.js"></script>
//	<script type="module">
//	browsertest.log("a line of the test's log")
//	browsertest.report({sum: 1 + 2}) // any number of times; each Next returns one, as JSON
//	</script>
//
// Uncaught errors, unhandled rejections, scripts that do not load, and calls of
// browsertest.fail(error) fail the test with their text. The page is a secure context:
// WebTransport works. A page that needs data fetches it from the site's handler.
//
// The environment variable WORLDD_BROWSERS names the browsers that must be installed, as in
// "chromium,firefox"; "none" runs no browser. If it is not set, the installed browsers run.
package browsertest

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// maxWait bounds one Next: on a busy machine a cold start of Firefox takes 45 s, and the vectors a minute.
	maxWait = 4 * time.Minute
	// maxReport bounds one report of a page, in bytes.
	maxReport = 64 << 20
	// maxReports bounds the reports that wait for Next.
	maxReports = 1024
)

// Browser is an installed browser.
type Browser struct {
	// Name is "chromium" or "firefox".
	Name string
	path string
}

// programs lists the names of each browser's program.
func programs() map[string][]string {
	return map[string][]string{
		"chromium": {"chromium", "chromium-browser", "google-chrome"},
		"firefox":  {"firefox-esr", "firefox"},
	}
}

// Each runs test for each browser, as a subtest with the browser's name.
func Each(t *testing.T, test func(t *testing.T, b Browser)) {
	t.Helper()
	browsers, err := installed(os.Getenv("WORLDD_BROWSERS"), exec.LookPath)
	if err != nil {
		t.Fatal(err)
	}
	if len(browsers) == 0 {
		t.Log("no browser runs this test: none is installed, or WORLDD_BROWSERS=none")
	}
	for _, b := range browsers {
		t.Run(b.Name, func(t *testing.T) { test(t, b) })
	}
}

// installed returns the browsers that WORLDD_BROWSERS=wanted selects.
func installed(wanted string, lookPath func(string) (string, error)) ([]Browser, error) {
	var found []Browser
	var names []string
	if wanted != "" && wanted != "none" {
		names = strings.Split(wanted, ",")
	}
	for _, name := range names {
		if programs()[name] == nil {
			return nil, fmt.Errorf("WORLDD_BROWSERS: %q is not a browser: want chromium, firefox, or none", name)
		}
	}
	for _, name := range []string{"chromium", "firefox"} {
		if wanted == "none" || (wanted != "" && !slices.Contains(names, name)) {
			continue
		}
		for _, program := range programs()[name] {
			if path, err := lookPath(program); err == nil {
				found = append(found, Browser{name, path})
				break
			}
		}
	}
	if wanted != "" && len(found) != len(names) {
		return nil, fmt.Errorf("WORLDD_BROWSERS=%s: not all of these are installed (Debian packages chromium and firefox-esr)", wanted)
	}
	return found, nil
}

// Site is a web server on loopback whose pages report to the test.
type Site struct {
	server   *httptest.Server
	reports  chan []byte
	failures chan string
}

// script is the reporting script of pages.
//
//go:embed browsertest.js
var script []byte

// firefoxPreferences disable requests to other hosts, and the pages shown at the first start.
//
//go:embed firefox.js
var firefoxPreferences []byte

// NewSite serves pages until the end of t.
func NewSite(t testing.TB, pages http.Handler) *Site {
	s := &Site{reports: make(chan []byte, maxReports), failures: make(chan string, maxReports)}
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.HandleFunc("GET /browsertest.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("POST /browsertest/{kind}", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
		switch kind := r.PathValue("kind"); {
		case err != nil:
			s.failures <- fmt.Sprintf("report: %v", err)
		case kind == "report":
			s.reports <- body
		case kind == "failure":
			s.failures <- string(body)
		default:
			t.Logf("page: %s", body)
		}
	})
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	return s
}

// Origin returns the origin of the site's pages, as "http://127.0.0.1:PORT".
func (s *Site) Origin() string { return s.server.URL }

// Page is a page in its own browser.
type Page struct {
	t      testing.TB
	site   *Site
	name   string
	ended  chan struct{} // closed when the browser's process has ended
	output lockedBuffer
}

// Open starts the browser with the page at path of s. The browser ends with t. A site serves
// one browser at a time.
func (b Browser) Open(t testing.TB, s *Site, path string) *Page {
	t.Helper()
	return b.open(t, s, path, func(*exec.Cmd) {})
}

// open is Open. prepare may change the browser's process.
func (b Browser) open(t testing.TB, s *Site, path string, prepare func(*exec.Cmd)) *Page {
	t.Helper()
	folder, err := os.MkdirTemp("", "browsertest-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Page{t: t, site: s, name: b.Name, ended: make(chan struct{})}
	command := exec.Command(b.path, b.arguments(t, folder, s.Origin()+path)...)
	command.Env = append(os.Environ(), "HOME="+folder, "XDG_CACHE_HOME="+folder, "XDG_CONFIG_HOME="+folder, "TMPDIR="+folder, "MOZ_CRASHREPORTER_DISABLE=1")
	command.Stdout, command.Stderr = &p.output, &p.output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // both browsers start more processes
	command.WaitDelay = time.Second
	prepare(command)
	if err := command.Start(); err != nil {
		t.Fatalf("%s does not start: %v", b.Name, err)
	}
	go func() {
		_ = command.Wait() // the output says why
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-p.ended
		_ = os.RemoveAll(folder) // processes of the group may still be ending
	})
	return p
}

// Next waits for the page's next report, and returns it as JSON. It fails the test if the page
// fails, or does not report within four minutes.
func (p *Page) Next() []byte {
	p.t.Helper()
	select {
	case report := <-p.site.reports:
		return report
	case failure := <-p.site.failures:
		p.t.Fatalf("the page in %s failed: %s", p.name, failure)
	case <-p.ended:
		p.t.Fatalf("%s ended before the page reported:\n%s", p.name, p.output.String())
	case <-time.After(maxWait):
		p.t.Fatalf("the page in %s has not reported after %v; its output:\n%s", p.name, maxWait, p.output.String())
	}
	return nil
}

// arguments returns the command line that opens url with a new profile in folder.
func (b Browser) arguments(t testing.TB, folder, url string) []string {
	if b.Name == "chromium" {
		return []string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader", // WebGL without a GPU
			"--user-data-dir=" + folder, url,
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "user.js"), firefoxPreferences, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--headless", "--no-remote", "--profile", folder, url}
}

// lockedBuffer holds the output of a process for concurrent readers.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer. Output beyond 1 MB is dropped.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.text.Len() < 1<<20 {
		b.text.Write(p)
	}
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
