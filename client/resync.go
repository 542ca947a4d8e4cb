package client

import "time"

const (
	// resyncEvery bounds how often computed bodies cause a Resync.
	resyncEvery = time.Second
	// A session gives up computing after maxResyncs of them, each at most resyncsWithin after
	// the one before. Fewer mend what was wrong once. A server may audit each entity only
	// every ten seconds or so.
	maxResyncs    = 10
	resyncsWithin = 30 * time.Second
)

// resyncs decides when the server should send all states again.
type resyncs struct {
	faults    uint64        // that a Resync was sent for
	next      time.Duration // before which no Resync for computed bodies is sent
	count     int           // for computed bodies, none long after the one before
	computing computing
}

// computing is whether the next session computes bodies if the config and the server allow it.
type computing uint8

const (
	computes    computing = iota
	computesNot           // there were too many resyncs
)

func (r *resyncs) gaveUp() bool { return r.computing == computesNot }

// mayResyncBodies reports whether computed bodies may cause a Resync at now.
func (r *resyncs) mayResyncBodies(now time.Duration) bool { return now >= r.next }

// noteBodiesResync counts a Resync for computed bodies. After too many the session gives up if
// mayGiveUp is set.
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
