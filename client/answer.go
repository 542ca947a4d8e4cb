package client

import "time"

const (
	// inputSoon is how long after an input the next one is expected: a game renders at least 20
	// times a second, not quite evenly. Acknowledgements wait for its datagram.
	inputSoon = 60 * time.Millisecond
	// maxInterval bounds the measured snapshot interval, so that a client that
	// receives nothing still sends, and checks its connection, twice a second.
	maxInterval = time.Second / 4
	// maxAckDelay is how long QUIC delays the acknowledgement of a packet, at either end.
	maxAckDelay = 25 * time.Millisecond
	// answerMargin is the least time between an answer and the moment at which QUIC would
	// acknowledge the snapshot by itself: timers are late, more so on busy machines.
	answerMargin = 3 * time.Millisecond
	// inputMargin is the least time by which an input that waited arrives before its tick: the
	// server's work delays its snapshots, so its clock seems to be behind.
	inputMargin = 12 * time.Millisecond
	// snapshotLateness is how late a snapshot may be and still carry the server's
	// acknowledgement.
	snapshotLateness = 4 * time.Millisecond
)

// InputDue reports whether to send Input at now, if so many datagrams have arrived since the
// last Input, without those that were Duplicate.
func (s *Session) InputDue(datagrams int, now time.Duration) bool {
	return s.inputDue(datagrams, now, now-s.inputAt)
}

// inputDue reports whether to send an Input, given the datagrams that arrived since the last one
// and its age.
//
// A new input is sent at once, but at most one per tick. A second one for the same tick is made
// for the next tick and waits until that is due: sent at once, it would be followed by one for
// the tick after, and a game that renders faster than ticks would aim ever further ahead.
//
// Otherwise one Input answers everything that arrived, unless one with a new input is about to.
// A snapshot that waits for its structure is answered once it can be acknowledged. Without
// snapshots Inputs still go out, since only the other direction may work. Both kinds may wait
// for a moment: see holds and joinsNext.
func (s *Session) inputDue(datagrams int, now, age time.Duration) bool {
	in, r := &s.inputs, s.replica
	joins := s.joinsNext(now)
	switch {
	case s.overdue(age):
		return true
	case s.holds(now):
		return false
	case in.unsent > 0 && s.targetTick(now) >= in.list[0].Tick && !joins:
		return true
	case len(in.list) > 0 && now-in.set < inputSoon && age < inputSoon && !joins:
		return false
	}
	return s.unacked() || r != nil && (datagrams > 0 || s.owes && s.sleeps) && len(r.held) == 0
}

// overdue reports whether an Input must not wait for anything, if the newest is that old.
func (s *Session) overdue(age time.Duration) bool {
	return age >= s.patience() || s.inputs.unsent >= maxUnsent || s.unacked() && len(s.out) > 0
}

// unacked reports whether snapshots were applied since the newest Input.
func (s *Session) unacked() bool { return s.replica != nil && s.replica.acks != s.acked }

// holds reports whether an Input should wait for answerTime, because that saves a packet and
// delays nothing: the caller sleeps until then, and a new input still arrives inputMargin before
// its tick. At 60 ticks a second a new input never waits.
func (s *Session) holds(now time.Duration) bool {
	if !s.owes || !s.sleeps {
		return false
	}
	at := s.answerTime()
	return now < at && (s.inputs.unsent == 0 || s.mayWait(at))
}

// joinsNext reports whether the new input should wait for the answer to the next snapshot: it was
// set for a tick above its target, and still arrives inputMargin before that. Sent by itself, it
// would cost a packet, and a game that sets an input on each snapshot would remain a tick ahead.
func (s *Session) joinsNext(now time.Duration) bool {
	if !s.sleeps || !s.inputs.early {
		return false
	}
	at := s.nextAnswer()
	return now < at && s.mayWait(at)
}

// mayWait reports whether the only new input arrives inputMargin before its tick if it is sent at
// a time.
func (s *Session) mayWait(at time.Duration) bool {
	in := &s.inputs
	return in.unsent == 1 && s.inputTick(at)-0.5+s.clock.ticks(inputMargin) < float64(in.list[0].Tick)
}

// answerTime returns when the oldest unanswered snapshot is best answered.
func (s *Session) answerTime() time.Duration { return s.owesSince + s.clock.answerDelay() }

// nextAnswer returns when the snapshot after the newest should have been answered.
func (s *Session) nextAnswer() time.Duration {
	c := &s.clock
	return c.updated + c.interval + c.answerDelay() + snapshotLateness
}

// answerDelay returns how long after its arrival a snapshot is best answered. Each end
// acknowledges a packet in the next one that it sends, or after maxAckDelay in a packet of
// its own (RATIONALE.md). So an update takes two packets instead of three if the answer is
// sent within maxAckDelay of the snapshot's arrival, and arrives within maxAckDelay of a
// snapshot's departure. For half of all round trip times an answer at once does both. A delayed
// answer still arrives before that snapshot is made, so baselines are no older.
func (c *clock) answerDelay() time.Duration {
	if !c.trips.any || c.interval == 0 {
		return 0
	}
	early := c.interval - c.trips.least()%c.interval - maxAckDelay
	if early > maxAckDelay { // the server acknowledges before that snapshot in any case
		return 0
	}
	return max(min(early+snapshotLateness, maxAckDelay-answerMargin), 0)
}

// inputWait returns how long after now inputDue may become true without anything arriving, if
// the newest Input is that old.
func (s *Session) inputWait(now, age time.Duration) time.Duration {
	wait := s.patience() - age
	switch {
	case s.holds(now):
		wait = min(wait, s.answerTime()-now)
	case s.joinsNext(now):
		wait = min(wait, s.nextAnswer()-now)
	case s.inputs.unsent > 0 && s.clock.tick != 0:
		ticks := float64(s.inputs.list[0].Tick) - s.inputTick(now) - 1
		wait = min(wait, time.Duration(ticks/float64(s.clock.hz)*float64(time.Second))+1)
	}
	return max(wait, 0)
}

// patience returns how long to wait for a snapshot before an Input is sent without
// one: two snapshot intervals, as the Welcome gave them. Without new inputs it uses
// the measured interval: a server too busy for all snapshots is spared Inputs that
// say nothing new. So is one that has nothing new itself.
func (s *Session) patience() time.Duration {
	if s.welcome == nil {
		return handshakeTimeout
	}
	interval := time.Second / time.Duration(s.welcome.SnapshotHz)
	switch {
	case s.inputs.unsent > 0:
	case s.clock.quiet && !s.unacked():
		interval = max(interval, maxInterval)
	default:
		interval = max(interval, min(s.clock.interval, maxInterval))
	}
	return 2 * interval
}
