//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/browsertest"
)

// sleepReport is a report of test/browser/sleep.ts.
type sleepReport struct {
	About, Error  string
	States        []string
	Verdicts      map[string]string // of each handle that was ever shown
	Confusions    []string
	Tick          uint32
	StructureTick uint32 // the page may know deaths up to this tick
	Snapshots     int
	Faults        int
	Audited       int
}

const (
	// hiddenFor exceeds 15 s, the time for which a server waits for a silent client.
	hiddenFor = 16 * time.Second
	// Chromium ends the connections of a page that it freezes.
	frozenFor = 5 * time.Second
)

// TestSleep hides a page, and then freezes it. A hidden page keeps its session. A frozen page
// has a session again when it wakes, and no handle ever names another entity.
func TestSleep(t *testing.T) {
	t.Parallel()
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		if !b.Drives() {
			return
		}
		options := serve(t, "--world", crowdedStorm(t))
		text, err := json.Marshal(options)
		require.NoError(t, err)
		end := together(t, options)
		site := browsertest.NewSite(t, http.FileServerFS(fstest.MapFS{
			"index.html": {Data: page("sleep.js")}, "sleep.js": {Data: testPage(t, "sleep")}, "live.json": {Data: text},
		}))
		p, d := b.Drive(t, site, "/index.html")
		next := func(about string) (r sleepReport) {
			require.NoError(t, json.Unmarshal(p.Next(), &r))
			t.Logf("%s: %v, %d handles, tick %d, %d snapshots, %d audited", r.About, r.States, len(r.Verdicts), r.Tick, r.Snapshots, r.Audited)
			require.Equal(t, about, r.About)
			require.Empty(t, r.Confusions)
			require.Zero(t, r.Faults)
			return r
		}
		next("joined")
		d.Hide()
		hidden := next("hidden")
		time.Sleep(hiddenFor)
		d.Show()
		shown := next("visible")
		require.Equal(t, []string{"joined"}, shown.States)
		require.Greater(t, shown.Snapshots-hidden.Snapshots, int(hiddenFor.Seconds())*4, "of 20 a second on an idle machine")
		d.Hide()
		next("hidden")
		d.Freeze(true)
		time.Sleep(frozenFor)
		d.Freeze(false)
		awake := next("awake")
		require.Contains(t, []string{"joined", "resumed"}, awake.States[len(awake.States)-1])
		require.Greater(t, awake.Tick, shown.Tick+uint32(30*frozenFor.Seconds()), "of 60 a second on an idle machine")
		renewed := strings.Count(strings.Join(awake.States, " "), "joined") > 1
		for _, own := range end() {
			agree(t, awake, own, renewed)
		}
	})
}

// agree requires that a page's verdicts agree with those that a client which stayed awake
// gives.
func agree(t *testing.T, r sleepReport, own testimony, renewed bool) {
	graves := 0
	for _, v := range own.Views {
		if v.Tick > r.Tick {
			break
		}
		graves = 0
		for i, c := range []byte(v.Verdicts) {
			verdict, shown := r.Verdicts[own.Held[i]]
			if !shown || c != 'S' {
				continue
			}
			graves++
			if renewed && verdict == "pending" {
				continue // a new session knows only what the server sends it
			}
			require.Equal(t, "stale", verdict, "%s, which died by tick %d", own.Held[i], v.Tick)
		}
	}
	require.Greater(t, graves, 10)
	for _, v := range own.Views {
		for i, c := range []byte(v.Verdicts) {
			if v.Tick >= r.StructureTick && c == 'L' {
				require.NotEqual(t, "stale", r.Verdicts[own.Held[i]], "%s, which lives in tick %d", own.Held[i], v.Tick)
			}
		}
	}
}
