package bot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/spelling"
)

// Scenario is the behaviour of a run's bots.
type Scenario string

const (
	// Idle: all bots join, stand still, and probe. It measures the base cost of a session.
	Idle Scenario = "idle"
	// Roam: all bots join, play as their Behavior says, and probe.
	Roam Scenario = "roam"
	// Churn: as Roam, but each bot leaves after 5 to 15 s and immediately returns as a new
	// user.
	Churn Scenario = "churn"
	// JoinStorm: a fifth of the bots roam. 5 s after the ramp all others join at once. The
	// report shows the effect on the first fifth.
	JoinStorm Scenario = "join-storm"
	// Hostile: every other bot attacks, in rotation with garbage, with forged handles
	// and a flood, by never reading, with half-open handshakes, and with a flood of valid and
	// malformed commands. The rest roam, and the report covers only them.
	Hostile Scenario = "hostile"
	// Restless: Roam with 60 frames a second, in which behaviors change their inputs.
	Restless Scenario = "restless"
)

// scenarios returns the scenarios of all games.
func scenarios() []Scenario {
	return []Scenario{Idle, Roam, Churn, JoinStorm, Hostile, Restless}
}

// validate returns an error unless s is a scenario of all games, or one of this game.
func (s Scenario) validate(ofGame []Scenario) error {
	all := append(scenarios(), ofGame...)
	if slices.Contains(all, s) {
		return nil
	}
	var names []string
	for _, known := range all {
		names = append(names, string(known))
	}
	hint := ""
	if near := spelling.Nearest(string(s), names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fmt.Errorf("bot: scenario %q%s, want one of %s", string(s), hint, strings.Join(names, ", "))
}

// turnToDial returns when bot i dials, counted from the start of the run.
func (c Config) turnToDial(i int) time.Duration {
	first := c.Bots
	if c.Scenario == JoinStorm {
		first = c.witnessCount()
		if i >= first {
			return c.stormStart()
		}
	}
	return c.Ramp * time.Duration(i) / time.Duration(first)
}

// RampEnd returns when the last bot dials, counted from the start of the run.
func (c Config) RampEnd() time.Duration {
	c = c.withDefaults()
	if c.Scenario == JoinStorm {
		return c.stormStart()
	}
	return c.Ramp
}

// witnessCount is the number of bots that join before a join storm.
func (c Config) witnessCount() int { return max(c.Bots/5, 1) }

// stormStart returns when a join storm starts, counted from the start of the run.
func (c Config) stormStart() time.Duration { return c.Ramp + stormAfter }

// isAttacker reports whether bot i is an attacker. The first bot is not: it tests whether the
// server answers.
func (c Config) isAttacker(i int) bool { return c.Scenario == Hostile && i%2 == 1 }
