package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// operator is an admin port whose server has made that many ticks of 2 ms.
func operator(t *testing.T, ticks *int) *admin {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			fmt.Fprintf(w, `# TYPE worldd_tick_quantile_seconds gauge
worldd_tick_quantile_seconds{quantile="0.99"} 0.0045
worldd_tick_quantile_seconds{quantile="1"} 0.009
# TYPE worldd_tick_duration_seconds histogram
worldd_tick_duration_seconds_sum{phase="all"} %v
worldd_tick_duration_seconds_count{phase="all"} %d
worldd_tick_duration_seconds_sum{phase="step"} 1000
worldd_tick_duration_seconds_count{phase="step"} 1
# TYPE worldd_tick_overruns_total counter
worldd_tick_overruns_total 3
# TYPE worldd_entities gauge
worldd_entities{state="awake"} 12
worldd_entities{state="asleep"} 34
`, 0.002*float64(*ticks), *ticks)
		case "/debug/pprof/profile":
			fmt.Fprint(w, r.URL.RawQuery)
		case "/debug/pprof/heap":
			fmt.Fprint(w, "heap")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	a, err := newAdmin(s.URL + "/ignored")
	require.NoError(t, err)
	return a
}

func TestAdminNow(t *testing.T) {
	ticks := 100
	a := operator(t, &ticks)
	began := time.Now()
	now, err := a.now(t.Context())
	require.NoError(t, err)
	require.Zero(t, now.TickMeanMs, "there is nothing to compare with")
	require.InDelta(t, 4.5, now.TickP99Ms, 1e-9)
	require.Equal(t, [2]int{12, 34}, [2]int{now.Awake, now.Asleep})
	ticks = 160
	a.first.asked = a.first.asked.Add(-time.Second)
	now, err = a.now(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 2, now.TickMeanMs, 1e-9)
	require.LessOrEqual(t, a.tick.RateHz, 60)
	require.GreaterOrEqual(t, float64(a.tick.RateHz), 60/(time.Second+time.Since(began)).Seconds()-1)
	require.Equal(t, uint64(160), a.tick.Count)
	require.Equal(t, uint64(3), a.tick.Late)
	require.InDelta(t, 9, a.tick.MaxMs, 1e-9)
}

func TestAdminProfile(t *testing.T) {
	ticks := 1
	a := operator(t, &ticks)
	dir := filepath.Join(t.TempDir(), "new")
	err := a.profile(t.Context(), dir, 8*time.Second)
	require.ErrorContains(t, err, "/debug/pprof/goroutine", "one that fails is named, the rest is there")
	cpu, err := os.ReadFile(filepath.Join(dir, "cpu.pprof"))
	require.NoError(t, err)
	require.Equal(t, "seconds=6", string(cpu))
	heap, err := os.ReadFile(filepath.Join(dir, "heap.pprof"))
	require.NoError(t, err)
	require.Equal(t, "heap", string(heap))
}

func TestAdminAway(t *testing.T) {
	a, err := newAdmin("127.0.0.1:1")
	require.NoError(t, err)
	_, err = a.now(t.Context())
	require.ErrorContains(t, err, "does not answer")
}
