package session

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/replication"
)

const (
	// slowestSnapshotHz is what every client is sent, however late that makes ticks:
	// below, it sees no motion but jumps, and had better be refused. Where many have
	// waited for as long at once, the last of them waits for a quarter second more.
	slowestSnapshotHz = 2
	// batchPerWorker is how many snapshots each goroutine that makes some is given
	// before the time is looked at, if there are several: no fewer are shared out
	// (replication, viewersPerWorker), and they take a millisecond or two.
	batchPerWorker = 8
	// leastOverdue is how many of those that have waited too long a tick serves for
	// certain, however few sessions there are: a millisecond.
	leastOverdue = 8
)

// turns are the sessions whose turn it is to be sent a snapshot. A tick serves as
// many as it has time for, the one that was sent its newest longest ago first, and the
// others wait for the next: what a server is short of is taken from all alike. In the
// order in which turns come, a few would miss every other one, and the others none. A
// session whose turn comes again while it waits misses that one, as if the snapshot
// were lost.
type turns struct {
	longest uint64 // for how many ticks a session whose turn came is not served at most
	served  uint64 // how often a session was put behind all others
	waiting []*Session
	viewers []*replication.Viewer // theirs
	updates []replication.Update
}

// last puts a session behind all others in a tick: it is sent a snapshot, or has come.
func (t *turns) last(s *Session, tick uint64) {
	t.served++
	s.place, s.shown = t.served, tick
}

// call gives a session its turn.
func (t *turns) call(s *Session, stats *Stats) {
	stats.Turns++
	if s.waits {
		stats.TurnsMissed++
		return
	}
	s.waits = true
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

// overdue is how many of those that have waited too long a tick serves for certain:
// twice what sends so many sessions slowestSnapshotHz. After a stall all have waited
// too long, and to serve them in one tick would be the next stall.
func overdue(sessions, tickHz int) int {
	return max(2*(sessions*slowestSnapshotHz+tickHz-1)/tickHz, leastOverdue)
}

// serve makes snapshots, until enough says that there is no time for more; for
// sessions that had none for the longest time it makes them anyway, up to a number. All
// are made before the first is handed over: a sender that wakes up takes a core, and
// the tick may be on it.
func (t *turns) serve(r *replication.Replicator, tick uint64, certain int, enough func() bool) {
	slices.SortFunc(t.waiting, func(a, b *Session) int { return cmp.Compare(a.place, b.place) })
	t.viewers, t.updates = t.viewers[:0], t.updates[:0]
	for _, s := range t.waiting {
		t.viewers = append(t.viewers, s.viewer)
	}
	batch := 1
	if workers := r.Config().Workers; workers > 1 {
		batch = batchPerWorker * workers
	}
	for n := 0; n < len(t.waiting) && (n < certain && t.waiting[n].shown+t.longest <= tick || !enough()); n = len(t.updates) {
		t.updates = append(t.updates, r.Snapshots(t.viewers[n:min(n+batch, len(t.viewers))])...)
	}
	for i, update := range t.updates {
		s := t.waiting[i]
		s.waits = false
		t.last(s, tick)
		s.deliver(update)
	}
	t.waiting = slices.Delete(t.waiting, 0, len(t.updates))
	clear(t.viewers) // of a crowd that has left, nothing is to stay
	clear(t.updates)
}
