package server

import (
	"slices"

	"github.com/worldd/worldd/replication"
)

const (
	// slowestSnapshotHz is what every client is sent, however late that makes ticks:
	// below, it sees no motion but jumps, and had better be refused.
	slowestSnapshotHz = 2
	// batchPerWorker is how many snapshots each goroutine that makes some is given
	// before the time is looked at, if there are several: no fewer are shared out
	// (replication, viewersPerWorker), and they take a millisecond or two.
	batchPerWorker = 8
)

// turns are the sessions whose turn it is to be sent a snapshot, the one that has
// waited longest first. A tick serves as many as it has time for, and the others
// wait for the next: what a server is short of is taken from all alike. A session
// whose turn comes again while it waits misses that one, as if the snapshot were
// lost.
type turns struct {
	waiting []*Session
	viewers []*replication.Viewer // theirs
	updates []replication.Update
}

// call gives a session its turn in a tick.
func (t *turns) call(s *Session, tick uint64, stats *Stats) {
	stats.Turns++
	if s.waits {
		stats.TurnsMissed++
		return
	}
	s.waits, s.waitsSince = true, tick
	t.waiting = append(t.waiting, s)
}

// dismiss takes out the sessions that cannot be reached any more.
func (t *turns) dismiss() {
	t.waiting = slices.DeleteFunc(t.waiting, func(s *Session) bool {
		gone := s.over || s.peer == nil
		s.waits = s.waits && !gone
		return gone
	})
}

// longestWait is for how many ticks a session may wait for its turn, if it is to be
// sent slowestSnapshotHz: after it has had one, the next comes an interval later.
func longestWait(tickHz, snapshotHz int) uint64 {
	interval := (tickHz + snapshotHz - 1) / snapshotHz
	return uint64(max(tickHz/slowestSnapshotHz-interval, 0))
}

// serve makes snapshots, until enough says that there is no time for more; those of
// sessions that have waited since a tick, or longer, it makes anyway. All are made before
// the first is handed over: a sender that wakes up takes a core, and the tick may be
// on it.
func (t *turns) serve(r *replication.Replicator, since uint64, enough func() bool) {
	t.viewers, t.updates = t.viewers[:0], t.updates[:0]
	for _, s := range t.waiting {
		t.viewers = append(t.viewers, s.viewer)
	}
	batch := 1
	if workers := r.Config().Workers; workers > 1 {
		batch = batchPerWorker * workers
	}
	for n := 0; n < len(t.waiting) && (t.waiting[n].waitsSince <= since || !enough()); n = len(t.updates) {
		t.updates = append(t.updates, r.Snapshots(t.viewers[n:min(n+batch, len(t.viewers))])...)
	}
	for i, update := range t.updates {
		t.waiting[i].waits = false
		t.waiting[i].deliver(update)
	}
	t.waiting = slices.Delete(t.waiting, 0, len(t.updates))
}
