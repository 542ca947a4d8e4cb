package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
)

// A server is behind after three bad seconds in a row, until five good seconds in a row.
func TestPunctuality(t *testing.T) {
	const good, fair, bad = 1, 3, 5 // of ten
	for name, c := range map[string]struct {
		seconds []int
		behind  string // after each of them
	}{
		"in time":            {[]int{0, 0, 0, 0, 0}, "-----"},
		"somewhat late":      {[]int{fair, fair, fair, fair, fair}, "-----"},
		"late":               {[]int{bad, bad, bad, bad}, "--bb"},
		"late, all of it":    {[]int{10, 10, 10}, "--b"},
		"interrupted":        {[]int{bad, bad, fair, bad, bad, good, bad, bad, bad}, "--------b"},
		"recovers":           {[]int{bad, bad, bad, good, good, good, good, good, good}, "--bbbbb--"},
		"recovers with time": {[]int{bad, bad, bad, good, good, fair, good, good, good, good, good}, "--bbbbbbbb-"},
		"again":              {[]int{bad, bad, bad, 0, 0, 0, 0, 0, bad, bad, bad}, "--bbbbb---b"},
	} {
		t.Run(name, func(t *testing.T) {
			p := punctuality{window: 10}
			var behind strings.Builder
			for _, late := range c.seconds {
				was, changes := p.behind, 0
				for i := range 10 {
					if p.countTick(i < late, 0) {
						changes++
					}
				}
				require.Equal(t, was != p.behind, changes == 1)
				behind.WriteByte("-b"[btoi(p.behind)])
			}
			require.Equal(t, c.behind, behind.String())
		})
	}
	t.Run("one long stall", func(t *testing.T) {
		p := punctuality{window: 10}
		require.False(t, p.countTick(true, 1_000_000))
		for range 50 {
			require.False(t, p.countTick(false, 0))
		}
		require.False(t, p.behind)
	})
	t.Run("a tick that takes a minute, every time", func(t *testing.T) {
		p := punctuality{window: 10}
		require.Equal(t, []bool{false, false, true}, []bool{p.countTick(true, 600), p.countTick(true, 600), p.countTick(true, 600)})
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A server whose ticks take too long is healthy but not ready, until the ticks recover.
func TestReadinessFollowsTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := 40 * testInterval
		l := newTestLoop(t, func(uint64) time.Duration { return work })
		logs, seen := observer.New(zap.InfoLevel)
		l.log = zap.New(logs)
		port := must.Get(admin.Handler(admin.Config{
			Timings: admin.NewTimings(), Report: l.report, Draining: l.core.Draining, Cordoned: l.core.Cordoned, MaxSessions: l.core.MaxSessions,
		}))
		status := func(path string) (int, string) {
			w := httptest.NewRecorder()
			port.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code, w.Body.String()
		}
		runFor(t, l, 20*time.Second)
		r := l.report().Tick
		require.True(t, r.Behind)
		require.InDelta(t, 20*50, r.Count+r.Missed, 50, "all due ticks, except for the last")
		code, body := status("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, body, "behind")
		code, _ = status("/healthz")
		require.Equal(t, http.StatusOK, code, "it ticks, so a restart would not help")

		work = testInterval / 2
		runFor(t, l, 20*time.Second)
		code, body = status("/readyz")
		require.Equal(t, http.StatusOK, code, body)
		require.Equal(t, 2, seen.Len())
	})
}
