//go:build faults

package botrun_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/loadtest/bot"
)

// roughLink reorders and loses packets, so that snapshots arrive ahead of their structure.
var roughLink = botrun.Link{Loss: 0.05, Jitter: 20 * time.Millisecond, Reorder: 0.2}

// lateLink delays snapshots until some of their entities are gone: clients cannot read such
// snapshots.
var lateLink = botrun.Link{Loss: 0.2, Jitter: 150 * time.Millisecond, Reorder: 0.3}

// cutLink breaks every connection once, for so long that sessions resume.
var cutLink = botrun.Link{CutAt: 4 * time.Second, CutFor: 6 * time.Second}

// TestFaultIsReported runs faulty clients and servers. The bots must notice each fault, by the
// named invariants.
func TestFaultIsReported(t *testing.T) {
	for _, c := range []struct {
		fault, world string
		bots         int
		scenario     bot.Scenario
		link         botrun.Link
		broken       string // invariants; a confusion must name one
	}{
		{"IgnoreGeneration", "calm", 3, bot.Roam, botrun.Link{}, "B3 B4"},
		{"IgnoreGeneration", "storm", 3, bot.Roam, botrun.Link{}, "B1 B2 B3 B4"},
		{"FormerTexts", "calm", 8, bot.Churn, botrun.Link{}, "B7"},
		{"LoseEvents", "storm", 6, bot.Roam, botrun.Link{}, "B8 B10"},
		{"EventBeforeEnter", "storm", 12, bot.Churn, botrun.Link{}, "B8"},
		{"EventAgain", "storm", 6, bot.Roam, cutLink, "B8"},
		{"UntaughtEvent", "storm", 20, bot.Roam, botrun.Link{}, "B5"},
		{"RepeatEvents", "storm", 6, bot.Roam, botrun.Link{}, "B9"},
		{"EventsOfHeld", "storm", 12, bot.Roam, roughLink, "B9"},
		{"EventsOfUnread", "storm", 32, bot.Roam, lateLink, "B9"},
		{"ForgetCause", "storm", 6, bot.Roam, botrun.Link{}, "B10"},
		{"WrongCause", "storm", 6, bot.Roam, botrun.Link{}, "B10"},
		{"FormerAnswer", "storm", 6, bot.Roam, botrun.Link{}, "B11"},
	} {
		t.Run(fmt.Sprintf("%s/%s", c.fault, c.world), func(t *testing.T) {
			fault.Inject(c.fault)
			defer fault.Inject("")
			h := host(t, c.world)
			ctx, enough := context.WithCancel(t.Context())
			defer enough()
			report := must.Get(botrun.Run(ctx, botrun.Config{
				Addr: h.addr, Fingerprint: h.fingerprint, Bots: c.bots, Scenario: c.scenario, Link: c.link, Duration: patience, Player: bots.Player(),
				Ordinary: c.fault == "EventsOfUnread", // clients that simulate receive too few rows to misread
			}, func(p *botrun.Progress) {
				if p.Handles.Confusions > 0 {
					enough()
				}
			}))
			require.NotZero(t, report.Handles.Confusions)
			require.NotEmpty(t, report.Confusions)
			require.False(t, report.Passed())
			require.True(t, slices.ContainsFunc(report.Confusions, func(found bot.Confusion) bool {
				invariant, _, _ := strings.Cut(found.What, ":")
				return slices.Contains(strings.Fields(c.broken), invariant)
			}), "%v", report.Confusions) // other confusions may follow from it
			for _, found := range report.Confusions[:min(4, len(report.Confusions))] {
				t.Log(found)
			}
		})
	}
}
