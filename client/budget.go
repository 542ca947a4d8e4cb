package client

import (
	"fmt"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxWork is the work that a server may cause at once: what 250 bodies and their effects
	// take for some ten seconds of missed ticks.
	maxWork = 50 * time.Millisecond
	// workShare is the inverse share of passing time that work may take.
	workShare = 4
	// maxDebt is the work beyond maxWork that ends the session: work that cannot wait, of
	// messages on the stream.
	maxDebt = 500 * time.Millisecond
	// maxTickWork is the work of one tick above which its bodies are not computed at all.
	maxTickWork = 25 * time.Millisecond
)

// Estimated times, in ns.
const (
	datagramTime = 500
	rowTime      = 60
	recordTime   = 1000
	programTime  = 10_000 // of a Program, and
	codeTime     = 200    // for each byte of it
	roomTime     = 50_000 // of a Welcome that moves the session, and
	schemaTime   = 100    // for each byte of its schema
	snapshotTime = 1000   // of a complete snapshot, without its ticks
	tickTime     = 300
	bodyTime     = 100 // of a body that is awake, in a tick
	reachTime    = 2   // to find whether a body is in reach of an effect that moves or changes
	effectTime   = 30  // of an effect, in a tick
	actTime      = 300 // of an effect, in a tick that moves bodies
	slotTime     = 200 // of a slot in the rings of a prediction
	lookTime     = 5   // of anything else that is looked at

	instructionTime = 3 // of the program of an effect that is added, changed or found again
)

// budget bounds the time of the work that a server causes: maxWork at once, and a share of
// passing time. Work counts by estimates, so that the same bytes and times have the same result
// everywhere. The zero value is a full budget.
type budget struct {
	debt time.Duration // work done and not paid for by time
	at   time.Duration // when time last paid
}

// pay pays for work by the time that has passed until now.
func (b *budget) pay(now time.Duration) {
	if passed := now - b.at; passed > 0 {
		b.debt = max(b.debt-passed/workShare, 0)
	}
	b.at = now
}

// spend counts work of so many ns.
func (b *budget) spend(ns int) { b.debt += time.Duration(ns) }

// spent reports whether work that can wait should wait.
func (b *budget) spent() bool { return b.debt >= maxWork }

// overdrawn reports whether work that should not wait, but can, has to be given up.
func (b *budget) overdrawn() bool { return b.debt >= maxWork+maxTickWork }

// check returns an error if there was too much work that could not wait.
func (b *budget) check() error {
	if b.debt <= maxWork+maxDebt {
		return nil
	}
	return &wire.Error{Code: wire.TooMuch, Detail: fmt.Sprintf(
		"the server causes more work than a client may do: %v at once, or %d %% of the time; it is broken or hostile", maxWork+maxDebt, 100/workShare)}
}
