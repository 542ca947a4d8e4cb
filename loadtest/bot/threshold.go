package bot

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/worldd/worldd/internal/spelling"
)

// Threshold is a failure condition, such as `latency_p99_ms>50`: the run fails if it holds.
type Threshold struct {
	Metric string // name that occurs once in the report's JSON
	Op     string // one of comparisons
	Limit  float64
}

// comparisons lists two-character operators first: they share prefixes with the others.
var comparisons = []string{">=", "<=", ">", "<"}

// ParseThreshold reads a Threshold. An unknown metric is an error.
func ParseThreshold(text string) (Threshold, error) {
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
		known := slices.Sorted(maps.Keys(metricsOf(measuredReport())))
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

// Undecided reports whether a run with thresholds was interrupted, by a CI's timeout for
// example. Such a run has failed.
func (r *Report) Undecided(thresholds []Threshold) bool { return r.Interrupted && len(thresholds) > 0 }

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

// measuredReport returns a report in which everything was measured.
func measuredReport() *Report {
	v := 0.0
	l := Latency{&v, &v, &v, &v, &v}
	input := InputLatency{&v, &v, &v, &v}
	return &Report{
		Motion: &Motion{}, Tick: &Tick{}, Cost: &Cost{}, World: &World{}, Net: Net{DeliveredRatio: &v, Latency: l}, Input: input,
		Joins: Joins{P50Ms: &v, P99Ms: &v, MaxMs: &v}, Outages: Outages{P50Ms: &v, P99Ms: &v, MaxMs: &v}, Storm: &Storm{DeliveredRatio: &v, AllInS: &v}, Attacks: &Attacks{}, Combat: &Fight{P50Mm: &v, P99Mm: &v, MaxMm: &v},
	}
}

// Check is one requirement of a run, as text.
type Check struct {
	Passed bool
	What   string
	Found  string
}

// Passed reports whether a run meets all Checks.
func (r *Report) Passed(thresholds []Threshold) bool {
	return !slices.ContainsFunc(r.Checks(thresholds), func(c Check) bool { return !c.Passed })
}

// Checks returns every run's requirements (see OK), then its thresholds. If bots simulate, the
// requirements include prediction_faults being 0.
func (r *Report) Checks(thresholds []Threshold) []Check {
	h := r.Handles
	all := []Check{
		{r.Connected == r.Bots, "every bot connected", fmt.Sprintf("%s of %s", groupDigits(r.Connected), groupDigits(r.Bots))},
		{r.Failed == 0, "no bot failed", groupDigits(r.Failed) + " failed"},
		{h.Confusions == 0, "no handle lied", fmt.Sprintf("%s confusions in %s probes, %s commands and %s events",
			groupDigits(h.Confusions), groupDigits(h.Probes), groupDigits(h.CommandsSent), groupDigits(r.Heard.Reliable+r.Heard.Unreliable))},
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
	if r.Undecided(thresholds) {
		all = append(all, Check{false, "run to its end", "interrupted: the limits could not be evaluated"})
	}
	return all
}
