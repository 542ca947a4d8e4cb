package bot

import (
	"fmt"
	"slices"
)

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

// Checks returns every run's requirements (see OK), then its thresholds.
func (r *Report) Checks(thresholds []Threshold) []Check {
	h := r.Handles
	all := []Check{
		{r.Connected == r.Bots, "every bot connected", fmt.Sprintf("%s of %s", grouped(r.Connected), grouped(r.Bots))},
		{r.Failed == 0, "no bot failed", grouped(r.Failed) + " failed"},
		{h.Confusions == 0, "no handle lied", fmt.Sprintf("%s confusions in %s probes and %s commands",
			grouped(h.Confusions), grouped(h.Probes), grouped(h.CommandsSent))},
	}
	for _, t := range thresholds {
		crossed, value := t.Crossed(r)
		found := "not measured"
		if value != nil {
			found = fmt.Sprintf("%.6g", *value) // fewer digits could equal the limit
		}
		all = append(all, Check{!crossed, "not " + t.String(), found})
	}
	if r.Undecided(thresholds) {
		all = append(all, Check{false, "run to its end", "interrupted: the limits could not be evaluated"})
	}
	return all
}
