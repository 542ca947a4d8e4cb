package client

import (
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// inputSoon is how long after an input the next one is expected: a game renders at least 20
	// times a second, not quite evenly. Until then an acknowledgement waits for the next
	// input's datagram.
	inputSoon = 60 * time.Millisecond
	// maxInterval bounds the measured snapshot interval, so that a client that
	// receives nothing still sends, and checks its connection, twice a second.
	maxInterval = time.Second / 4
	// maxAckDelay is how long QUIC delays the acknowledgement of a packet, at either end.
	maxAckDelay = 25 * time.Millisecond
	// answerMargin is the least time between an answer and the moment at which QUIC would
	// acknowledge the snapshot by itself: timers fire late, especially on busy machines.
	answerMargin = 3 * time.Millisecond
	// inputMargin is the least time by which a delayed input arrives before its tick: the
	// server's work delays its snapshots, so its clock seems to run behind.
	inputMargin = 12 * time.Millisecond
	// snapshotLateness is how late a snapshot may be and still carry the server's
	// acknowledgement.
	snapshotLateness = 4 * time.Millisecond
)

// caller tells how the caller of a session spends the time between updates.
type caller uint8

const (
	callerRenders caller = iota
	callerSleeps         // sleeps until something has arrived or is due
)

// uplink decides when to send an Input datagram, and what is in it.
type uplink struct {
	inputs
	caller    caller
	sentAt    time.Duration // when the newest Input was made
	acked     ackWindow     // what the newest Input acknowledged
	owes      bool          // a snapshot has arrived since the newest Input
	owesSince time.Duration // when the oldest unanswered snapshot arrived
	datagram  []byte        // scratch
}

// receipt summarises what a session has received, for its uplink to answer.
type receipt struct {
	applied bool      // a replica exists: false before the first Welcome
	acks    ackWindow // acknowledgements of the replica
	held    bool      // snapshots wait for their structure
	stream  bool      // stream bytes wait to be sent
}

// receiptOf returns what a session has received, whose replica r is nil before the first Welcome.
func receiptOf(r *Replica, s *stream) receipt {
	if r == nil {
		return receipt{stream: len(s.out) > 0}
	}
	return receipt{applied: true, acks: r.timeline.acks, held: len(r.held) > 0, stream: len(s.out) > 0}
}

// InputDue reports whether to send Input at now. datagrams is the number that arrived since the
// last Input and were not Duplicate.
func (s *Session) InputDue(datagrams int, now time.Duration) bool {
	return s.uplink.inputDue(&s.time, receiptOf(s.replica, &s.stream), datagrams, now, now-s.uplink.sentAt)
}

// setCaller tells how the caller spends the time until the next update.
func (u *uplink) setCaller(c caller) { u.caller = c }

// forgetInputs forgets the inputs of another session or room.
func (u *uplink) forgetInputs() { u.inputs = inputs{} }

// noteSnapshot notes that a snapshot has arrived that is to be answered.
func (u *uplink) noteSnapshot(now time.Duration) {
	if !u.owes {
		u.owes, u.owesSince = true, now
	}
}

// nextInput returns the datagram to send at now.
func (u *uplink) nextInput(t *timing, now time.Duration, r *Replica) []byte {
	stamp := stampAt(now)
	u.sentAt = now
	list := u.takeNewest(t, now, stamp, u.caller == callerSleeps, r.timeline.input) // holds may have made it wait: no part of lead
	u.acked, u.owes = r.timeline.acks, false
	m := wire.Input{Stamp: stamp, Ack: r.acknowledgement(), Inputs: list}
	u.datagram = m.Append(u.datagram[:0])
	return u.datagram
}

// inputDue reports whether to send an Input. datagrams arrived since the last Input, which is
// age old.
//
// A new input is sent at once, but at most one per tick. A second input for the same tick gets
// the next tick and waits until that tick is due. Sent at once, it would be followed by one for
// the tick after, and a game that renders faster than ticks would aim ever further ahead.
//
// Otherwise one Input answers everything that arrived, unless an Input with a new input is
// about to be sent. A snapshot that waits for its structure is answered once it can be
// acknowledged. Without snapshots Inputs are still sent, since only the other direction may
// work. waitsForAnswer and joinsNext can delay either kind.
func (u *uplink) inputDue(t *timing, w receipt, datagrams int, now, age time.Duration) bool {
	joins := u.joinsNext(t, now)
	switch {
	case u.isOverdue(t, w, age):
		return true
	case u.waitsForAnswer(t, now):
		return false
	case u.unsent > 0 && u.targetTick(t, now) >= u.list[0].Tick && !joins:
		return true
	case len(u.list) > 0 && now-u.set < inputSoon && age < inputSoon && !joins:
		return false
	}
	return u.hasUnacked(w) || w.applied && (datagrams > 0 || u.owes && u.caller == callerSleeps) && !w.held
}

// isOverdue reports whether an Input must be sent now, given the age of the newest.
func (u *uplink) isOverdue(t *timing, w receipt, age time.Duration) bool {
	return age >= u.maxSilence(t, w) || u.unsent >= maxUnsent || u.hasUnacked(w) && w.stream
}

// hasUnacked reports whether snapshots were applied since the newest Input.
func (u *uplink) hasUnacked(w receipt) bool { return w.applied && w.acks != u.acked }

// waitsForAnswer reports whether an Input should wait for answerTime, because that saves a packet and
// delays nothing: the caller sleeps until then, and a new input still arrives inputMargin before
// its tick. At 60 ticks a second a new input never waits.
func (u *uplink) waitsForAnswer(t *timing, now time.Duration) bool {
	if !u.owes || u.caller != callerSleeps {
		return false
	}
	at := u.answerTime(&t.clock)
	return now < at && (u.unsent == 0 || u.mayWait(t, at))
}

// joinsNext reports whether the new input should wait for the answer to the next snapshot: it
// was set for a tick later than its target, and still arrives inputMargin before that tick.
// A separate datagram would cost a packet, and a game that sets an input on each snapshot would
// stay a tick ahead.
func (u *uplink) joinsNext(t *timing, now time.Duration) bool {
	if u.caller != callerSleeps || !u.early {
		return false
	}
	at := nextAnswerTime(&t.clock)
	return now < at && u.mayWait(t, at)
}

// mayWait reports whether the only unsent input, if sent at at, still arrives inputMargin
// before its tick.
func (u *uplink) mayWait(t *timing, at time.Duration) bool {
	return u.unsent == 1 && u.inputTick(t, at)-0.5+t.clock.ticksIn(inputMargin) < float64(u.list[0].Tick)
}

// answerTime returns when the oldest unanswered snapshot is best answered.
func (u *uplink) answerTime(c *clock) time.Duration { return u.owesSince + answerDelay(c) }

// nextAnswerTime returns when the next snapshot should be answered.
func nextAnswerTime(c *clock) time.Duration {
	return c.updated + c.interval + answerDelay(c) + snapshotLateness
}

// answerDelay returns the best delay between a snapshot's arrival and its answer. Each end
// acknowledges a packet in the next one that it sends, or after maxAckDelay in an extra packet
// (RATIONALE.md). So an update takes two packets instead of three if the answer is sent within
// maxAckDelay of the snapshot's arrival, and reaches the server within maxAckDelay of its next
// snapshot. For half of all round trip times an immediate answer does both. A delayed answer
// still arrives before the next snapshot is made, so baselines are no older.
func answerDelay(c *clock) time.Duration {
	if !c.trips.any || c.interval == 0 {
		return 0
	}
	early := c.interval - c.trips.leastValue()%c.interval - maxAckDelay
	if early > maxAckDelay { // the server's extra packet cannot be avoided
		return 0
	}
	return max(min(early+snapshotLateness, maxAckDelay-answerMargin), 0)
}

// inputWait returns the time from now after which inputDue may become true though nothing
// arrives, given the age of the newest Input.
func (u *uplink) inputWait(t *timing, w receipt, now, age time.Duration) time.Duration {
	wait, c := u.maxSilence(t, w)-age, &t.clock
	switch {
	case u.waitsForAnswer(t, now):
		wait = min(wait, u.answerTime(c)-now)
	case u.joinsNext(t, now):
		wait = min(wait, nextAnswerTime(c)-now)
	case u.unsent > 0 && c.tick != 0:
		ticks := float64(u.list[0].Tick) - u.inputTick(t, now) - 1
		wait = min(wait, time.Duration(ticks/float64(c.hz)*float64(time.Second))+1)
	}
	return max(wait, 0)
}

// maxSilence returns how long to wait for a snapshot before an Input is sent without one: two
// snapshot intervals of the Welcome. Without unsent inputs it uses the measured interval, which
// spares a server that is too busy for all snapshots. Once the newest
// snapshot was empty and acknowledged, the interval is at least maxInterval.
func (u *uplink) maxSilence(t *timing, w receipt) time.Duration {
	if t.snapshotHz == 0 {
		return handshakeTimeout
	}
	interval, c := time.Second/time.Duration(t.snapshotHz), &t.clock
	switch {
	case u.unsent > 0:
	case t.arrived.empty != 0 && !u.hasUnacked(w):
		interval = max(interval, maxInterval)
	default:
		interval = max(interval, min(c.interval, maxInterval))
	}
	return 2 * interval
}
