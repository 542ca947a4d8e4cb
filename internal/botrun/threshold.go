package botrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/internal/spelling"
	"github.com/worldd/worldd/loadtest/bot"
)

// Threshold is a failure condition, such as `latency_p99_ms>50`: the run fails if it holds.
type Threshold struct {
	Metric string // name that occurs once in the report's JSON
	Op     string // one of comparisons
	Limit  float64
}

// comparisons lists two-character operators first: they share prefixes with the others.
var comparisons = []string{">=", "<=", ">", "<"}

// ParseThreshold reads a Threshold, also on the metrics of a game. An unknown metric is an error.
func ParseThreshold(text string, ofGame ...bot.Metric) (Threshold, error) {
	for _, op := range comparisons {
		metric, limit, found := strings.Cut(text, op)
		if !found {
			continue
		}
		t := Threshold{Metric: strings.TrimSpace(metric), Op: op}
		var err error
		if t.Limit, err = strconv.ParseFloat(strings.TrimSpace(limit), 64); err != nil || math.IsNaN(t.Limit) {
			return Threshold{}, fmt.Errorf("threshold %q: %q is not a number", text, strings.TrimSpace(limit))
		}
		known := slices.Sorted(maps.Keys(metricsOf(measuredReport(ofGame))))
		if slices.Contains(known, t.Metric) {
			return t, nil
		}
		hint := ""
		if near := spelling.Nearest(t.Metric, known); near != "" {
			hint = fmt.Sprintf(" (did you mean %s?)", near)
		}
		return Threshold{}, fmt.Errorf("threshold %q: there is no metric %q%s: want one of %s", text, t.Metric, hint, strings.Join(known, ", "))
	}
	return Threshold{}, fmt.Errorf("threshold %q: want METRIC>NUMBER, with >, >=, < or <=", text)
}

// String returns the form that ParseThreshold reads.
func (t Threshold) String() string { return fmt.Sprintf("%s%s%v", t.Metric, t.Op, t.Limit) }

// Crossed reports whether t fails the run, and returns the measured value. A metric that was
// not measured is nil and fails the run.
func (t Threshold) Crossed(r *Report) (crossed bool, value *float64) {
	v, ok := metricsOf(r)[t.Metric]
	if !ok {
		return true, nil
	}
	switch t.Op {
	case ">":
		crossed = v > t.Limit
	case ">=":
		crossed = v >= t.Limit
	case "<":
		crossed = v < t.Limit
	case "<=":
		crossed = v <= t.Limit
	}
	return crossed, &v
}

// metricsOf returns every number of a report except the series by its JSON name.
func metricsOf(r *Report) map[string]float64 {
	copied := *r
	copied.Series = nil
	text, err := json.Marshal(copied)
	if err != nil {
		panic("bot: a report has no JSON: " + err.Error()) // numbers and strings only
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic("bot: a report's JSON is none: " + err.Error())
	}
	metrics := map[string]float64{}
	flattenTree(tree, metrics)
	return metrics
}

func flattenTree(tree map[string]any, metrics map[string]float64) {
	for name, value := range tree {
		switch v := value.(type) {
		case float64:
			metrics[name] = v
		case map[string]any:
			if name == "tick" || name == "world" { // their names are too short to stand alone
				for inner, n := range v {
					if n, ok := n.(float64); ok {
						metrics[name+"_"+inner] = n
					}
				}
				continue
			}
			flattenTree(v, metrics)
		}
	}
}

// measuredReport returns a report in which everything was measured, with the metrics of a game.
func measuredReport(ofGame []bot.Metric) *Report {
	v := 0.0
	game := map[string]float64{}
	for _, m := range ofGame {
		for _, name := range m.Names() {
			game[name] = 0
		}
	}
	l := Latency{&v, &v, &v, &v, &v}
	input := InputLatency{&v, &v, &v, &v}
	return &Report{
		Motion: &Motion{}, Tick: &Tick{}, Cost: &Cost{}, World: &World{}, Net: Net{DeliveredRatio: &v, Latency: l}, Input: input,
		Joins: Joins{P50Ms: &v, P99Ms: &v, MaxMs: &v}, Outages: Outages{P50Ms: &v, P99Ms: &v, MaxMs: &v}, Storm: &Storm{DeliveredRatio: &v, AllInS: &v}, Attacks: &Attacks{}, Game: game,
	}
}

// Check is one requirement of a run, as text.
type Check struct {
	Passed bool
	What   string
	Found  string
}

// Passed reports whether a run meets all Checks.
func (r *Report) Passed(thresholds ...Threshold) bool {
	return !slices.ContainsFunc(r.Checks(thresholds...), func(c Check) bool { return !c.Passed })
}

// Checks returns the requirements of every run, then the thresholds: every bot connected, none
// failed, no handle was confused, and no audit of computed bodies failed.
func (r *Report) Checks(thresholds ...Threshold) []Check {
	h := r.Handles
	all := []Check{
		{r.Connected == r.Bots, "every bot connected", fmt.Sprintf("%s of %s", groupDigits(r.Connected), groupDigits(r.Bots))},
		{r.Failed == 0, "no bot failed", groupDigits(r.Failed) + " failed"},
		{h.Confusions == 0, "no handle lied", fmt.Sprintf("%s confusions in %s probes and %s commands",
			groupDigits(h.Confusions), groupDigits(h.Probes), groupDigits(h.CommandsSent))},
	}
	if m := r.Motion; m != nil {
		all = append(all, Check{m.Faults == 0, "no body diverged", fmt.Sprintf("%s faults in %s audits of computed bodies", groupDigits(m.Faults), groupDigits(m.Audits))})
	}
	for _, t := range thresholds {
		crossed, value := t.Crossed(r)
		found := "not measured"
		if value != nil {
			found = fmt.Sprintf("%.6g", *value) // fewer digits could round to the limit
		}
		all = append(all, Check{!crossed, "not " + t.String(), found})
	}
	if r.Interrupted && len(thresholds) > 0 {
		all = append(all, Check{false, "run to its end", "interrupted: the limits could not be evaluated"})
	}
	return all
}
