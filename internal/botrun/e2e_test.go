//go:build !faults

package botrun_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
)

// TestBotsFindNoConfusion runs everything over real sockets, in a world at rest and in one that
// constantly reuses slots.
func TestBotsFindNoConfusion(t *testing.T) {
	for _, world := range []string{"calm", "storm"} {
		t.Run(world, func(t *testing.T) {
			h := host(t, world)
			ctx, enough := context.WithCancel(t.Context())
			seen := 0
			report := must.Get(botrun.Run(ctx, botrun.Config{
				Addr: h.addr, Fingerprint: h.fingerprint, Bots: 5, Duration: patience, Seed: 3, Player: bots.Player(),
			}, func(p *botrun.Progress) {
				seen++
				require.Equal(t, 5, p.Bots)
				a := p.Handles
				all := min(a.Live, a.Pending, a.CommandsExecuted, a.CommandsRejected, p.Motion.Audits) > 0 && p.Game["renames"] > 0 && (world == "calm" || a.Stale > 0 && p.Game["causes"] > 0)
				if seen >= 3 && p.Connected == 5 && all {
					enough()
				}
			}))
			require.True(t, report.Passed(), "%+v", report)
			require.Equal(t, 5, report.Connected)
			require.Empty(t, report.Confusions)
			require.Empty(t, report.Failures)
			require.Nil(t, report.Tick)
			require.Nil(t, report.World)

			n := report.Net
			require.NotZero(t, n.SnapshotsReceived)
			require.LessOrEqual(t, n.SnapshotsReceived, n.SnapshotsExpected)
			require.NotNil(t, n.DeliveredRatio)
			require.NotNil(t, n.P50Ms)
			require.LessOrEqual(t, *n.P50Ms, *n.P99Ms)
			require.Positive(t, n.BytesPerClientS)
			require.Positive(t, n.RowsPerClientS)
			m := report.Motion
			require.NotNil(t, m)
			require.Positive(t, m.CleanBodies)
			require.Positive(t, m.OwedPerClientS, "pokes disturb")
			require.Zero(t, m.Faults, "%v", report.Divergences)
			require.Empty(t, report.Divergences)
			require.Zero(t, h.server.Report().Sessions.PredictionFaults)

			a := report.Handles
			require.Equal(t, a.Probes, a.Live+a.Hidden+a.Pending+a.Stale)
			require.NotZero(t, a.Live)
			require.NotZero(t, a.Pending)
			require.NotZero(t, a.CommandsExecuted)
			require.NotZero(t, a.CommandsRejected)
			require.GreaterOrEqual(t, a.CommandsSent, a.CommandsExecuted+a.CommandsRejected)
			require.NotZero(t, report.Game["reliable_events"])
			require.NotZero(t, report.Game["unreliable_events"])
			require.GreaterOrEqual(t, report.Game["names"], 5.0)
			require.NotZero(t, h.pokes.Load())
			require.Zero(t, h.mistaken.Load(), "the server knows what was poked by another identity")
			if world == "storm" {
				require.NotZero(t, a.Stale)
			}
		})
	}
}

// TestInterrupted: a run whose context ends returns a report.
func TestInterrupted(t *testing.T) {
	h := host(t, "calm")
	ctx, cancel := context.WithCancel(t.Context())
	report := must.Get(botrun.Run(ctx, botrun.Config{Addr: h.addr, InsecureDev: true, Bots: 3, Duration: time.Hour, Player: bots.Player()}, func(p *botrun.Progress) {
		if p.Connected == p.Bots {
			cancel()
		}
	}))
	require.True(t, report.Interrupted)
	require.True(t, report.Passed(), "%+v", report)
}

// TestLinkIsReplaced: a cut link is no failure; sessions resume, and remembered handles
// stay valid (B6).
func TestLinkIsReplaced(t *testing.T) {
	lost := 0
	report := play(t, botrun.Config{ // a bot notices after 4 s of silence, and longer if it is short of time
		Bots: 3, Scenario: bot.Roam, Link: botrun.Link{CutAt: 4 * time.Second, CutFor: 9 * time.Second},
	}, func(_ *hosted, p *botrun.Progress) bool {
		lost = max(lost, p.Lost)
		return p.ElapsedS > 13 && lost > 0 && p.Lost == 0
	})
	o := report.Outages
	require.EqualValues(t, 3, o.Lost)
	require.EqualValues(t, 3, o.Resumed)
	require.GreaterOrEqual(t, *o.P50Ms, 4000.0)
}

// TestServerIsFull: refused bots have failed, the others continue.
func TestServerIsFull(t *testing.T) {
	h := hostWith(t, "calm", func(f *scenes.File) { f.Limits.MaxPlayers = 4 })
	ctx, cancel := context.WithCancel(t.Context())
	report := must.Get(botrun.Run(ctx, botrun.Config{Addr: h.addr, InsecureDev: true, Bots: 6, Duration: patience, Player: bots.Player()}, func(p *botrun.Progress) {
		if p.Connected+p.Failed == p.Bots {
			cancel()
		}
	}))
	require.False(t, report.Passed())
	require.Equal(t, 4, report.Connected)
	require.Equal(t, 2, report.Failed)
	require.Len(t, report.Failures, 2)
	require.Contains(t, report.Failures[0].Why, wire.ServerFull.String())
	require.Zero(t, report.Handles.Confusions)
}

// TestRefusals: the first bot's refusal is Run's error.
func TestRefusals(t *testing.T) {
	h := host(t, "calm")
	for _, c := range []struct {
		name   string
		config botrun.Config
		want   string
	}{
		{"unverified", botrun.Config{Addr: h.addr}, "certificate"},
		{"another fingerprint", botrun.Config{Addr: h.addr, Fingerprint: "00" + h.fingerprint[2:]}, "fingerprint"},
		{"no address", botrun.Config{Addr: "here"}, "want host:port"},
		{"everything", botrun.Config{Addr: h.addr, Bots: -1, Duration: -1, AreaMetres: -1}, "area"},
		{"both", botrun.Config{Addr: h.addr, Fingerprint: h.fingerprint, InsecureDev: true}, "one of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report, err := botrun.Run(t.Context(), c.config, nil)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, report)
		})
	}
}
