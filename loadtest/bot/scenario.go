package bot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/spelling"
)

// Scenario is what the bots of a run do.
type Scenario string

const (
	// Idle: all join, stand still, and ask what became of handles. What a
	// session costs that does nothing.
	Idle Scenario = "idle"
	// Roam: all join, walk about, ask, and poke entities with commands.
	Roam Scenario = "roam"
	// Churn: as Roam, but every bot leaves after 5 to 15 s, and comes back at
	// once as somebody else.
	Churn Scenario = "churn"
	// JoinStorm: a fifth of the bots roam; 5 s after the ramp all others come
	// at once. The report says what the first fifth saw of it.
	JoinStorm Scenario = "join-storm"
	// Hostile: every other bot attacks, by turns with garbage, with forged
	// handles and a flood, as a reader that never reads, and with handshakes
	// left half open. The rest roam, and the report is about these.
	Hostile Scenario = "hostile"
)

// Scenarios are all there are.
func Scenarios() []Scenario { return []Scenario{Idle, Roam, Churn, JoinStorm, Hostile} }

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
	return fmt.Errorf("bot: scenario %q%s: want one of %s", string(s), hint, strings.Join(names, ", "))
}

// turn is when bot i dials, from the beginning of the run.
func (c Config) turn(i int) time.Duration {
	first := c.Bots
	if c.Scenario == JoinStorm {
		first = c.witnesses()
		if i >= first {
			return c.storm()
		}
	}
	return c.Ramp * time.Duration(i) / time.Duration(first)
}

// RampEnd is when the last bot of c has its turn to dial, from the beginning of
// the run.
func (c Config) RampEnd() time.Duration {
	c = c.withDefaults()
	if c.Scenario == JoinStorm {
		return c.storm()
	}
	return c.Ramp
}

// witnesses is how many bots are there before a join storm.
func (c Config) witnesses() int { return max(c.Bots/5, 1) }

// storm is when a join storm breaks loose, from the beginning of the run.
func (c Config) storm() time.Duration { return c.Ramp + stormAfter }

// attacks says whether bot i is an attacker. The first bot is not: it is the
// one that says whether there is a server at all.
func (c Config) attacks(i int) bool { return c.Scenario == Hostile && i%2 == 1 }
