// Package work bounds the work that a server may cause a client.
package work

import (
	"fmt"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// Max is the work that a server may cause at once: about ten seconds of missed ticks of
	// 250 bodies and their effects.
	Max = 50 * time.Millisecond
	// share is the inverse share of passing time that work may take.
	share = 4
	// maxDebt is the work beyond Max at which the session ends. Only stream messages cause
	// more than Max: their work cannot wait.
	maxDebt = 500 * time.Millisecond
	// MaxTick is the largest work of one tick: a tick above it is not computed.
	MaxTick = 25 * time.Millisecond
)

// Budget bounds the time of the work that a server causes: Max at once, and a share of passing
// time. It counts estimates instead of measured times, so that the same bytes and arrival times
// have the same result everywhere. The zero value is a full budget.
type Budget struct {
	debt time.Duration // work done that passing time has not paid for yet
	at   time.Duration // when time last paid
}

// Pay reduces the debt by the share of the time that has passed until now.
func (b *Budget) Pay(now time.Duration) {
	if passed := now - b.at; passed > 0 {
		b.debt = max(b.debt-passed/share, 0)
	}
	b.at = now
}

// Spend counts work that takes ns nanoseconds.
func (b *Budget) Spend(ns int) { b.debt += time.Duration(ns) }

// Debt returns the work that passing time has not paid for.
func (b *Budget) Debt() time.Duration { return b.debt }

// Spent reports whether deferrable work should wait.
func (b *Budget) Spent() bool { return b.debt >= Max }

// Overdrawn reports whether the work in progress must be abandoned.
func (b *Budget) Overdrawn() bool { return b.debt >= Max+MaxTick }

// Check returns an error if the server has caused too much work that cannot be deferred.
func (b *Budget) Check() error {
	if b.debt <= Max+maxDebt {
		return nil
	}
	return &wire.Error{Code: wire.TooMuch, Detail: fmt.Sprintf(
		"the server causes more work than a client may do: %v at once, or %d %% of the time; it is broken or hostile", Max+maxDebt, 100/share)}
}
