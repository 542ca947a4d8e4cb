package page

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/atomicfile"
	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/printable"
)

//go:embed page.html
var source string

// About holds data that a page shows besides the report.
type About struct {
	Addr       string
	Link       botrun.Link
	Began      time.Time
	Thresholds []botrun.Threshold
}

// Write writes the page of a report.
func Write(w io.Writer, r *botrun.Report, about About) error {
	t, err := template.New("page").Parse(source)
	if err != nil {
		return fmt.Errorf("page: broken template: %w", err)
	}
	var text strings.Builder
	err = t.Execute(&text, view{Report: r, About: about, Checks: r.Checks(about.Thresholds...), Figures: figures(r), Charts: charts(r, about.Thresholds)})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, printable.Lines(text.String()))
	return err
}

// File is the file of a page. A nil File writes nothing.
type File struct {
	name  string
	empty bool // Create made it, and Finish has not written it yet
}

// Create opens a page's file before the run, so that an unwritable name fails early. An existing
// file keeps its content until Finish. An empty name returns a nil File and no error.
func Create(name string) (*File, error) {
	if name == "" {
		return nil, nil
	}
	_, missing := os.Stat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the page: %w", err)
	}
	return &File{name, missing != nil}, nil
}

// Finish writes a report's page. If it fails, an existing file keeps its content.
func (f *File) Finish(r *botrun.Report, about About) error {
	if f == nil {
		return nil
	}
	var text bytes.Buffer
	if err := Write(&text, r, about); err != nil {
		return err
	}
	if err := atomicfile.Write(f.name, text.Bytes(), 0o666); err != nil {
		return fmt.Errorf("cannot write the page: %w", err)
	}
	f.empty = false
	return nil
}

// Discard removes the file if the run ended without a report.
func (f *File) Discard() {
	if f != nil && f.empty {
		_ = os.Remove(f.name) // the run's error says more
	}
}

// view is the template's data.
type view struct {
	Report  *botrun.Report
	About   About
	Checks  []botrun.Check
	Figures []figure
	Charts  []chart
}

// Passed reports whether the run passed.
func (v view) Passed() bool { return v.Report.Passed(v.About.Thresholds...) }

// Began formats the start of the run.
func (v view) Began() string { return v.About.Began.Format("2006-01-02 15:04:05 MST") }

// figure is one of the headline numbers.
type figure struct{ Name, Value string }

func figures(r *botrun.Report) []figure {
	var all []figure
	add := func(name string, v *float64, format string) {
		if v != nil {
			all = append(all, figure{name, fmt.Sprintf(format, *v)})
		}
	}
	n := r.Net
	if t := r.Tick; t != nil {
		all = append(all, figure{"tick p50 / p99 / max", fmt.Sprintf("%.2f / %.2f / %.2f ms", t.P50Ms, t.P99Ms, t.MaxMs)})
		all = append(all, figure{"late ticks", fmt.Sprintf("%d of %d", t.Late, t.Count)})
	}
	if l := n.Latency; l.MaxMs != nil {
		all = append(all, figure{"latency p50 / p99 / max", fmt.Sprintf("%.2f / %.2f / %.1f ms", *l.P50Ms, *l.P99Ms, *l.MaxMs)})
	}
	if i := r.Input; i.MaxMs != nil {
		all = append(all, figure{"input to drawn p50 / p99 / max", fmt.Sprintf("%.0f / %.0f / %.0f ms", *i.P50Ms, *i.P99Ms, *i.MaxMs)})
	}
	if n.DeliveredRatio != nil {
		all = append(all, figure{"snapshots", fmt.Sprintf("%d of %d (%.3f %%)", n.SnapshotsReceived, n.SnapshotsExpected, 100**n.DeliveredRatio)})
	}
	if c := r.Cost; c != nil {
		all = append(all, figure{"server CPU a snapshot", fmt.Sprintf("%.1f µs (%.2f cores)", c.CPUMicrosPerSnapshot, c.Cores)})
	}
	all = append(all, figure{"download a client", fmt.Sprintf("%.1f kB/s", n.BytesPerClientS/1000)})
	add("join p99", r.Joins.P99Ms, "%.0f ms")
	if s := r.Storm; s != nil {
		add("storm: all in after", s.AllInS, "%.2f s")
		add("storm: witnesses' snapshots", s.DeliveredRatio, "%.5f")
	}
	return all
}

// largestCounters returns the names of the game's largest counters, as many as a chart has colours.
func largestCounters(r *botrun.Report) []string {
	if len(r.Series) == 0 {
		return nil
	}
	last := r.Series[len(r.Series)-1].Game
	names := slices.SortedFunc(maps.Keys(last), func(a, b string) int {
		return cmp.Or(cmp.Compare(last[b], last[a]), strings.Compare(a, b))
	})
	return names[:min(len(palette), len(names))]
}

// plotOf returns the title of the plot that shows a metric, and by how much a value is multiplied for the plot's unit.
func plotOf(metric string) (title string, unit float64) {
	switch metric {
	case "tick_p99_ms":
		return "Tick", 1
	case "latency_p50_ms", "latency_p99_ms":
		return "Latency", 1
	case "bytes_per_client_s":
		return "Download a client", 1e-3
	case "delivered_ratio":
		return "Snapshots delivered", 100
	case "failed":
		return "Bots", 1
	}
	return "", 0
}

// charts returns the plots of a run, leaving out unmeasured quantities.
func charts(r *botrun.Report, thresholds []botrun.Threshold) []chart {
	over := func(name string, of func(i int) float64) line {
		l := line{Name: name}
		for i, p := range r.Series {
			l.X = append(l.X, p.ElapsedS)
			l.Y = append(l.Y, of(i))
		}
		return l
	}
	ms := func(of func(botrun.Latency) *float64) func(int) float64 {
		return func(i int) float64 { return orGap(of(r.Series[i].Net.Latency)) }
	}
	server := func(of func(*botrun.ServerNow) float64) func(int) float64 {
		return func(i int) float64 {
			if s := r.Series[i].Server; s != nil {
				return of(s)
			}
			return math.NaN()
		}
	}
	rate := func(of func(botrun.Progress) float64) func(int) float64 {
		return func(i int) float64 {
			if i == 0 {
				return math.NaN()
			}
			now, before := r.Series[i], r.Series[i-1]
			return (of(now) - of(before)) / (now.ElapsedS - before.ElapsedS)
		}
	}
	counted := chart{Title: "Counted by bots", Unit: "a second"}
	for _, name := range largestCounters(r) {
		counted.Lines = append(counted.Lines, over(name, rate(func(p botrun.Progress) float64 { return p.Game[name] })))
	}
	all := []chart{
		{Title: "Tick", Unit: "ms", Lines: []line{
			over("mean of the second", server(func(s *botrun.ServerNow) float64 { return s.TickMeanMs })),
			over("p99 so far", server(func(s *botrun.ServerNow) float64 { return s.TickP99Ms })),
		}},
		{Title: "Latency", Unit: "ms", Lines: []line{
			over("p50", ms(func(l botrun.Latency) *float64 { return l.P50Ms })),
			over("p99", ms(func(l botrun.Latency) *float64 { return l.P99Ms })),
		}},
		{Title: "Download a client", Unit: "kB/s", Lines: []line{over("stream and datagrams", func(i int) float64 { return r.Series[i].Net.BytesPerClientS / 1000 })}},
		{Title: "Snapshots delivered", Unit: "%", Lines: []line{over("of those expected", func(i int) float64 { return 100 * orGap(r.Series[i].Net.DeliveredRatio) })}},
		{Title: "Bots", Lines: []line{
			over("connected", func(i int) float64 { return float64(r.Series[i].Connected) }),
			over("failed", func(i int) float64 { return float64(r.Series[i].Failed) }),
		}},
		{Title: "Verdicts", Unit: "a second", Lines: []line{
			over("live", rate(func(p botrun.Progress) float64 { return float64(p.Handles.Live) })),
			over("hidden", rate(func(p botrun.Progress) float64 { return float64(p.Handles.Hidden) })),
			over("pending", rate(func(p botrun.Progress) float64 { return float64(p.Handles.Pending) })),
			over("stale", rate(func(p botrun.Progress) float64 { return float64(p.Handles.Stale) })),
		}},
		counted,
		{Title: "Entities", Lines: []line{
			over("awake", server(func(s *botrun.ServerNow) float64 { return float64(s.Awake) })),
			over("asleep", server(func(s *botrun.ServerNow) float64 { return float64(s.Asleep) })),
		}},
	}
	shown := all[:0]
	for _, c := range all {
		if c.empty() {
			continue
		}
		for _, t := range thresholds {
			if title, unit := plotOf(t.Metric); title == c.Title {
				c.Limits = append(c.Limits, limit{t.String(), t.Limit * unit})
			}
		}
		shown = append(shown, c)
	}
	return shown
}

func orGap(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
