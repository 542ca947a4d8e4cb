package session

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/replication"
)

const (
	// minSnapshotHz is guaranteed to every client even if ticks run late. Below it motion
	// is unwatchable, and refusing the client is kinder. If many sessions are overdue at
	// once, the last waits another quarter second.
	minSnapshotHz = 2
	// batchPerWorker is how many snapshots each worker encodes between two checks of the
	// time, if there are several workers. Smaller batches are not shared among them
	// (replication, viewersPerWorker); these take a millisecond or two.
	batchPerWorker = 8
	// minOverduePerTick is the least number of overdue sessions that a tick serves: about
	// a millisecond.
	minOverduePerTick = 8
)

// snapshotSchedule queues the sessions whose snapshot is due. A tick serves as many as it
// has time for, longest-waiting first, and the others wait for the next tick. The shortage
// is therefore shared evenly: in arrival order, a few sessions would miss every other
// snapshot, and the rest none. If a queued session's next snapshot becomes due, one is
// skipped.
type snapshotSchedule struct {
	maxWait   uint64 // ticks after which a waiting session is overdue
	lastOrder uint64 // highest order assigned
	waiting   []*Session
	viewers   []*replication.Viewer // scratch: waiting's viewers
	updates   []replication.Update  // scratch
}

// moveToBack puts s behind all others. tick is when its newest snapshot was sent, or when it
// started.
func (t *snapshotSchedule) moveToBack(s *Session, tick uint64) {
	t.lastOrder++
	s.order, s.snapshotTick = t.lastOrder, tick
}

// enqueue notes that a snapshot of s is due.
func (t *snapshotSchedule) enqueue(s *Session, stats *Stats) {
	stats.SnapshotsDue++
	if s.queued {
		stats.SnapshotsSkipped++
		return
	}
	s.queued = true
	t.waiting = append(t.waiting, s)
}

// dropUnreachable removes sessions that have ended or are away.
func (t *snapshotSchedule) dropUnreachable() {
	t.waiting = slices.DeleteFunc(t.waiting, func(s *Session) bool {
		gone := s.ended || s.peer == nil
		s.queued = s.queued && !gone
		return gone
	})
}

// maxOverduePerTick returns how many overdue sessions a tick serves regardless of time:
// twice the rate that gives every session minSnapshotHz. After a stall all sessions are
// overdue, and serving them in one tick would be the next stall.
func maxOverduePerTick(sessions, tickHz int) int {
	return max(2*(sessions*minSnapshotHz+tickHz-1)/tickHz, minOverduePerTick)
}

// serve encodes snapshots, longest-waiting sessions first, until outOfTime reports true.
// Up to guaranteed overdue sessions are served regardless. All snapshots are encoded before
// the first is sent: a woken sender could take the tick's core.
func (t *snapshotSchedule) serve(r *replication.Replicator, tick uint64, guaranteed int, outOfTime func() bool) {
	slices.SortFunc(t.waiting, func(a, b *Session) int { return cmp.Compare(a.order, b.order) })
	t.viewers, t.updates = t.viewers[:0], t.updates[:0]
	for _, s := range t.waiting {
		s.viewer.SetMaxDatagram(s.peer.maxDatagram())
		t.viewers = append(t.viewers, s.viewer)
	}
	batch := 1
	if workers := r.Config().Workers; workers > 1 {
		batch = batchPerWorker * workers
	}
	for n := 0; n < len(t.waiting) && (n < guaranteed && t.waiting[n].snapshotTick+t.maxWait <= tick || !outOfTime()); n = len(t.updates) {
		t.updates = append(t.updates, r.Snapshots(t.viewers[n:min(n+batch, len(t.viewers))])...)
	}
	for i, update := range t.updates {
		s := t.waiting[i]
		s.queued = false
		t.moveToBack(s, tick)
		s.sendSnapshot(update)
	}
	t.waiting = slices.Delete(t.waiting, 0, len(t.updates))
	clear(t.viewers) // ended sessions must not stay reachable
	clear(t.updates)
}
