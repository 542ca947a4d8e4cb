package server

import (
	"time"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/world"
)

// Report describes a server's state and totals. The metrics of the admin port are derived from it.
type Report struct {
	Tick        TickReport
	World       world.Stats // with the times of its systems
	StateHash   uint64      // after the last tick; 0 before
	Sessions    Stats
	Active      int // joined sessions with a connection
	Web         int // part of Active: over WebTransport
	Away        int // sessions whose clients may reconnect
	Replication replication.Stats
	Traffic     Traffic
	Images      Images
	Journal     Journal
	LastTick    time.Time // zero before the first tick in which the server accepts clients
}

// TickReport describes the durations and punctuality of ticks.
type TickReport struct {
	RateHz        int
	Count         uint64
	P50, P99, Max time.Duration
	// Late counts ticks that began more than one interval after their time.
	Late uint64
	// Missed counts skipped ticks. After a stall a few ticks are made up for, and the world
	// falls behind the clock by the skipped ones.
	Missed uint64
	// MissedBy splits Missed by the longest phase of the tick before: receive, step, replicate or
	// between. The last element counts stalls outside of them: other programs took the processor.
	MissedBy [5]uint64
	// Behind is set after three seconds in a row in which at least half of the ticks were late
	// or missed. It is cleared after five seconds in a row with less than an eighth. While it
	// is set the server is not ready.
	Behind bool
	// SnapshotHz is the number of snapshots sent to each client in the last second. It is below
	// the configured rate if the server was short of time.
	SnapshotHz float64
	// Thinned counts ticks that had no time for all due snapshots.
	Thinned uint64
	// Receive, Step, Replicate and Between are the total times of the phases. Between is the
	// time between ticks, for saves, requests of the admin port and reports.
	Receive, Step, Replicate, Between time.Duration
}

// Images describes a server's saves.
type Images struct {
	Saved, Failed uint64
	// Blocked is the longest time for which a save has blocked a tick, and Took the longest
	// duration of a save. Blocked excludes the first save, which precedes all ticks.
	Blocked, Took time.Duration
	// LastTook and LastBytes describe the newest save.
	LastSaved time.Time
	LastTook  time.Duration
	LastBytes int64
}

// Journal describes the journals of a server's worlds.
type Journal struct {
	// Suspended counts the worlds whose journal has failed since their newest image: a crash would lose
	// ticks. Failed counts all failures since the start.
	Suspended, Failed uint64
	Bytes, Syncs      uint64
	SlowestSync       time.Duration
	// Waiting is the age of the oldest tick that waits for the disk. With imagefile.JournalAlways clients
	// wait as long. Above 5 s the server is not ready.
	Waiting time.Duration
}

// Traffic counts the traffic of all connections since the start, and refused attempts.
type Traffic struct {
	Handshakes, HandshakesFailed, HandshakesRefused uint64
	// StreamBytes and DatagramBytes are sent, without packet headers.
	StreamBytes, DatagramBytes uint64
	Datagrams                  uint64 // sent
	DatagramsRefused           uint64 // by the transport
	Snapshots                  uint64 // sent
	UnsentBytes                int64  // stream bytes queued now
	ReceivedBytes              uint64
	ReceivedDatagrams          uint64
	// Effects of the bounds on connections: refused, delayed and retried attempts, and excess
	// input of sessions.
	HandshakesCrowded, HandshakesFast, HandshakesAddress, HandshakesPaced, Retries uint64
	AddressesForgotten, DatagramsFast, StreamsHeld                                 uint64
	// Refused HTTP/3 requests: not for a WebTransport session, of a page whose origin is
	// not allowed, and for a second session.
	WebRequests, WebOrigins, WebSessions uint64
}

// reportOf returns r in the types that games see.
func reportOf(r admin.Report) Report {
	return Report{
		Tick: TickReport(r.Tick), World: r.World, StateHash: r.StateHash, Sessions: r.Sessions, Active: r.Active, Web: r.Web, Away: r.Away,
		Replication: r.Replication, Traffic: Traffic(r.Traffic), Images: Images(r.Images), Journal: Journal(r.Journal), LastTick: r.LastTick,
	}
}
