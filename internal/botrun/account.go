package botrun

import (
	"cmp"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/printable"
)

// account counts what a bot received: in this visit since its Dial or the last lost connection,
// and before.
type account struct {
	*core
	past       outcome // of finished visits, and of this visit before an outage
	outage     outage
	begun      time.Time
	firstSeq   uint32 // 0 before the first snapshot
	highestSeq uint32
	tripsSeen  uint64
	latencies  []int64 // µs, since the last publish
}

// outcome is one bot's part of the report.
type outcome struct {
	failure   error // nil if the bot played to the end
	connected bool
	server    string // version of its game
	seconds   float64
	bytes     uint64
	expected  uint64
	received  uint64
	frames    uint64 // ticks for which the bot had a snapshot
	rows      uint64
	joins     []time.Duration // times from each dial to its first snapshot
	outages   outages
}

// plus merges two consecutive outcomes of one bot.
func (o outcome) plus(next outcome) outcome {
	return outcome{
		failure: next.failure, connected: o.connected || next.connected, server: cmp.Or(o.server, next.server),
		seconds: o.seconds + next.seconds, bytes: o.bytes + next.bytes,
		expected: o.expected + next.expected, received: o.received + next.received,
		frames: o.frames + next.frames, rows: o.rows + next.rows,
		joins: append(o.joins, next.joins...), outages: o.outages.plus(next.outages),
	}
}

// beginDial begins a visit.
func (a *account) beginDial(now time.Time) { a.begun = now }

// beginVisit begins to count for a client that received its Welcome.
func (a *account) beginVisit() { a.outage = outage{} }

// closeVisit adds the outcome of the last visit, and returns the outcome of all visits.
func (a *account) closeVisit(o outcome) outcome {
	a.past = a.past.plus(o)
	return a.past
}

// countUnanswered counts a command that the server may or may not have executed.
func (a *account) countUnanswered() { a.past.outages.unanswered++ }

// endVisit prepares for the next visit, whose Dial makes another client.
func (a *account) endVisit() { a.tripsSeen, a.firstSeq, a.highestSeq = 0, 0, 0 }

// playing reports whether a snapshot has arrived since the Dial or the last lost connection.
func (a *account) playing() bool { return a.firstSeq != 0 }

// measureSnapshot records the newest round trip and the sequence numbers.
func (a *account) measureSnapshot() {
	if s := a.client.Stats(); s.RoundTrips != a.tripsSeen {
		a.tripsSeen = s.RoundTrips
		a.latencies = append(a.latencies, (s.RoundTrip / 2).Microseconds())
	}
	newest := a.client.Replica().Stats().Ack.Newest
	if newest == 0 {
		return // a move has followed the snapshot
	}
	a.highestSeq = newest
	if a.firstSeq == 0 {
		a.firstSeq = newest
		if a.outage.count == 0 {
			a.past.joins = append(a.past.joins, time.Since(a.begun))
		}
	}
}

// visitSoFar returns the outcome of the current visit so far.
func (a *account) visitSoFar(now time.Time) outcome {
	if a.client == nil {
		return outcome{}
	}
	o := outcome{connected: true, server: printable.Text(a.client.Welcome().Version), seconds: now.Sub(a.begun).Seconds(), bytes: a.client.Stats().BytesReceived - a.outage.bytes}
	if a.firstSeq != 0 {
		o.expected = uint64(a.highestSeq - a.firstSeq + 1)
		o.received = min(a.snapshotsArrived()-a.outage.arrived, o.expected)
		o.frames = a.client.Replica().Stats().Frames - a.outage.frames
		o.rows = a.rowsReceived() - a.outage.rows
	}
	return o
}

// snapshotsArrived counts received snapshots. It includes those dropped because their slots
// were reused or the queue was full.
func (a *account) snapshotsArrived() uint64 {
	s := a.client.Replica().Stats()
	return s.Snapshots + s.Unreadable + s.Overflowed
}

// rowsReceived counts the rows that were received.
func (a *account) rowsReceived() uint64 {
	s := a.client.Replica().Stats()
	return s.Rows + s.RowsLate
}

// closeAtLoss closes the account of a lost connection, so that snapshots sent during the outage
// do not count as missing.
func (a *account) closeAtLoss(now time.Time, why error) {
	a.past = a.past.plus(a.visitSoFar(now))
	a.past.outages.lost++
	o := &a.outage
	o.count, o.lost, o.why = o.count+1, true, why
	o.arrived, o.frames, o.bytes = a.snapshotsArrived(), a.client.Replica().Stats().Frames, a.client.Stats().BytesReceived
	o.rows = a.rowsReceived()
	a.begun, a.firstSeq, a.highestSeq = now, 0, 0
}

// endOutage records a snapshot, which ends an outage.
func (a *account) endOutage(now time.Time) {
	o := &a.outage
	if o.lost {
		a.past.outages.recoveries = append(a.past.outages.recoveries, now.Sub(o.since))
		o.lost = false
	}
	o.since = now
}

// countRejoin counts the session in which the client continues after an outage.
func (a *account) countRejoin(s client.StateChange) {
	switch sum := &a.past.outages; {
	case s.Resumed, s.Restored:
		sum.resumed++
	case s.Moved, s.NewWorld:
		sum.newWorlds++
	default:
		sum.anew++
	}
}

// lostError returns why a bot has no connection at the end of a run, or nil.
func (a *account) lostError() error {
	if a.client == nil || a.client.State() != client.Reconnecting {
		return nil
	}
	return a.outage.errorAtEnd(time.Since(a.outage.since))
}
