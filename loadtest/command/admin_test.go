package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
)

// operator serves an admin port that reports the given tick durations.
func operator(t *testing.T, durations *hdrhistogram.Histogram, late *int) *admin {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			fmt.Fprintf(w, `# TYPE worldd_tick_overruns_total counter
worldd_tick_overruns_total{room_kind="lobby"} %d
worldd_tick_overruns_total{room_kind="yard"} 0
# TYPE worldd_entities gauge
worldd_entities{room_kind="lobby",state="awake"} 10
worldd_entities{room_kind="lobby",state="asleep"} 30
worldd_entities{room_kind="yard",state="awake"} 2
worldd_entities{room_kind="yard",state="asleep"} 4
`, *late)
		case "/ticks":
			text, err := durations.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(text)
		case "/debug/pprof/profile":
			fmt.Fprint(w, r.URL.RawQuery)
		case "/debug/pprof/heap":
			fmt.Fprint(w, "heap")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return must.Get(newAdmin(s.URL+"/ignored", ""))
}

// Ticks before the run do not count: a server may have run for long.
func TestAdminNow(t *testing.T) {
	took, late := durations(), 3
	require.NoError(t, took.RecordValues(900_000, 50), "a slow start")
	a := operator(t, took, &late)
	began := time.Now()
	now := must.Get(a.serverNow(t.Context()))
	require.Equal(t, botrun.ServerNow{Awake: 12, Asleep: 34}, *now, "there is nothing to compare with")
	require.Nil(t, a.ticks.newReport())

	require.NoError(t, took.RecordValues(2000, 58))
	require.NoError(t, took.RecordValues(4000, 2))
	late = 5
	a.ticks.first = a.ticks.first.Add(-time.Second)
	now = must.Get(a.serverNow(t.Context()))
	require.InEpsilon(t, (58*2.0+2*4)/60, now.TickMeanMs, 0.001)
	require.InEpsilon(t, 4.0, now.TickP99Ms, 0.001)
	tick := a.ticks.newReport()
	require.LessOrEqual(t, tick.RateHz, 60)
	require.GreaterOrEqual(t, float64(tick.RateHz), 60/(time.Second+time.Since(began)).Seconds()-1)
	require.Equal(t, [2]uint64{60, 2}, [2]uint64{tick.Count, tick.Late})
	require.InEpsilon(t, 2.0, tick.P50Ms, 0.001)
	require.InEpsilon(t, 4.0, tick.MaxMs, 0.001)

	require.NoError(t, took.RecordValues(3000, 2))
	now = must.Get(a.serverNow(t.Context()))
	require.InEpsilon(t, 3.0, now.TickMeanMs, 0.001, "since the last answer")
	require.Equal(t, uint64(62), a.ticks.newReport().Count)
}

// A server that was killed and restarted counts from zero.
func TestAdminOfARestart(t *testing.T) {
	took, late := durations(), 3
	a := operator(t, took, &late)
	must.Get(a.serverNow(t.Context()))
	require.NoError(t, took.RecordValues(2000, 60))
	must.Get(a.serverNow(t.Context()))
	took.Reset()
	require.NoError(t, took.RecordValues(7000, 10))
	late = 1
	must.Get(a.serverNow(t.Context()))
	tick := a.ticks.newReport()
	require.Equal(t, [2]uint64{70, 1}, [2]uint64{tick.Count, tick.Late})
	require.InEpsilon(t, 2.0, tick.P50Ms, 0.001)
	require.InEpsilon(t, 7.0, tick.MaxMs, 0.001)
}

// TestAdminTellsNoTicks: an answer that is not a histogram is an error that names it.
func TestAdminTellsNoTicks(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ticks" {
			fmt.Fprint(w, "ok")
		}
	}))
	t.Cleanup(s.Close)
	a := must.Get(newAdmin(s.URL, ""))
	require.ErrorContains(t, must.Fail(a.serverNow(t.Context())), "cannot read the admin port's ticks: not in HdrHistogram's format")
}

func durations() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

func TestAdminProfile(t *testing.T) {
	a := operator(t, durations(), new(int))
	dir := t.TempDir()
	require.ErrorContains(t, a.saveProfiles(t.Context(), dir, 8*time.Second), "/debug/pprof/goroutine", "one that fails is named, the rest is there")
	require.Equal(t, "seconds=6", string(must.Get(os.ReadFile(filepath.Join(dir, "cpu.pprof")))))
	heap := must.Get(os.ReadFile(filepath.Join(dir, "heap.pprof")))
	require.Equal(t, "heap", string(heap))
}

// A profile whose transfer breaks off leaves the profile of an earlier run.
func TestAdminProfileBreaksOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(s.Close)
	a := must.Get(newAdmin(s.URL, ""))
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	require.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
	require.Error(t, a.saveFile(t.Context(), "/debug/pprof/profile", path))
	require.Equal(t, "before", string(must.Get(os.ReadFile(path))))
}

func TestAdminAway(t *testing.T) {
	a := must.Get(newAdmin("127.0.0.1:1", ""))
	require.ErrorContains(t, must.Fail(a.serverNow(t.Context())), "does not answer")
}

// The token of the file is sent with every request.
func TestAdminToken(t *testing.T) {
	var sent []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600))
	a := must.Get(newAdmin(s.URL, file))
	must.Get(a.getMetrics(t.Context()))
	require.NoError(t, a.saveFile(t.Context(), "/debug/pprof/heap", filepath.Join(t.TempDir(), "heap")))
	require.Equal(t, []string{"Bearer 0123456789abcdef", "Bearer 0123456789abcdef"}, sent)
	require.ErrorContains(t, must.Fail(newAdmin(s.URL, file+".missing")), "--admin-token")
}
