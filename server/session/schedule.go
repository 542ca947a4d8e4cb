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
	// batchPerWorker is the number of snapshots that each of several workers encodes
	// between two checks of the time. A batch takes a millisecond or two. Smaller batches
	// would not be shared among workers (viewersPerWorker in package replication).
	batchPerWorker = 8
	// minOverduePerTick is the minimum number of overdue sessions that a tick serves, which
	// takes about a millisecond.
	minOverduePerTick = 8
)

// snapshotSchedule queues the sessions whose snapshot is due. A tick serves as many
// sessions as it has time for, longest-waiting first. All others wait for the next tick. A
// shortage is therefore shared evenly. If a queued session's next snapshot becomes due, one
// of the two is skipped. A session is held until its connection has sent the last snapshot,
// so every encoded snapshot leaves unless the connection ends.
type snapshotSchedule struct {
	maxWait   uint64 // ticks after which a waiting session is overdue
	lastOrder uint64 // highest order assigned
	waiting   []*Session
	held      int                   // sessions of waiting that the last tick held
	viewers   []*replication.Viewer // scratch: viewers of waiting
	updates   []replication.Update  // scratch
}

// turn is a session's place in the schedule, which alone writes it.
type turn struct {
	state        turnState
	order        uint64 // the lowest order is served first
	snapshotTick uint64 // tick of the newest snapshot, or of the session's start
}

type turnState uint8

const (
	turnIdle    turnState = iota // no snapshot is due
	turnWaiting                  // a snapshot is due
	turnHeld                     // a snapshot is due, and the connection has not sent the previous one (HasUnsent)
)

// moveToBack puts s behind all other sessions. tick is the tick of its newest snapshot, or
// of its start.
func (t *snapshotSchedule) moveToBack(s *Session, tick uint64) {
	t.lastOrder++
	s.turn.order, s.turn.snapshotTick = t.lastOrder, tick
}

// enqueueDue records that a snapshot of s is due.
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

// maxOverduePerTick returns the number of overdue sessions that a tick serves regardless of
// time: twice the rate that gives every session minSnapshotHz. After a stall all sessions
// are overdue, and serving all in one tick would cause the next stall.
func maxOverduePerTick(sessions, tickHz int) int {
	return max(2*(sessions*minSnapshotHz+tickHz-1)/tickHz, minOverduePerTick)
}

// rankWaiting sorts the waiting sessions by rank, held sessions last.
func (t *snapshotSchedule) rankWaiting() {
	t.held = 0
	for _, s := range t.waiting {
		s.turn.state = turnWaiting
		if s.peer.conn.HasUnsent() {
			s.turn.state = turnHeld
			t.held++
		}
	}
	slices.SortFunc(t.waiting, func(a, b *Session) int { return cmp.Compare(rankOf(&a.turn), rankOf(&b.turn)) })
}

// rankOf orders the waiting sessions: the session with the lowest rank is served first.
func rankOf(t *turn) uint64 {
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
