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
	// Roam: all bots join, move, probe, and poke entities with commands.
	Roam Scenario = "roam"
	// Churn: as Roam, but each bot leaves after 5 to 15 s and immediately returns as a new
	// user.
	Churn Scenario = "churn"
	// JoinStorm: a fifth of the bots roam. 5 s after the ramp all others join at once. The
	// report shows the effect on the first fifth.
	JoinStorm Scenario = "join-storm"
	// Hostile: every other bot attacks, in rotation: with garbage, with forged handles and a
	// flood, by never reading, with half-open handshakes, and with a flood of renames and
	// malformed commands. The rest roam, and the report covers only them.
	Hostile Scenario = "hostile"
	// Restless: as Roam, in curves: each bot changes its input for every tick.
	Restless Scenario = "restless"
	// Combat: as Roam, and each bot predicts its avatar, shoots at others as it draws them, and
	// launches missiles with provisional handles. It checks every answer, also against what it
	// drew.
	Combat Scenario = "combat"
)

// Scenarios returns all scenarios.
func Scenarios() []Scenario {
	return []Scenario{Idle, Roam, Churn, JoinStorm, Hostile, Restless, Combat}
}

func (s Scenario) validate() error {
	if slices.Contains(Scenarios(), s) {
		return nil
	}
	var names []string
	for _, known := range Scenarios() {
		names = append(names, string(known))
	}
	hint := ""
	if near := spelling.Nearest(string(s), names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return fmt.Errorf("bot: scenario %q%s, want one of %s", string(s), hint, strings.Join(names, ", "))
}

// turnPerStep returns how far a bot turns with every input, in radians.
func (s Scenario) turnPerStep() float64 {
	if s == Restless {
		return restlessCurve
	}
	return 0
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
