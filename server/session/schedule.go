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
// skipped. A session whose connection has not sent its last snapshot is held until it has:
// what was encoded leaves, unless the connection ends.
type snapshotSchedule struct {
	maxWait   uint64 // ticks after which a waiting session is overdue
	lastOrder uint64 // highest order assigned
	waiting   []*Session
	held      int                   // of waiting, in the last tick
	viewers   []*replication.Viewer // scratch: waiting's viewers
	updates   []replication.Update  // scratch
}

// turn is a session's place in the schedule.
type turn struct {
	state        turnState
	order        uint64 // the lowest is served first
	snapshotTick uint64 // tick of the newest snapshot, or of the start
}

type turnState uint8

const (
	turnIdle    turnState = iota // no snapshot is due
	turnWaiting                  // a snapshot is due
	turnHeld                     // it is due, and the connection has not sent the one before (HasUnsent)
)

// moveToBack puts s behind all others. tick is when its newest snapshot was sent, or when it
// started.
func (t *snapshotSchedule) moveToBack(s *Session, tick uint64) {
	t.lastOrder++
	s.turn.order, s.turn.snapshotTick = t.lastOrder, tick
}

// enqueueDue notes that a snapshot of s is due.
func (t *snapshotSchedule) enqueueDue(s *Session, stats *Stats) {
	stats.SnapshotsDue++
	switch s.turn.state {
	case turnHeld:
		stats.SnapshotsHeld++
	case turnWaiting:
		stats.SnapshotsSkipped++
	default:
		s.turn.state = turnWaiting
		t.waiting = append(t.waiting, s)
	}
}

// dropUnreachable removes sessions that have ended or are away.
func (t *snapshotSchedule) dropUnreachable() {
	t.waiting = slices.DeleteFunc(t.waiting, func(s *Session) bool {
		if s.state == stateActive {
			return false
		}
		s.turn.state = turnIdle
		return true
	})
}

// maxOverduePerTick returns how many overdue sessions a tick serves regardless of time:
// twice the rate that gives every session minSnapshotHz. After a stall all sessions are
// overdue, and serving them in one tick would be the next stall.
func maxOverduePerTick(sessions, tickHz int) int {
	return max(2*(sessions*minSnapshotHz+tickHz-1)/tickHz, minOverduePerTick)
}

// rankWaiting sorts the waiting sessions: those to be served first, and those that are held last.
func (t *snapshotSchedule) rankWaiting() {
	t.held = 0
	for _, s := range t.waiting {
		s.turn.state = turnWaiting
		if s.peer.conn.HasUnsent() {
			s.turn.state = turnHeld
			t.held++
		}
	}
	slices.SortFunc(t.waiting, func(a, b *Session) int { return cmp.Compare(a.turn.rank(), b.turn.rank()) })
}

// rank orders sessions that wait for a snapshot: the lowest is served first.
func (t *turn) rank() uint64 {
	if t.state == turnHeld {
		return t.order | 1<<63
	}
	return t.order
}

// serveWaiting encodes snapshots, longest-waiting sessions first, until outOfTime reports true.
// Up to guaranteed overdue sessions are served regardless. All snapshots are encoded before
// the first is sent: a woken sender could take the tick's core.
func (t *snapshotSchedule) serveWaiting(r *replication.Replicator, tick uint64, guaranteed int, outOfTime func() bool) {
	t.rankWaiting()
	ready := len(t.waiting) - t.held
	t.viewers, t.updates = t.viewers[:0], t.updates[:0]
	for _, s := range t.waiting[:ready] {
		s.viewer.SetMaxDatagram(s.peer.maxDatagram())
		t.viewers = append(t.viewers, s.viewer)
	}
	batch := 1
	if workers := r.Config().Workers; workers > 1 {
		batch = batchPerWorker * workers
	}
	for n := 0; n < ready && (n < guaranteed && t.waiting[n].turn.snapshotTick+t.maxWait <= tick || !outOfTime()); n = len(t.updates) {
		t.updates = append(t.updates, r.Snapshots(t.viewers[n:min(n+batch, len(t.viewers))])...)
	}
	for i, update := range t.updates {
		s := t.waiting[i]
		s.turn.state = turnIdle
		t.moveToBack(s, tick)
		s.sendSnapshot(update)
	}
	t.waiting = slices.Delete(t.waiting, 0, len(t.updates))
	clear(t.viewers) // ended sessions must not stay reachable
	clear(t.updates)
}
