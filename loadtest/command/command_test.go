package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/server/token"
)

// nobody is an address that no resolver finds, even without network access: a name has no empty
// labels.
const nobody = "nobody..there:1"

func TestUsage(t *testing.T) {
	secret, _ := token.NewKeys()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(secret), 0o600))
	for _, c := range []struct {
		name   string
		args   []string
		status int
		out    string // on standard output
		err    string // on standard error
	}{
		{"nothing", nil, exitUsage, "", "--addr"},
		{"unknown flag", []string{"--addr=127.0.0.1:1", "--bogus"}, exitUsage, "", "unknown flag --bogus"},
		{"no bots", []string{"--addr=127.0.0.1:1", "--bots=0"}, exitUsage, "", "--bots is 0"},
		{"not a number", []string{"--addr=127.0.0.1:1", "--bots=many"}, exitUsage, "", "--bots"},
		{"no time", []string{"--addr=127.0.0.1:1", "--duration=0s"}, exitUsage, "", "--duration is 0s"},
		{"no probes", []string{"--addr=127.0.0.1:1", "--probes=0"}, exitUsage, "", "--probes is 0"},
		{"too many probes", []string{"--addr=127.0.0.1:1", "--probes=9999"}, exitUsage, "", "9999 probes after each snapshot, want 1 to 4096"},
		{"no area", []string{"--addr=127.0.0.1:1", "--area=-1"}, exitUsage, "", "--area is -1"},
		{"no port", []string{"--addr=nowhere"}, exitUsage, "", "want host:port"},
		{"a port that there cannot be", []string{"--addr=127.0.0.1:99999"}, exitUsage, "", `"99999" is no udp port`},
		{"a host that there cannot be", []string{"--addr=my server:4433"}, exitUsage, "", `"my server" is no host`},
		{"nobody's port", []string{"--addr=127.0.0.1:0"}, exitUsage, "", "port 0 cannot be dialled"},
		{"no such scenario", []string{"--addr=127.0.0.1:1", "--scenario=rome"}, exitUsage, "", `did you mean "roam"?`},
		{"more than all lost", []string{"--addr=127.0.0.1:1", "--loss=5"}, exitUsage, "", "want a share from 0 to 1"},
		{"a ramp without end", []string{"--addr=127.0.0.1:1", "--ramp=1m"}, exitUsage, "", "a ramp of 1m0s"},
		{"a storm after the end", []string{"--addr=127.0.0.1:1", "--scenario=join-storm", "--duration=5s"}, exitUsage, "", "a join storm 5.5s after the first dial"},
		{"no such metric", []string{"--addr=127.0.0.1:1", "--fail=latencyp99_ms>5"}, exitUsage, "", "did you mean latency_p99_ms?"},
		{"ticks of nobody", []string{"--addr=127.0.0.1:1", "--fail=tick_p99_ms>8"}, exitUsage, "", "needs --admin"},
		{"costs of nobody", []string{"--addr=127.0.0.1:1", "--fail=cores>1"}, exitUsage, "", "needs --admin"},
		{"a storm that is none", []string{"--addr=127.0.0.1:1", "--fail=storm_all_in_s>5"}, exitUsage, "", "--scenario join-storm"},
		{"shots of nobody", []string{"--addr=127.0.0.1:1", "--fail=shots_missed>1"}, exitUsage, "", "--scenario combat"},
		{"audits of nobody", []string{"--addr=127.0.0.1:1", "--simulate=false", "--fail=audits<1"}, exitUsage, "", "needs --simulate"},
		{"attacks of nobody", []string{"--addr=127.0.0.1:1", "--fail=half_open<1"}, exitUsage, "", "--scenario hostile"},
		{"the world", []string{"--addr=127.0.0.1:1", "--admin=127.0.0.1:1", "--fail=world_awake>9"}, exitUsage, "", `"world_awake>9" cannot be measured: only worldd demo`},
		{"no limit", []string{"--addr=127.0.0.1:1", "--fail=latency_p99_ms"}, exitUsage, "", "METRIC>NUMBER"},
		{"profiles of nobody", []string{"--addr=127.0.0.1:1", "--profile=x"}, exitUsage, "", "--profile needs --admin"},
		{"a page of many runs", []string{"--addr=127.0.0.1:1", "--find-limit", "--html=page.html"}, exitUsage, "", "--find-limit plays many runs"},
		{"a limit below the first step", []string{"--addr=127.0.0.1:1", "--find-limit", "--bots=5", "--most-bots=4"}, exitUsage, "", "--most-bots is 4"},
		{"no operator host", []string{"--addr=127.0.0.1:1", "--admin=http://"}, exitUsage, "", "--admin"},
		{"no operator port", []string{"--addr=127.0.0.1:1", "--admin=localhost"}, exitUsage, "", `--admin "localhost": want host:port`},
		{"an operator port that there cannot be", []string{"--addr=127.0.0.1:1", "--admin=127.0.0.1:99999"}, exitUsage, "", `"99999" is no tcp port`},
		{"nor in a URL", []string{"--addr=127.0.0.1:1", "--admin=http://127.0.0.1:99999"}, exitUsage, "", `"99999" is no tcp port`},
		{"both trusts", []string{"--addr=127.0.0.1:1", "--insecure-dev", "--fingerprint=00"}, exitUsage, "", "insecure-dev are set: want one of them"},
		{"no fingerprint", []string{"--addr=127.0.0.1:1", "--fingerprint=abc"}, exitUsage, "", "want the 64 hex digits"},
		{"tokens for nobody", []string{"--addr=127.0.0.1:1", "--insecure-dev", "--token-key=" + key, "--audience=" + strings.Repeat("a", 200)}, exitUsage, "", "an audience of 200 bytes"},
		{"help", []string{"--help"}, exitOK, "WORLDD_ADDR", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, err bytes.Buffer
			require.Equal(t, c.status, Main(t.Context(), bots.Player(), c.args, &out, &err), "%s", err.String())
			require.Contains(t, out.String(), c.out)
			require.Contains(t, err.String(), c.err)
			if c.status == exitUsage {
				require.Empty(t, out.String())
				require.Contains(t, err.String(), "Usage: loadtest")
				require.Equal(t, c.args == nil, strings.Contains(err.String(), "--profile=DIR"), "the full usage needs an empty command line")
			}
		})
	}
}

// TestEmptyVariables: empty variables set no flags.
func TestEmptyVariables(t *testing.T) {
	for _, name := range []string{"WORLDD_BOTS", "WORLDD_DURATION", "WORLDD_FAIL", "WORLDD_ADMIN"} {
		t.Setenv(name, "")
	}
	var out, err bytes.Buffer
	require.Equal(t, exitError, Main(t.Context(), bots.Player(), []string{"--addr=" + nobody, "--insecure-dev"}, &out, &err), "%s", err.String())
	require.Contains(t, err.String(), "no bot can join")
}

// TestPageThatCannotBe: an unwritable page fails before the run.
func TestPageThatCannotBe(t *testing.T) {
	var out, err bytes.Buffer
	status := Main(t.Context(), bots.Player(), []string{"--addr=127.0.0.1:1", "--insecure-dev", "--html", filepath.Join(t.TempDir(), "no", "page")}, &out, &err)
	require.Equal(t, exitError, status)
	require.Empty(t, out.String())
	require.Regexp(t, `^loadtest: cannot write the page: .*\n$`, err.String())
}

// TestPageOfNoRun: a run that cannot begin keeps an earlier page, and leaves no empty one.
func TestPageOfNoRun(t *testing.T) {
	dir := t.TempDir()
	earlier, page := filepath.Join(dir, "earlier"), filepath.Join(dir, "page")
	require.NoError(t, os.WriteFile(earlier, []byte("kept"), 0o600))
	for _, name := range []string{earlier, page} {
		var out, err bytes.Buffer
		require.Equal(t, exitError, Main(t.Context(), bots.Player(), []string{"--addr=" + nobody, "--insecure-dev", "--html", name}, &out, &err))
		require.Contains(t, err.String(), "no bot can join")
	}
	kept := must.Get(os.ReadFile(earlier))
	require.Equal(t, "kept", string(kept))
	require.NoFileExists(t, page)
}

// TestProfilesThatCannotBe: an unwritable profile directory fails before the run.
func TestProfilesThatCannotBe(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	var out, err bytes.Buffer
	status := Main(t.Context(), bots.Player(), []string{"--addr=127.0.0.1:1", "--insecure-dev", "--admin=127.0.0.1:1", "--profile", taken}, &out, &err)
	require.Equal(t, exitError, status)
	require.Empty(t, out.String())
	require.Regexp(t, `^loadtest: cannot write the profiles: .*\n$`, err.String())
}

// TestNobodyThere: without a server the output is one clear line and no result.
func TestNobodyThere(t *testing.T) {
	silent := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))
	defer silent.Close()
	for _, addr := range []string{silent.LocalAddr().String(), nobody} {
		var out, err bytes.Buffer
		require.Equal(t, exitError, Main(t.Context(), bots.Player(), []string{"--addr=" + addr, "--insecure-dev", "--json"}, &out, &err))
		require.Empty(t, out.String())
		require.Equal(t, 1, strings.Count(err.String(), "\n"), "%s", err.String())
		require.Contains(t, err.String(), addr)
	}
}

// TestNobodyToProfile: a run that fails at once ends at once, even with --profile.
func TestNobodyToProfile(t *testing.T) {
	late, over := 0, make(chan struct{})
	other := must.Get(url.Parse(operator(t, durations(), &late).base))
	others := httputil.NewSingleHostReverseProxy(other)
	port := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/debug/pprof/") {
			others.ServeHTTP(w, r)
			return
		}
		select { // blocks until released
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(port.Close)
	t.Cleanup(func() { close(over) })
	var out, live bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- Main(t.Context(), bots.Player(), []string{
			"--addr=" + nobody, "--insecure-dev", "--bots=1", "--admin", port.URL, "--profile", filepath.Join(t.TempDir(), "profiles"),
		}, &out, &live)
	}()
	select {
	case status := <-ended:
		require.Equal(t, exitError, status)
		require.Equal(t, 1, strings.Count(live.String(), "\n"), "%s", live.String())
		require.Contains(t, live.String(), "no bot can join")
	case <-time.After(3 * time.Minute):
		require.Fail(t, "it waits for the profile of a run that there is not")
	}
}

// watched reports when given words are written.
type watched struct {
	io.Writer
	words string
	seen  func()
}

func (w watched) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.words) {
		w.seen()
	}
	return w.Writer.Write(p)
}

// TestAgainstServe runs as an operator would: worldd serve in one process, loadtest in another.
func TestAgainstServe(t *testing.T) {
	shorttest.Skip(t, "builds worldd")
	worldd := filepath.Join(t.TempDir(), "worldd")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", worldd, "../../cmd/worldd").CombinedOutput()
	require.NoError(t, err, "%s", built)
	serve := exec.CommandContext(t.Context(), worldd, "serve", "--listen=127.0.0.1:0", "--world=calm")
	stdout := must.Get(serve.StdoutPipe())
	var log bytes.Buffer
	serve.Stderr = &log
	require.NoError(t, serve.Start())
	lines := bufio.NewReader(stdout)
	first := must.Get(lines.ReadString('\n'))
	found := regexp.MustCompile(`on (127\.0\.0\.1:\d+), fingerprint ([0-9a-f]{64})\n$`).FindStringSubmatch(first)
	require.Len(t, found, 3, "%s", first)

	var out, live bytes.Buffer
	// until ends a run when its live table shows the words. All bots are connected by then. If a busy server does not answer the first
	// one in time, another run begins.
	until := func(words string, args ...string) (status int) {
		for range 5 {
			out.Reset()
			live.Reset()
			ctx, enough := context.WithCancel(t.Context())
			status = Main(ctx, bots.Player(), append([]string{"--duration=10m"}, args...), &out, watched{&live, words, enough})
			enough()
			if !strings.Contains(live.String(), "no bot can join") {
				break
			}
		}
		return status
	}
	status := until(" 3/3 ", "--addr", found[1], "--fingerprint", found[2], "--bots=3", "--json")
	require.Equal(t, exitOK, status, "%s", live.String())
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "%s", out.String())
	var report map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.EqualValues(t, 3, report["connected"])
	require.Nil(t, report["tick"])
	require.Nil(t, report["world"])
	require.Equal(t, true, report["interrupted"])
	require.Contains(t, live.String(), "✓ no handle lied")

	status = until(" 2/2 ", "--addr", found[1], "--insecure-dev", "--bots=2")
	require.Equal(t, exitOK, status, "%s", live.String())
	require.Contains(t, out.String(), "✓ every bot connected")

	status = until(" 1/1 ", "--addr", found[1], "--insecure-dev", "--bots=1", "--fail=latency_p99_ms>1e9")
	require.Equal(t, exitError, status, "it did not run to its end")
	require.Contains(t, live.String(), "interrupted: --fail")

	status = until("to its end", "--addr", found[1], "--insecure-dev", "--bots=1", "--duration=4s", "--profile", t.TempDir(), "--admin", operator(t, durations(), new(int)).base)
	require.Equal(t, exitError, status, "one profile is missing")
	require.Contains(t, live.String(), "/debug/pprof/goroutine")
	require.Contains(t, out.String(), "✓ every bot connected", "the run's results are kept")

	require.NoError(t, serve.Process.Signal(os.Interrupt))
	rest := new(strings.Builder)
	must.Get(lines.WriteTo(rest))
	require.NoError(t, serve.Wait(), "%s", log.String())
	require.Contains(t, rest.String(), "7 joined")
}
