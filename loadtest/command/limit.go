package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/printable"
)

const (
	// limitPrecision is the inverse of the share of the limit to which the search narrows it.
	limitPrecision = 16
	// mostSteps bounds a search, together with Flags.Duration: a step that fails is played twice.
	mostSteps = 40
	// Thresholds without --fail, relative to the first step: the smallest share of its snapshots, and the
	// longest additional latency.
	leastSnapshots  = 0.9
	mostAddedMillis = 100
	// settle is the time between two steps, in which the server ends the sessions of the first.
	settle = 2 * time.Second
)

// search finds the largest number of bots that a server bears: it doubles the number until a step fails, and bisects.
type search struct {
	first, most int
	held        int // the most bots of a step that passed
	failed      int // the fewest bots of a step that failed; 0: none
}

// next returns the bots of the next step. over reports that there is none.
func (s *search) next() (bots int, over bool) {
	switch {
	case s.failed == 0 && s.held == 0:
		return min(s.first, s.most), false
	case s.failed == 0:
		return min(2*s.held, s.most), s.held == s.most
	}
	return (s.held + s.failed) / 2, s.failed-s.held <= max(1, s.held/limitPrecision)
}

// record records whether a step has passed.
func (s *search) record(bots int, passed bool) {
	if passed {
		s.held = bots
	} else {
		s.failed = bots
	}
}

// limitStep is one step of a search.
type limitStep struct {
	Bots    int            `json:"bots"`
	Reasons []string       `json:"reasons"` // why it failed; empty: it passed
	Report  *botrun.Report `json:"report"`
}

// limitReport is the result of a search.
type limitReport struct {
	// Limit is the most bots of a step that passed, and Fails the fewest bots of a step that failed; 0: no step.
	Limit int `json:"limit"`
	Fails int `json:"fails"`
	// Reasons say why the step with Fails bots failed.
	Reasons []string `json:"reasons"`
	// Bots for each core, gigabyte and megabit per second that Limit bots take; nil: not measured.
	PerCore *float64    `json:"per_core"`
	PerGB   *float64    `json:"per_gb"`
	PerMbit *float64    `json:"per_mbit"`
	Steps   []limitStep `json:"steps"`

	resident float64 // of the server before the search; 0: not measured
}

// findLimit searches for the limit of a server by steps that play runs. A step that fails is played again, since other work of the
// machine may have disturbed it: only the second failure counts. shown receives each step.
// resident is the memory of the server before; 0: not measured.
func findLimit(s search, thresholds []botrun.Threshold, resident float64, play func(bots int) (*botrun.Report, error), shown func(limitStep)) (*limitReport, error) {
	found, repeats := &limitReport{resident: resident}, false
	for len(found.Steps) < mostSteps {
		bots, over := s.next()
		if over {
			break
		}
		report, err := play(bots)
		if err != nil {
			return found, err
		}
		if report.Interrupted {
			return found, errors.New("interrupted: the limit is not found")
		}
		report.Series = nil
		if thresholds == nil {
			thresholds = usualThresholds(report)
		}
		step := limitStep{Bots: bots, Reasons: reasonsOf(report, thresholds), Report: report}
		found.Steps = append(found.Steps, step)
		shown(step)
		passed := len(step.Reasons) == 0
		if !passed && !repeats {
			repeats = true
			continue
		}
		repeats = false
		s.record(bots, passed)
		found.record(step)
	}
	found.Limit, found.Fails = s.held, s.failed
	return found, nil
}

// record takes the figures of a step that decides.
func (l *limitReport) record(step limitStep) {
	if len(step.Reasons) > 0 {
		l.Reasons = step.Reasons
		return
	}
	l.PerCore, l.PerGB, l.PerMbit = nil, nil, nil
	r := step.Report
	if r.Net.BytesPerClientS > 0 {
		perMbit := 1e6 / 8 / r.Net.BytesPerClientS
		l.PerMbit = &perMbit
	}
	if c := r.Cost; c != nil && c.Cores > 0 {
		perCore := float64(step.Bots) / c.Cores
		l.PerCore = &perCore
		if grown := float64(c.ResidentBytes) - l.resident; l.resident > 0 && grown > 0 {
			perGB := 1e9 * float64(step.Bots) / grown
			l.PerGB = &perGB
		}
	}
}

// usualThresholds returns the conditions of a search without --fail. The first step gives the latency and the snapshots of a
// server that is not loaded.
func usualThresholds(first *botrun.Report) []botrun.Threshold {
	all := []botrun.Threshold{
		{Metric: "snapshot_hz", Op: "<", Limit: math.Round(10*leastSnapshots*first.Net.SnapshotHz) / 10},
		{Metric: "connections_lost", Op: ">", Limit: 0},
	}
	if p99 := first.Net.P99Ms; p99 != nil {
		all = append(all, botrun.Threshold{Metric: "latency_p99_ms", Op: ">", Limit: math.Round(*p99 + mostAddedMillis)})
	}
	if t := first.Tick; t != nil && t.RateHz > 0 {
		all = append(all, botrun.Threshold{Metric: "tick_p99_ms", Op: ">", Limit: math.Round(1e5/float64(t.RateHz)) / 100})
	}
	return all
}

// reasonsOf returns the checks and thresholds that a step has failed.
func reasonsOf(r *botrun.Report, thresholds []botrun.Threshold) (reasons []string) {
	for _, c := range r.Checks(thresholds...) {
		if !c.Passed {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", strings.TrimPrefix(c.What, "not "), c.Found))
		}
	}
	if len(r.Failures) > 0 {
		reasons = append(reasons, r.Failures[0].String())
	}
	return reasons
}

// runLimit runs a search, and writes its result.
func (f *Flags) runLimit(ctx context.Context, stdout, stderr io.Writer) int {
	table := stdout
	if f.JSON {
		table = stderr
	}
	before := 0.0
	if f.admin != nil {
		if _, err := f.admin.serverNowWithin(ctx, firstAnswer); err != nil {
			fmt.Fprintf(stderr, "%s: %s\n", f.program, printable.Lines(err.Error()))
			return exitError
		}
		before = f.admin.meters.resident
	}
	played := false
	play := func(bots int) (*botrun.Report, error) {
		if played {
			select {
			case <-time.After(settle):
			case <-ctx.Done():
			}
		}
		played = true
		step := *f
		step.Bots = bots
		if f.admin != nil {
			step.admin = &admin{base: f.admin.base, token: f.admin.token}
		}
		return step.playBots(ctx, io.Discard)
	}
	fmt.Fprintf(table, "%8s %9s %9s %9s %7s %9s  %s\n", "bots", "tick p99", "latency", "snapshots", "cores", "resident", "result")
	found, err := findLimit(search{first: f.Bots, most: f.MostBots}, f.thresholds, before, play, func(s limitStep) { writeStep(table, s) })
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", f.program, printable.Lines(err.Error()))
		return exitError
	}
	found.write(table)
	if f.JSON {
		err = printable.WriteJSON(stdout, found, "")
	}
	if err != nil || found.Limit == 0 {
		return exitError
	}
	return exitOK
}

// writeStep writes a step as a row of the table.
func writeStep(w io.Writer, s limitStep) {
	r := s.Report
	number := func(v *float64, format string) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf(format, *v)
	}
	var tick, cores, resident *float64
	if r.Tick != nil {
		tick = &r.Tick.P99Ms
	}
	if r.Cost != nil {
		megabytes := float64(r.Cost.ResidentBytes) / 1e6
		cores, resident = &r.Cost.Cores, &megabytes
	}
	result := "holds"
	if len(s.Reasons) > 0 {
		result = strings.Join(s.Reasons, "; ")
	}
	fmt.Fprintf(w, "%8d %9s %9s %7.1f/s %7s %9s  %s\n", s.Bots, number(tick, "%.2f ms"), number(r.Net.P99Ms, "%.1f ms"),
		r.Net.SnapshotHz, number(cores, "%.2f"), number(resident, "%.0f MB"), result)
}

// write writes the limit and what it takes.
func (l *limitReport) write(w io.Writer) {
	switch {
	case l.Fails == 0:
		fmt.Fprintf(w, "\n  limit      %d bots hold, and more were not tried: raise --most-bots\n", l.Limit)
	case l.Limit == 0:
		fmt.Fprintf(w, "\n  limit      none: %d fails: %s\n", l.Fails, strings.Join(l.Reasons, "; "))
		return
	default:
		fmt.Fprintf(w, "\n  limit      %d bots hold, %d do not: %s\n", l.Limit, l.Fails, strings.Join(l.Reasons, "; "))
	}
	for _, figure := range []struct {
		name  string
		value *float64
		note  string
	}{
		{"a core", l.PerCore, "of the server, on average"},
		{"a GB", l.PerGB, "of what the server's memory has grown by"},
		{"a Mbit/s", l.PerMbit, "to clients, without headers of packets"},
	} {
		if figure.value != nil {
			fmt.Fprintf(w, "  %-10s %.0f bots: %s\n", figure.name, *figure.value, figure.note)
		}
	}
}
