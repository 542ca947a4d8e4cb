package client

import "time"

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

// mayResyncBodies reports whether computed bodies may cause a Resync at now.
func (r *resyncs) mayResyncBodies(now time.Duration) bool { return now >= r.next }

// noteBodiesResync counts a Resync for computed bodies. If there were too many and mayGiveUp is
// set, the session gives up computing.
func (r *resyncs) noteBodiesResync(now time.Duration, mayGiveUp bool) {
	if now-r.next > resyncsWithin-resyncEvery {
		r.count = 0
	}
	r.count++
	if r.count == maxResyncs && mayGiveUp {
		r.computing = computesNot
	}
	r.next = now + resyncEvery
}
