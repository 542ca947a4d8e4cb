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
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// liveOptions are the options of test/browser/live.ts.
type liveOptions struct {
	URL     string   `json:"url"`
	Hashes  []string `json:"hashes"`
	Seconds int      `json:"seconds"`

	address, fingerprint string // of the server; pages do not need them
}

// liveReport is the report of test/browser/live.ts.
type liveReport struct {
	testimony
	Confusions []string
	Newest     int // number of the newest snapshot
	Foretold   struct {
		Equal, Agreed, Corrected, Missed int
		Different                        []string
	}
	Refused            []string
	Frames, Moved      int
	Answered           string
	Entities, Resolved int
	Computed           int
	Simulate           bool
	Steered            struct{ From, To float64 }
	Seen               struct{ Enters, Leaves, Destroys, Updates, Diverged int }
	Stats              struct{ Snapshots, Duplicates, Held, Overflowed, Unreadable, Faults, Rows, Enters int }
	Motion             struct{ Audited, Faults, Steps, Overruns int }
	States             []string
	Input, Tick        int
}

// serve runs worldd with flags until the end of t.
func serve(t *testing.T, flags ...string) liveOptions {
	binary := filepath.Join(t.TempDir(), "worldd")
	build := exec.Command("go", "build", "-o", binary, "./cmd/worldd")
	build.Dir = repository
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	command := exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0", "--web"}, flags...)...)
	printed, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	defer time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() }).Stop() // so that a line that does not come ends the test
	var o liveOptions
	first := regexp.MustCompile(`on (\S+), fingerprint ([0-9a-f]{64})`)
	line := regexp.MustCompile(`port (\d+), path (\S+), certificate ([0-9a-f]{64})`)
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		if m := first.FindStringSubmatch(lines.Text()); m != nil {
			o.address, o.fingerprint = m[1], m[2]
		}
		if m := line.FindStringSubmatch(lines.Text()); m != nil {
			o.URL, o.Hashes = "https://127.0.0.1:"+m[1]+m[2], []string{m[3]}
			return o
		}
	}
	t.Fatal("worldd serve printed no line for browsers")
	return liveOptions{}
}

// crowdedStorm writes the world storm with players close together, and returns the file's name.
func crowdedStorm(t *testing.T) string {
	storm, err := os.ReadFile(filepath.Join(repository, "internal/scenes/worlds/storm.yaml"))
	require.NoError(t, err)
	const apart, near = "{min: [-90, 0.9, -60], max: [90, 0.9, 60]}", "{min: [-12, 0.9, -12], max: [12, 0.9, 12]}"
	require.Equal(t, 1, strings.Count(string(storm), apart))
	name := filepath.Join(t.TempDir(), "storm.yaml")
	require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(storm), apart, near, 1)), 0o600))
	return name
}

// TestLive plays at least 30 seconds of the storm in all browsers at once, together with Go clients,
// which must see the same world.
func TestLive(t *testing.T) {
	t.Parallel() // it mostly waits
	files := fstest.MapFS{"index.html": {Data: page("live.js")}, "live.js": {Data: testPage(t, "live")}}
	options := serve(t, "--world", crowdedStorm(t))
	options.Seconds = 30
	text, err := json.Marshal(options)
	require.NoError(t, err)
	files["live.json"] = &fstest.MapFile{Data: text}
	end := together(t, options)
	var pages sync.Map // testimonies of pages, by browser
	t.Run("play", func(t *testing.T) {
		browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
			t.Parallel()
			report := b.Open(t, browsertest.NewSite(t, http.FileServerFS(files)), "/index.html").Next()
			var r liveReport
			require.NoError(t, json.Unmarshal(report, &r))
			pages.Store(b.Name, r.testimony)
			check(t, r)
		})
	})
	own := end()
	pages.Range(func(name, page any) bool {
		t.Run("compare/"+name.(string), func(t *testing.T) { compare(t, page.(testimony), own) })
		return true
	})
}

// check checks the report of a page.
func check(t *testing.T, r liveReport) {
	t.Logf("%d frames, %d of %d snapshots, %d entities, at most %d computed; %+v, %+v", r.Frames, r.Stats.Snapshots, r.Newest, r.Entities, r.Computed, r.Stats, r.Motion)
	require.Len(t, r.Refused, 2)
	require.Contains(t, r.Refused[0], "certificate hash")
	require.Contains(t, r.Refused[1], "64 hexadecimal digits")
	require.Equal(t, []string{"joined"}, r.States)
	require.Empty(t, r.Confusions)
	t.Logf("predicted: %+v", r.Foretold)
	require.Empty(t, r.Foretold.Different)
	require.Greater(t, r.Foretold.Equal, 100, "ticks of the exact avatar predicted to the bit")
	require.Zero(t, r.Stats.Faults)
	require.Zero(t, r.Stats.Unreadable)
	require.Zero(t, r.Stats.Overflowed)
	require.Zero(t, r.Seen.Diverged)
	require.Zero(t, r.Motion.Faults)
	require.Greater(t, r.Stats.Snapshots, 300)
	require.Greater(t, r.Stats.Snapshots, r.Newest/2, "a busy browser may lose datagrams")
	require.Greater(t, r.Entities, 10)
	require.Equal(t, r.Entities, r.Resolved)
	require.Greater(t, r.Moved, r.Frames/2)
	require.Equal(t, "ok", r.Answered)
	require.NotZero(t, r.Input)
	require.True(t, r.Simulate)
	require.Greater(t, r.Computed, 100)
	require.Greater(t, r.Motion.Audited, 10)
	require.Zero(t, r.Motion.Overruns)
}
