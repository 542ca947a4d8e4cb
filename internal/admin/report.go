package admin

import (
	"time"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Report is what a server tells of itself.
type Report struct {
	Tick        TickReport
	World       world.Stats // its systems timed
	StateHash   uint64      // of a tick within the last second, or the last one of all
	Sessions    session.Stats
	Active      int // sessions that have joined and are reached
	Away        int // sessions whose clients may come again
	Replication replication.Stats
	Traffic     quicserve.Traffic
	Images      Images
	LastTick    time.Time
}

// TickReport tells how long ticks took.
type TickReport struct {
	RateHz        int
	Count         uint64
	P50, P99, Max time.Duration
	// Late counts ticks that began more than one interval after their time.
	Late uint64
	// Missed counts ticks that were never made: after a stall a few are made up for,
	// and the world falls behind the clock by the others.
	Missed uint64
	// Behind: for three seconds in a row at least half of the ticks were late or
	// missed, and there have not been five since with less than an eighth. The server
	// is not ready then.
	Behind bool
	// SnapshotHz is how many snapshots each client was sent in the last second: fewer
	// than configured if there was no time for all.
	SnapshotHz float64
	// Thinned counts ticks that had no time for all snapshots whose turn it was.
	Thinned uint64
	// Receive, Step and Replicate add up what the phases took.
	Receive, Step, Replicate time.Duration
}

// Images tells of a server's saves.
type Images struct {
	Saved, Failed uint64
	// Blocked is the longest that a save has kept the tick waiting, the first
	// save, ahead of all ticks, apart; Took the longest that one has taken.
	Blocked, Took time.Duration
	LastSaved     time.Time
}
