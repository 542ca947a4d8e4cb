package client

import (
	"time"

	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/replication/wire"
)

const (
	// resyncEvery bounds how often computed bodies cause a Resync.
	resyncEvery = time.Second
	// A session stops computing after maxResyncs Resyncs, each at most resyncsWithin after the
	// last. Fewer repair a single error. The interval is long because a server may audit each
	// entity only every ten seconds or so.
	maxResyncs    = 10
	resyncsWithin = 30 * time.Second
)

// resyncs decides when the server should send all states again.
type resyncs struct {
	faults    uint64        // faulty datagrams for which a Resync was sent
	next      time.Duration // the earliest time of the next Resync for computed bodies
	count     int           // Resyncs for computed bodies, each soon after the last
	computing computing
}

// computing tells whether the next session may compute bodies, if config and server allow it.
type computing uint8

const (
	computes    computing = iota
	computesNot           // after too many resyncs
)

func (r *resyncs) gaveUp() bool { return r.computing == computesNot }

// endsSession reports whether a session that w began computes bodies but should stop. w may be nil.
func (r *resyncs) endsSession(w *wire.Welcome) bool {
	return r.gaveUp() && w != nil && w.Simulate == 1
}

// isDueForFaults reports whether to ask for all states because of new faulty datagrams. faults is
// the number of all so far.
func (r *resyncs) isDueForFaults(faults uint64) bool {
	due := faults > r.faults
	r.faults = max(r.faults, faults)
	return due
}

// isDueForBodies reports whether to ask for all states because the computed bodies b differ
// from the server's, or could not be computed in time. After too many times the session gives up
// computing if mayGiveUp is set.
func (r *resyncs) isDueForBodies(b *bodies.Bodies, now time.Duration, mayGiveUp bool) bool {
	if now < r.next || !b.NeedResync() {
		return false
	}
	b.NoteResync()
	if now-r.next > resyncsWithin-resyncEvery {
		r.count = 0
	}
	r.count++
	if r.count == maxResyncs && mayGiveUp {
		r.computing = computesNot
	}
	r.next = now + resyncEvery
	return true
}
