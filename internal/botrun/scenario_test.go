//go:build !faults

package botrun_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// play runs a scenario in a world that constantly reuses slots, until over returns true.
func play(t *testing.T, c botrun.Config, over func(*hosted, *botrun.Progress) bool) *botrun.Report {
	t.Helper()
	shorttest.Skip(t, "takes seconds")
	h := host(t, "storm")
	c.Addr, c.Fingerprint, c.Seed, c.Duration, c.Player = h.addr, h.fingerprint, 5, patience, bots.Player()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	report := must.Get(botrun.Run(ctx, c, func(p *botrun.Progress) {
		if over(h, p) {
			end()
		}
	}))
	require.True(t, report.Passed(), "%+v", report)
	require.True(t, report.Interrupted)
	require.Equal(t, c.Scenario, report.Scenario)
	require.NotZero(t, report.Net.SnapshotsReceived)
	return report
}

// TestIdle: idle bots send no commands, but probe handles.
func TestIdle(t *testing.T) {
	report := play(t, botrun.Config{Scenario: bot.Idle, Bots: 2}, func(_ *hosted, p *botrun.Progress) bool {
		return p.Connected == 2
	})
	require.Zero(t, report.Handles.CommandsSent)
	require.NotZero(t, report.Handles.Probes)
	require.Equal(t, uint64(2), report.Joins.Count)
}

// TestChurn: bots return, and their counters continue.
func TestChurn(t *testing.T) {
	report := play(t, botrun.Config{Scenario: bot.Churn, Bots: 4}, func(h *hosted, p *botrun.Progress) bool {
		return h.server.Report().Sessions.Joined >= 6 && p.Connected == 4
	})
	require.Greater(t, report.Joins.Count, uint64(4))
	require.Equal(t, 4, report.Connected)
	var probes uint64
	for _, p := range report.Series {
		require.GreaterOrEqual(t, p.Handles.Probes, probes, "counters fall")
		probes = p.Handles.Probes
	}
	var audits uint64
	for _, p := range report.Series {
		require.GreaterOrEqual(t, p.Motion.Audits, audits, "counters fall")
		audits = p.Motion.Audits
	}
}

// TestJoinStorm: the report separates earlier bots from the storm's.
func TestJoinStorm(t *testing.T) {
	var together uint64 // snapshots since all bots joined
	report := play(t, botrun.Config{Scenario: bot.JoinStorm, Bots: 15, Ramp: 100 * time.Millisecond}, func(_ *hosted, p *botrun.Progress) bool {
		if p.Connected == 15 {
			together += p.Net.SnapshotsReceived
		}
		return together > 300
	})
	require.NotNil(t, report.Storm)
	require.Equal(t, 3, report.Storm.Witnesses)
	require.NotNil(t, report.Storm.AllInS)
	require.NotZero(t, report.Storm.SnapshotsReceived)
	require.Less(t, report.Storm.SnapshotsReceived, report.Net.SnapshotsReceived)
	for _, p := range report.Series {
		if p.ElapsedS < 3 { // the storm starts after five seconds
			require.LessOrEqual(t, p.Connected, 3, "too early")
		}
	}
}

// TestOrdinary: bots that do not simulate receive rows instead.
func TestOrdinary(t *testing.T) {
	report := play(t, botrun.Config{Bots: 2, Scenario: bot.Roam, Ordinary: true}, func(_ *hosted, p *botrun.Progress) bool {
		return p.Connected == 2 && p.Net.RowsPerClientS > 100
	})
	require.Nil(t, report.Motion)
	for _, p := range report.Series {
		require.Nil(t, p.Motion)
	}
}

// TestRestless: bots send another input in nearly every tick.
func TestRestless(t *testing.T) {
	report := play(t, botrun.Config{Bots: 2, Scenario: bot.Restless}, func(h *hosted, p *botrun.Progress) bool {
		return p.Connected == 2 && h.server.Report().Sessions.Inputs > 200 && p.Motion.Audits > 20
	})
	require.Zero(t, report.Motion.Faults)
}

// TestHostile: attackers are disconnected, and other bots are not affected.
func TestHostile(t *testing.T) {
	// If there are more ends than attackers, an attacker has reconnected and been disconnected
	// again.
	report := play(t, botrun.Config{Scenario: bot.Hostile, Bots: 20}, func(h *hosted, p *botrun.Progress) bool {
		s := h.server.Report().Sessions
		return p.Connected == 10 && s.Closed[wire.BadMessage] > 10 && s.Rejections[wire.RateLimited] > 1000 && p.Game["renames"] > 10
	})
	require.Equal(t, 10, report.Bots)
	a := report.Attacks
	require.NotNil(t, a)
	require.Equal(t, 10, a.Attackers)
	for _, code := range []wire.Code{wire.RateLimited, wire.BadArguments, wire.UnknownCommand} {
		require.NotZero(t, a.Refused[code.String()], "%v of %v", code, a.Refused)
	}
	require.NotZero(t, a.HalfOpen)
	require.NotZero(t, a.Closed[wire.BadMessage.String()], "%v", a.Closed)
}

// TestBadLink: snapshots are lost, but no handle is confused.
func TestBadLink(t *testing.T) {
	var expected uint64
	report := play(t, botrun.Config{Bots: 3, Scenario: bot.Roam, Link: botrun.Link{
		Loss: 0.1, Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond, Reorder: 0.05,
	}}, func(_ *hosted, p *botrun.Progress) bool {
		expected += p.Net.SnapshotsExpected
		return p.Connected == 3 && expected > 300 // of fewer, chance loses too few once in two thousand runs
	})
	require.Less(t, *report.Net.DeliveredRatio, 0.97)
	require.Greater(t, *report.Net.P50Ms, 20.0)
}
