package admin

import (
	"time"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Report describes a server's state and totals, as server.Report does.
type Report struct {
	Tick        TickReport
	World       world.Stats // with the times of its systems
	StateHash   uint64      // after the last tick; 0 before
	Sessions    session.Stats
	Active      int // joined sessions with a connection
	Web         int // part of Active: over WebTransport
	Away        int // sessions whose clients may reconnect
	Replication replication.Stats
	Traffic     quicserve.Traffic
	Images      Images
	Journal     Journal
	LastTick    time.Time
}

// TickReport has the fields of server.TickReport, which documents them.
type TickReport struct {
	RateHz                            int
	Count                             uint64
	P50, P99, Max                     time.Duration
	Late                              uint64
	Missed                            uint64
	MissedBy                          [Phases + 1]uint64
	Behind                            bool
	SnapshotHz                        float64
	Thinned                           uint64
	Receive, Step, Replicate, Between time.Duration
}

// Journal has the fields of server.Journal, which documents them.
type Journal struct {
	Suspended, Failed uint64
	Bytes, Syncs      uint64
	SlowestSync       time.Duration
	Waiting           time.Duration
}

// Images has the fields of server.Images, which documents them.
type Images struct {
	Saved, Failed uint64
	Blocked, Took time.Duration
	LastSaved     time.Time
	LastTook      time.Duration
	LastBytes     int64
}
