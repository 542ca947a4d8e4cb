//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// liveOptions tell test/browser/live.ts what to do.
type liveOptions struct {
	URL     string   `json:"url"`
	Hashes  []string `json:"hashes"`
	Seconds int      `json:"seconds"`
}

// liveReport is the report of test/browser/live.ts.
type liveReport struct {
	Refused            []string
	Frames, Moved      int
	Answered           string
	Entities, Resolved int
	Computed           int
	Simulate           bool
	Steered            struct{ From, To float64 }
	Seen               struct{ Enters, Leaves, Destroys, Updates, Diverged int }
	Stats              struct{ Snapshots, Faults, Unreadable, Rows, Enters int }
	Motion             struct{ Audited, Faults, Steps, Overruns int }
	States             []string
	Input, Tick        int
}

// serve runs worldd with the world storm until the end of t.
func serve(t *testing.T) liveOptions {
	binary := filepath.Join(t.TempDir(), "worldd")
	build := exec.Command("go", "build", "-o", binary, "./cmd/worldd")
	build.Dir = repository
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	command := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--web")
	printed, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	line := regexp.MustCompile(`UDP port (\d+), path (\S+), certificate ([0-9a-f]{64})`)
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		if m := line.FindStringSubmatch(lines.Text()); m != nil {
			return liveOptions{URL: "https://127.0.0.1:" + m[1] + m[2], Hashes: []string{m[3]}}
		}
	}
	t.Fatal("worldd serve printed no line for browsers")
	return liveOptions{}
}

// TestLive plays ten seconds of the storm in each browser, computes its bodies and steers.
func TestLive(t *testing.T) {
	files := fstest.MapFS{"index.html": {Data: page("live.js")}, "live.js": {Data: testPage(t, "live")}}
	options := serve(t)
	options.Seconds = 10
	text, err := json.Marshal(options)
	require.NoError(t, err)
	files["live.json"] = &fstest.MapFile{Data: text}
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		report := b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/index.html").Next()
		t.Logf("%s", report)
		var r liveReport
		require.NoError(t, json.Unmarshal(report, &r))
		require.Len(t, r.Refused, 2)
		require.Contains(t, r.Refused[0], "certificate hash")
		require.Contains(t, r.Refused[1], "64 hexadecimal digits")
		require.Equal(t, []string{"joined"}, r.States)
		require.Zero(t, r.Stats.Faults)
		require.Zero(t, r.Seen.Diverged)
		require.Zero(t, r.Motion.Faults)
		require.Greater(t, r.Stats.Snapshots, 100)
		require.Greater(t, r.Entities, 10)
		require.Equal(t, r.Entities, r.Resolved)
		require.Greater(t, r.Moved, r.Frames/2)
		require.Equal(t, "ok", r.Answered)
		require.NotZero(t, r.Input)
		require.True(t, r.Simulate)
		require.Greater(t, r.Computed, 100)
		require.Greater(t, r.Motion.Audited, 10)
		require.Zero(t, r.Motion.Overruns)
	})
}
