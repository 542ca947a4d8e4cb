package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/loadtest/bot"
)

// sample is a report of n seconds that contains a hostile name.
func sample(n int) *botrun.Report {
	r := &botrun.Report{Scenario: bot.Roam, Bots: 3, Connected: 3, DurationS: float64(n), Failures: []botrun.Failure{{Bot: 1, Why: "<script>alert(1)</script>"}}}
	for i := range n {
		p50, p99, ratio := 1+float64(i%3), 5+float64(i%5), 0.999
		r.Series = append(r.Series, botrun.Progress{
			ElapsedS: float64(i + 1), Bots: 3, Connected: min(i, 3),
			Net:     botrun.Net{BytesPerClientS: 35_000, DeliveredRatio: &ratio, Latency: botrun.Latency{P50Ms: &p50, P99Ms: &p99}},
			Handles: botrun.Handles{Live: uint64(100 * i), Stale: uint64(10 * i)},
			Game:    map[string]float64{"names": 3, "shots": float64(30 * i)},
		})
	}
	return r
}

// Texts of a server forge nothing: neither direction nor ends of lines.
func TestPageIsPrintable(t *testing.T) {
	r := sample(3)
	r.Server, r.Failures[0].Why = "v1\u202e\u200b", "\x1b[2J\a\u2066gone"
	text := render(t, r, About{})
	require.Contains(t, text, `(v1\u202e\u200b)`)
	require.Contains(t, text, `\u001b[2J\u0007\u2066gone`)
	require.Equal(t, printable.Lines(text), text)
}

func render(t *testing.T, r *botrun.Report, about About) string {
	var b bytes.Buffer
	require.NoError(t, Write(&b, r, about))
	return b.String()
}

// TestPageSaysTheLink: the page states the link conditions, which comparisons need.
func TestPageSaysTheLink(t *testing.T) {
	const words = "packets each way"
	require.NotContains(t, render(t, sample(10), About{}), words)
	bad := botrun.Link{Loss: 0.05, Delay: 50 * time.Millisecond, Jitter: 10 * time.Millisecond, Reorder: 0.001, CutAt: time.Second, CutFor: 2 * time.Second}
	require.Contains(t, render(t, sample(10), About{Link: bad}), words+": 5 % lost, 50ms to 60ms later, 0.1 % overtaken, cut after 1s for 2s")
	late := botrun.Link{Delay: time.Second}
	require.Contains(t, render(t, sample(10), About{Link: late}), words+": 1s later,")
}

// TestPageIsSelfContained: the page fetches nothing, and untrusted text is escaped.
func TestPageIsSelfContained(t *testing.T) {
	html := render(t, sample(10), About{Addr: "127.0.0.1:1", Began: time.Unix(0, 0).UTC()})
	require.Empty(t, regexp.MustCompile(`(?i)(src|href)\s*=|https?:|url\(|@import`).FindAllString(html, -1))
	require.Equal(t, 1, strings.Count(html, "<script"), "the page's own")
	require.Contains(t, html, "&lt;script&gt;")
	require.Contains(t, html, "1970-01-01 00:00:00 UTC")
	require.Contains(t, html, ">passed<")
}

// TestChecks: a threshold that came true fails the page.
func TestChecks(t *testing.T) {
	ratio := 0.5
	r := sample(3)
	r.Net.DeliveredRatio = &ratio
	limit := must.Get(botrun.ParseThreshold("delivered_ratio<0.9"))
	missing := must.Get(botrun.ParseThreshold("tick_p99_ms>8"))
	html := render(t, r, About{Thresholds: []botrun.Threshold{limit, missing}})
	require.Contains(t, html, ">failed<")
	require.Contains(t, html, "delivered_ratio&lt;0.9")
	require.Contains(t, html, "not measured")

	ratio = 0.89996
	require.Contains(t, render(t, r, About{Thresholds: []botrun.Threshold{limit}}), ">0.89996<", "0.9 is not below 0.9")
}

// TestPageComparesRuns: metrics of both runs, and how their conditions differed.
func TestPageComparesRuns(t *testing.T) {
	r := sample(3)
	require.NotContains(t, render(t, r, About{}), "Compared with")
	before := sample(3)
	before.Bots, before.Net.BytesPerClientS, r.Net.BytesPerClientS = 5, 4000, 3000
	r.Baseline = &botrun.Baseline{Name: "<old>.json", Report: before}
	html := render(t, r, About{})
	require.Contains(t, html, "Compared with &lt;old&gt;.json")
	require.Contains(t, html, "which had 5 bots")
	require.Contains(t, html, "<td>bytes_per_client_s</td><td>4000</td><td>3000</td><td>-25.0 %</td>")
}

// TestLimitsAreDrawn: a threshold is a line in the plot of its metric, in the unit of the plot.
func TestLimitsAreDrawn(t *testing.T) {
	limits := []botrun.Threshold{must.Get(botrun.ParseThreshold("bytes_per_client_s>40000")), must.Get(botrun.ParseThreshold("cores>1"))}
	found := map[string][]limit{}
	for _, c := range charts(sample(5), limits) {
		found[c.Title] = c.Limits
	}
	require.Equal(t, []limit{{"bytes_per_client_s>40000", 40}}, found["Download a client"])
	require.Empty(t, found["Latency"])
}

// TestPageOfHalfARun: the page agrees with the exit status about an interrupted run.
func TestPageOfHalfARun(t *testing.T) {
	r := sample(3)
	r.Interrupted = true
	require.Contains(t, render(t, r, About{}), ">passed<")
	limit := must.Get(botrun.ParseThreshold("confusions>1e9"))
	html := render(t, r, About{Thresholds: []botrun.Threshold{limit}})
	require.Contains(t, html, ">failed<")
	require.Contains(t, html, "run to its end")
}

// TestPageSaysWhatWasLost: reconnected bots are no failure, but the page must mention
// the outage.
func TestPageSaysWhatWasLost(t *testing.T) {
	r := sample(3)
	require.NotContains(t, render(t, r, About{}), "outages")
	r.Outages = botrun.Outages{Lost: 20, Resumed: 17, Anew: 2, NewWorlds: 1, Unanswered: 260}
	require.Contains(t, render(t, r, About{}), "20 connections lost: 17 sessions resumed, 2 anew, 1 in another run of the world; 260 commands without an answer")
}

// TestPageShowsTheGame: what the game's bots count, and nothing of games that count nothing.
func TestPageShowsTheGame(t *testing.T) {
	r := sample(3)
	require.NotContains(t, render(t, r, About{}), "<td>game</td>")
	r.Game = map[string]float64{"reliable_events": 11, "error_p99_mm": 4.25}
	require.Contains(t, render(t, r, About{}), "<td>game</td><td>error_p99_mm 4.25, reliable_events 11</td>")
	r.Series[2].Game = nil
	require.NotContains(t, render(t, r, About{}), "Counted by bots")
}

// TestLargestCounters: as many as a chart has colours.
func TestLargestCounters(t *testing.T) {
	r := &botrun.Report{Series: []botrun.Progress{{Game: map[string]float64{"a": 1, "b": 7, "c": 7, "d": 3, "e": 0, "f": 9}}}}
	require.Equal(t, []string{"f", "b", "c", "d", "a"}, largestCounters(r))
	require.Empty(t, largestCounters(&botrun.Report{}))
}

// TestPageShowsInputLatency: the page shows the input latency next to half of the round trip.
func TestPageShowsInputLatency(t *testing.T) {
	r := sample(3)
	require.NotContains(t, render(t, r, About{}), "input to drawn")
	p50, p90, p99, most := 71.0, 80.0, 91.0, 140.0
	r.Input = botrun.InputLatency{P50Ms: &p50, P90Ms: &p90, P99Ms: &p99, MaxMs: &most}
	require.Contains(t, render(t, r, About{}), "<b>71 / 91 / 140 ms</b><span>input to drawn p50 / p99 / max</span>")
}

// TestChartsOfWhatWasMeasured: unmeasured quantities have no plot.
func TestChartsOfWhatWasMeasured(t *testing.T) {
	names := func(r *botrun.Report) (titles []string) {
		for _, c := range charts(r, nil) {
			titles = append(titles, c.Title)
		}
		return titles
	}
	r := sample(5)
	require.Equal(t, []string{"Latency", "Download a client", "Snapshots delivered", "Bots", "Verdicts", "Counted by bots"}, names(r))
	r.Series[2].Server = &botrun.ServerNow{TickMeanMs: 1}
	require.Contains(t, names(r), "Tick")
	require.Empty(t, names(&botrun.Report{}))
	require.Contains(t, render(t, &botrun.Report{}, About{}), "Load test")
}

// TestSVG: the drawing is XML, stays within its box, and gaps split lines.
func TestSVG(t *testing.T) {
	nan := math.NaN()
	c := chart{Title: "a<b", Unit: "ms", Limits: []limit{{"p99_ms>2e7", 2e7}, {"p99_ms<-1", -1}}, Lines: []line{
		{Name: "one", X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{0, 7.3, nan, 2, 3, nan}},
		{Name: "two", X: []float64{1, 2}, Y: []float64{nan, 1e7}},
	}}
	svg := string(c.SVG())
	decoder := xml.NewDecoder(strings.NewReader(svg))
	pieces, dots := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "polyline":
			pieces++
		case "circle":
			dots++
		}
	}
	require.Equal(t, 2, pieces)
	require.Equal(t, 5, dots)
	require.Equal(t, 1, strings.Count(svg, "fails: p99_ms&gt;2e7"))
	require.Equal(t, 1, strings.Count(svg, `class="limit"`), "a limit below 0 is not in the picture")
	for _, at := range regexp.MustCompile(`c?[xy][12]?="(-?[0-9.]+)"`).FindAllStringSubmatch(svg, -1) {
		require.NotContains(t, at[1], "-", svg)
	}
	require.NotContains(t, svg, "NaN")
}

func TestStepsAreRound(t *testing.T) {
	for span, want := range map[float64]float64{1: 0.5, 4: 1, 7: 2, 35: 10, 100: 50, 0.03: 0.01} {
		require.InDelta(t, want, step(span, 4), want/1e6, "%v", span)
	}
	for v, want := range map[float64]string{0: "0", 0.5: "0.500", 35.04: "35.0", 1234: "1234", 1e7: "1e+07"} {
		require.Equal(t, want, number(v))
	}
}
