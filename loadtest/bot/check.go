package bot

import (
	"fmt"
	"slices"
)

// Check is one thing that a run must get right, in words for people.
type Check struct {
	Passed bool
	What   string
	Found  string
}

// Passed says whether a run got everything right that Checks lists.
func (r *Report) Passed(thresholds []Threshold) bool {
	return !slices.ContainsFunc(r.Checks(thresholds), func(c Check) bool { return !c.Passed })
}

// Checks are what every run must get right (see OK), and then its limits.
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
			found = fmt.Sprintf("%.6g", *value) // fewer digits may be those of the limit
		}
		all = append(all, Check{!crossed, "not " + t.String(), found})
	}
	if r.Undecided(thresholds) {
		all = append(all, Check{false, "run to its end", "interrupted: nobody knows what the limits ask"})
	}
	return all
}
