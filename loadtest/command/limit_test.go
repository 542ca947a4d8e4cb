package command

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
)

// modelServer is a server whose ticks and memory grow with its bots.
type modelServer struct {
	rooms     int         // bots that it admits
	disturbed map[int]int // steps to fail by their number of bots, as if the machine were busy
	played    []int
}

// play takes 0.1 ms of a tick and 200 kB of memory for each bot. Above 16 ms it sends fewer snapshots.
func (m *modelServer) play(bots int) (*botrun.Report, error) {
	m.played = append(m.played, bots)
	tick := 0.1 * float64(bots)
	latency := 5.0
	r := &botrun.Report{
		Bots: bots, Connected: min(bots, m.rooms), Failed: max(0, bots-m.rooms),
		Tick: &botrun.Tick{RateHz: 60, P99Ms: tick},
		Net:  botrun.Net{SnapshotHz: 20 * min(1, 16/tick), BytesPerClientS: 5000, Latency: botrun.Latency{P99Ms: &latency}},
		Cost: &botrun.Cost{Cores: tick / 20, ResidentBytes: uint64(100e6 + 200e3*float64(bots))},
	}
	if m.disturbed[bots] > 0 {
		m.disturbed[bots]--
		r.Tick.P99Ms = 500
	}
	return r, nil
}

// TestFindLimit: the limit is found in few steps, with its reason and what it takes.
func TestFindLimit(t *testing.T) {
	for name, c := range map[string]struct {
		server      modelServer
		first, most int
		low, high   int // bounds of the limit
		reason      string
	}{
		"ticks":                {modelServer{rooms: 1000}, 10, 4000, 156, 166, "tick_p99_ms>16.67"},
		"a first step above":   {modelServer{rooms: 1000}, 800, 4000, 156, 166, "tick_p99_ms"},
		"sessions":             {modelServer{rooms: 100}, 10, 4000, 95, 100, "every bot connected"},
		"one session":          {modelServer{rooms: 1}, 50, 4000, 1, 1, "every bot connected"},
		"none":                 {modelServer{rooms: 0}, 50, 4000, 0, 0, "every bot connected"},
		"not reached":          {modelServer{rooms: 1000}, 10, 60, 60, 60, ""},
		"a disturbed step":     {modelServer{rooms: 1000, disturbed: map[int]int{20: 1, 80: 1}}, 10, 4000, 156, 166, "tick_p99_ms"},
		"a step that is twice": {modelServer{rooms: 1000, disturbed: map[int]int{20: 2}}, 10, 4000, 18, 19, "tick_p99_ms>16.67 (500)"},
	} {
		t.Run(name, func(t *testing.T) {
			shown := 0
			found := must.Get(findLimit(search{first: c.first, most: c.most}, nil, 100e6, c.server.play, func(limitStep) { shown++ }))
			require.GreaterOrEqual(t, found.Limit, c.low)
			require.LessOrEqual(t, found.Limit, c.high)
			require.Equal(t, len(c.server.played), shown)
			require.LessOrEqual(t, shown, 25)
			require.Equal(t, c.reason == "", found.Fails == 0)
			if c.reason != "" {
				require.Greater(t, found.Fails, found.Limit)
				require.Contains(t, fmt.Sprint(found.Reasons), c.reason)
			}
			if found.Limit == 0 {
				require.Nil(t, found.PerCore)
				return
			}
			require.InDelta(t, 200, *found.PerCore, 1e-6, "0.005 cores a bot")
			require.InDelta(t, 5000, *found.PerGB, 1e-6)
			require.InDelta(t, 25, *found.PerMbit, 1e-6)
			var text bytes.Buffer
			found.write(&text)
			require.Contains(t, text.String(), fmt.Sprintf("%d bots hold", found.Limit))
			require.Contains(t, text.String(), "a core     200 bots")
		})
	}
}

// TestFindLimitByThresholds: --fail replaces the usual conditions.
func TestFindLimitByThresholds(t *testing.T) {
	server := modelServer{rooms: 1000}
	only := []botrun.Threshold{must.Get(botrun.ParseThreshold("cores>2"))}
	found := must.Get(findLimit(search{first: 50, most: 1000}, only, 0, server.play, func(limitStep) {}))
	require.InDelta(t, 400, found.Limit, 25)
	require.Nil(t, found.PerGB, "the memory before is unknown")
}

// TestFindLimitEnds: an error and an interruption end the search.
func TestFindLimitEnds(t *testing.T) {
	broken := errors.New("no bot can join")
	_, err := findLimit(search{first: 5, most: 10}, nil, 0, func(int) (*botrun.Report, error) { return nil, broken }, func(limitStep) {})
	require.ErrorIs(t, err, broken)
	_, err = findLimit(search{first: 5, most: 10}, nil, 0, func(int) (*botrun.Report, error) { return &botrun.Report{Interrupted: true}, nil }, func(limitStep) {})
	require.ErrorContains(t, err, "interrupted")
}
