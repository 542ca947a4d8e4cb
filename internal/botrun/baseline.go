package botrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Baseline is an earlier run that a report is compared with.
type Baseline struct {
	Name   string // of its file
	Report *Report
}

// ParseBaseline reads the JSON object that `--json` printed.
func ParseBaseline(name string, text []byte) (*Baseline, error) {
	b := &Baseline{name, &Report{}}
	if err := json.Unmarshal(text, b.Report); err != nil {
		return nil, fmt.Errorf("%s is not the --json output of a run: %w", name, err)
	}
	if b.Report.DurationS <= 0 || b.Report.Scenario == "" {
		return nil, fmt.Errorf("%s is not the --json output of a run: %w", name, errors.New("it has no duration_s or no scenario"))
	}
	return b, nil
}

// comparedMetrics are the metrics of a comparison, where both runs measured them. A game's own follow.
var comparedMetrics = [...]string{
	"tick_p99_ms", "tick_late", "cpu_us_per_snapshot", "cores", "resident_bytes", "snapshot_hz", "delivered_ratio",
	"latency_p50_ms", "latency_p99_ms", "input_visible_p99_ms", "bytes_per_client_s", "rows_per_client_s", "join_p99_ms",
	"recovery_p99_ms", "connections_lost", "failed", "confusions",
}

// Change is a metric of both runs.
type Change struct {
	Metric      string
	Before, Now Amount
}

// Amount is a metric's value.
type Amount float64

// String returns the value in six digits, or in whole numbers.
func (a Amount) String() string {
	if a >= 1e6 {
		return groupDigits(uint64(a))
	}
	return fmt.Sprintf("%.6g", float64(a))
}

// Share returns the change relative to the baseline, as text; a dash if that was 0.
func (c Change) Share() string {
	switch {
	case c.Before == c.Now:
		return "="
	case c.Before == 0:
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*float64(c.Now/c.Before-1))
}

// Changes compares the report with its baseline: the metrics that both have.
func (r *Report) Changes() []Change {
	now, before := metricsOf(r), metricsOf(r.Baseline.Report)
	var all []Change
	for _, name := range append(comparedMetrics[:], slices.Sorted(maps.Keys(r.Game))...) {
		a, measured := before[name]
		b, again := now[name]
		if measured && again {
			all = append(all, Change{name, Amount(a), Amount(b)})
		}
	}
	return all
}

// OtherConditions says how the baseline's run differed in what makes figures comparable, or is empty.
func (r *Report) OtherConditions() string {
	var all []string
	differ := func(now, before any, name string) {
		if now != before {
			all = append(all, fmt.Sprintf("%v %s", before, name))
		}
	}
	b := r.Baseline.Report
	differ(r.Bots, b.Bots, "bots")
	differ(r.Scenario, b.Scenario, "(scenario)")
	differ(fmt.Sprintf("%.0f", r.DurationS), fmt.Sprintf("%.0f", b.DurationS), "s")
	differ(r.Seed, b.Seed, "(seed)")
	differ(r.Machine, b.Machine, "(machine)")
	differ(r.Server, b.Server, "(server)")
	return strings.Join(all, ", ")
}
