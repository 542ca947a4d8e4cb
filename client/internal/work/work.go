// Package work bounds what a server may make a client compute.
package work

import (
	"fmt"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// Max is the work that a server may cause at once: what 250 bodies and their effects
	// take for some ten seconds of missed ticks.
	Max = 50 * time.Millisecond
	// share is the inverse share of passing time that work may take.
	share = 4
	// maxDebt is the work beyond Max that ends the session: work that cannot wait, of
	// messages on the stream.
	maxDebt = 500 * time.Millisecond
	// MaxTick is the work of one tick above which its bodies are not computed at all.
	MaxTick = 25 * time.Millisecond
)

// Budget bounds the time of the work that a server causes: Max at once, and a share of
// passing time. Work counts by estimates, so that the same bytes and times have the same result
// everywhere. The zero value is a full budget.
type Budget struct {
	debt time.Duration // work done and not paid for by time
	at   time.Duration // when time last paid
}

// Pay pays for work by the time that has passed until now.
func (b *Budget) Pay(now time.Duration) {
	if passed := now - b.at; passed > 0 {
		b.debt = max(b.debt-passed/share, 0)
	}
	b.at = now
}

// Spend counts work that takes ns nanoseconds.
func (b *Budget) Spend(ns int) { b.debt += time.Duration(ns) }

// Debt returns the work that time has not paid for.
func (b *Budget) Debt() time.Duration { return b.debt }

// Spent reports whether deferrable work should wait.
func (b *Budget) Spent() bool { return b.debt >= Max }

// Overdrawn reports whether work in progress must be given up.
func (b *Budget) Overdrawn() bool { return b.debt >= Max+MaxTick }

// Check returns an error if the server has caused too much work that cannot be deferred.
func (b *Budget) Check() error {
	if b.debt <= Max+maxDebt {
		return nil
	}
	return &wire.Error{Code: wire.TooMuch, Detail: fmt.Sprintf(
		"the server causes more work than a client may do: %v at once, or %d %% of the time; it is broken or hostile", Max+maxDebt, 100/share)}
}
