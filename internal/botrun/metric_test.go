package botrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/bot"
)

// countingPlayer counts goals in all scenarios, and boos and the noise in one.
func countingPlayer() *bot.Player {
	return &bot.Player{
		Scenarios: []bot.Scenario{"riot"},
		Metrics:   []bot.Metric{{Name: "goals"}, {Name: "boos", Scenario: "riot"}, {Name: "noise", Unit: "db", Scenario: "riot"}},
	}
}

// countedReport returns the numbers of a run in which two bots counted and sampled.
func countedReport(s bot.Scenario) (*Report, Progress) {
	c := Config{Player: countingPlayer(), Scenario: s, Bots: 2}.withDefaults()
	r := &run{config: c, sampler: newSampler(measuredBy(c.Player, s)), outcomes: make([]outcome, c.Bots)}
	for i := range c.Bots {
		b := newBot(i, c)
		seat := bot.Seat{Recorder: &b.core}
		seat.Count("goals", 2)
		seat.Count("boos", 1)
		seat.Count("unheard of", 1)
		seat.Sample("noise", 80+float64(i))
		b.publishCounters(time.Now(), false)
		r.bots = append(r.bots, b)
	}
	p := r.sampler.takeSample(time.Second, r.bots, false)
	return r.newReport(false), p
}

// TestMetrics: reports have the metrics of their scenario, and bots of games without metrics none.
func TestMetrics(t *testing.T) {
	report, p := countedReport(bot.Roam)
	require.Equal(t, map[string]float64{"goals": 4}, report.Game)
	require.Equal(t, report.Game, p.Game)

	report, p = countedReport("riot")
	require.Equal(t, map[string]float64{"goals": 4, "boos": 2}, p.Game)
	require.InDelta(t, 4, report.Game["goals"], 0)
	require.InDelta(t, 80, report.Game["noise_p50_db"], 0.1)
	require.InDelta(t, 81, report.Game["noise_max_db"], 0.1)

	require.Nil(t, gameReport(nil, newCounts(nil), nil))
}

// TestMetricsAreThresholds: by the names that no other number has.
func TestMetricsAreThresholds(t *testing.T) {
	report, _ := countedReport("riot")
	for text, crossed := range map[string]bool{"goals<4": false, "goals>3": true, "noise_max_db>100": false} {
		limit := must.Get(ParseThreshold(text, countingPlayer().Metrics...))
		got, _ := limit.Crossed(report)
		require.Equal(t, crossed, got, text)
	}
	require.ErrorContains(t, must.Fail(ParseThreshold("goal<4", countingPlayer().Metrics...)), "did you mean goals?")
	require.Error(t, must.Fail(ParseThreshold("goals<4")))

	for name, metrics := range map[string][]bot.Metric{
		"probes":          {{Name: "probes"}},
		"twice":           {{Name: "twice"}, {Name: "twice"}},
		"":                {{}},
		"latency_p50_ms":  {{Name: "latency", Unit: "ms"}},
		"noise_p99_again": {{Name: "noise", Unit: "again"}, {Name: "noise_p99_again"}},
	} {
		require.ErrorContains(t, validateMetrics(&bot.Player{Metrics: metrics}), `metric "`+name+`"`, name)
	}
	require.NoError(t, validateMetrics(countingPlayer()))
}

// TestScenariosOfAGame: only its own bots know them.
func TestScenariosOfAGame(t *testing.T) {
	c := Config{Addr: "127.0.0.1:1", InsecureDev: true, Scenario: "riot"}
	require.ErrorContains(t, c.Validate(), `scenario "riot"`)
	c.Player = countingPlayer()
	require.NoError(t, c.Validate())
}
