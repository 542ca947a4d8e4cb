package botrun

import (
	"fmt"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/recent"
	"github.com/worldd/worldd/replication/wire"
)

// outage tracks a lost connection during a visit. The client reconnects by itself.
type outage struct {
	count int
	lost  bool
	why   error
	since time.Time // time of the last snapshot
	// Already counted in the bot's past:
	arrived, frames, bytes, rows uint64
}

// moveTimeout bounds how long a bot may take to follow a redirection.
const moveTimeout = 5 * time.Second

// errorAtEnd returns the error of a bot that has no connection at the end of its run, or nil if the bot is following a redirection.
func (o *outage) errorAtEnd(lasted time.Duration) error {
	if lasted < moveTimeout && wire.CodeOf(o.why) == wire.Moved {
		return nil
	}
	return fmt.Errorf("no connection for %.1f s: %w", lasted.Seconds(), o.why)
}

// outages counts the bots' lost connections.
type outages struct {
	lost       uint64
	resumed    uint64 // sessions that were resumed
	anew       uint64 // new sessions in the same world
	newWorlds  uint64 // sessions in another run of the world, or moved meanwhile
	unanswered uint64 // commands
	recoveries []time.Duration
}

func (o outages) plus(p outages) outages {
	return outages{
		o.lost + p.lost, o.resumed + p.resumed, o.anew + p.anew, o.newWorlds + p.newWorlds, o.unanswered + p.unanswered,
		append(o.recoveries, p.recoveries...),
	}
}

// handleState handles the client's state changes. They precede everything in a new session. A
// lobby may move a session before its Dial has returned.
func (b *loadBot) handleState(s client.StateChange) {
	switch {
	case b.client == nil: // before Dial has returned: beginVisit reads the newest Welcome
		b.forgetHandles(0, wire.MaxSlots)
	case s.State == client.Reconnecting:
		now := time.Now()
		b.account.closeAtLoss(now, s.Err)
		b.publishCounters(now, false)
	case s.State == client.Joined && b.account.outage.lost:
		b.continueSession(s)
	case s.State == client.Joined && (s.Moved || s.NewWorld):
		b.enterRoom()
	}
}

// enterRoom replaces the oracle for the room to which the server has moved the session.
func (b *loadBot) enterRoom() {
	w := b.client.Welcome()
	b.forgetHandles(w.GenerationFloor, w.MaxSlots)
}

// continueSession updates the memory of handles for the new session (B6).
func (b *loadBot) continueSession(s client.StateChange) {
	w := b.client.Welcome()
	b.account.countRejoin(s)
	switch {
	case s.Resumed:
	case s.Moved:
		b.enterRoom()
	case s.NewWorld && b.oracle.isBelow(w.GenerationFloor):
		b.oracle.beginRun(w.GenerationFloor, w.MaxSlots)
	case s.NewWorld:
		b.forgetHandles(w.GenerationFloor, w.MaxSlots)
	default:
		b.oracle.beginSession()
	}
}

// beginSession handles a new session in the same run of the world: destroyed handles stay
// destroyed, and the others are unknown until they are shown again.
func (o *oracle) beginSession() {
	for i := range o.known {
		if m := &o.known[i]; o.fate(m) == statusDestroyed {
			m.status = statusDestroyed
		} else {
			m.status = statusUnknown
		}
	}
	o.renewSession()
}

// renewSession forgets what the server has named in the session: the next one begins without.
func (o *oracle) renewSession() {
	o.tick, o.taught, o.unsure = 0, recent.NewSet[bulk.Handle](taughtHandles), false
}

// isBelow reports whether all handles that the oracle has seen are below a floor, and thus from
// an earlier run.
func (o *oracle) isBelow(floor uint32) bool {
	highest := o.tenants.highestGeneration()
	return highest == 0 || highest < floor
}

// beginRun handles another run of the world, above a floor: all earlier handles are dead and
// none may return (B6). Surviving entities have new handles.
func (o *oracle) beginRun(floor, slots uint32) {
	o.floor, o.slots = floor, slots
	for i := range o.known {
		o.known[i].status = statusDestroyed
	}
	clear(o.owner)
	o.renewSession()
}

// Outages reports lost connections and their recovery.
type Outages struct {
	Lost       uint64 `json:"connections_lost"`
	Resumed    uint64 `json:"sessions_resumed"`
	Anew       uint64 `json:"sessions_anew"`
	NewWorlds  uint64 `json:"worlds_anew"`
	Unanswered uint64 `json:"commands_unanswered"`
	// From the last snapshot before the outage to the first one after; nil without outages.
	P50Ms *float64 `json:"recovery_p50_ms"`
	P99Ms *float64 `json:"recovery_p99_ms"`
	MaxMs *float64 `json:"recovery_max_ms"`
}

func (o outages) report() Outages {
	l := latencyOfAll(o.recoveries)
	return Outages{o.lost, o.resumed, o.anew, o.newWorlds, o.unanswered, l.P50Ms, l.P99Ms, l.MaxMs}
}
