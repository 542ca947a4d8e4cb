package botrun

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/spelling"
	"github.com/worldd/worldd/loadtest/bot"
)

// scenarios returns the scenarios of all games.
func scenarios() []bot.Scenario {
	return []bot.Scenario{bot.Idle, bot.Roam, bot.Churn, bot.JoinStorm, bot.Hostile, bot.Restless}
}

// validateScenario returns an error unless s is a scenario of all games, or one of this game.
func validateScenario(s bot.Scenario, ofGame []bot.Scenario) error {
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
	if c.Scenario == bot.JoinStorm {
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
	if c.Scenario == bot.JoinStorm {
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
func (c Config) isAttacker(i int) bool { return c.Scenario == bot.Hostile && i%2 == 1 }
