package client

import (
	"math"
	"time"

	"github.com/worldd/worldd/client/internal/predict"
	"github.com/worldd/worldd/replication/wire"
)

// timing is a session's estimate of the server's time, and the moment that renders show.
type timing struct {
	clock      clock
	renderer   renderer
	roundTrip  time.Duration // the newest
	roundTrips uint64
	arrived    snapshotTicks
	snapshotHz int // as the Welcome says; 0: unknown
}

// restartAt forgets what was measured in another session or room, except round trips.
func (t *timing) restartAt(m *wire.Welcome) {
	*t = timing{roundTrip: t.roundTrip, roundTrips: t.roundTrips, clock: clock{hz: int(m.TickHz)}}
	t.setRate(m)
}

// resumeAt continues over another connection, whose snapshot rate may differ.
func (t *timing) resumeAt(m *wire.Welcome) {
	t.renderer.resumeShowing()
	t.setRate(m)
}

func (t *timing) setRate(m *wire.Welcome) {
	t.snapshotHz = int(m.SnapshotHz)
	t.arrived.setInterval(intervalOf(m))
}

// echo is a snapshot's report on the newest Input that the server has received. Times are the
// server's.
type echo struct {
	stamp   uint32        // of the Input; 0: the snapshot says nothing
	arrived time.Duration // when the Input did
	sent    time.Duration // when the snapshot was
}

// measureTrip returns the echo in the header of a State datagram that arrived at now, and
// measures the round trip by it.
func (t *timing) measureTrip(h wire.StateHeader, now time.Duration) echo {
	if h.Echo == 0 || h.Hold == math.MaxUint16 { // MaxUint16 stands for any longer hold too
		return echo{}
	}
	hold := time.Duration(h.Hold) * stampUnit
	t.roundTrip = max(time.Duration(stampAt(now)-h.Echo)*stampUnit-hold, 0)
	t.roundTrips++
	t.clock.addTrip(now, t.roundTrip)
	sent := t.clock.timeOf(h.Tick)
	return echo{h.Echo, sent - hold, sent}
}

// measureSnapshot measures the lateness of a snapshot that arrived at now.
func (t *timing) measureSnapshot(h wire.StateHeader, now time.Duration) {
	newer := t.arrived.addDatagram(h)
	t.clock.addSnapshot(now, h.Tick)
	if newer {
		before := t.arrived.before
		t.clock.addInterval(before, h.Tick)
		t.renderer.addSnapshot(now, &t.clock, before)
	}
}

// Render returns the moment to show at now; its Tick is 0 before the second snapshot. From the
// first call on, the replica keeps the states that Component.At needs. Render calls the
// functions of OnEventRendered for the events up to the moment.
//
// The moment lags far enough behind the server's time for all but one in fifty snapshots of the
// last four seconds to arrive in time; a single late snapshot changes nothing. When more are
// late the lag grows at once; when fewer are, half of the excess is gone after 1.4 s. Meanwhile
// the moment runs at most a quarter slower or a tenth faster than time. It never goes back
// (C4).
func (s *Session) Render(now time.Duration) Moment {
	if s.replica == nil {
		return Moment{}
	}
	t, r := &s.time, s.replica
	r.keepStates(uint32(math.Ceil(t.clock.ticksIn(maxDelay))))
	if t.renderer.delay.count == 0 {
		return Moment{}
	}
	tick := t.showAt(now)
	r.showUntil(uint32(tick))
	return Moment{
		Tick: tick,
		render: predict.Render{
			Newest: r.timeline.tick, MaxExtrapolate: maxExtrapolate * float64(t.clock.hz),
			Now: now, InputTick: s.uplink.inputTick(t, now),
		},
	}
}

// showAt moves the shown moment to now, and returns its tick.
func (t *timing) showAt(now time.Duration) float64 {
	t.renderer.advanceTo(now, &t.clock)
	return t.shownTick()
}

// viewTick is one tick in the unit of view moments.
const viewTick = 256

// shownTick returns the moment of the newest Render in ticks. It is rounded down to a multiple
// of 1/viewTick, so that an input or a command names exactly the moment that was drawn.
func (t *timing) shownTick() float64 {
	return math.Floor(max(t.clock.ticksIn(t.renderer.shown), 0)*viewTick) / viewTick
}

// viewMoment returns the moment of the newest Render relative to an input's tick. It is 0
// before the first Render, or if the moment is not before the tick.
func (t *timing) viewMoment(tick uint32) (back uint32, fraction uint8) {
	if !t.renderer.on {
		return 0, 0
	}
	moment := t.shownTick()
	whole := math.Floor(moment)
	before := float64(tick) - whole
	if before < 1 || before > wire.MaxView {
		return 0, 0
	}
	return uint32(before), uint8((moment - whole) * viewTick)
}

// commandView returns the moment of the newest Render for a command, in 1/256 ticks; 0: none.
func (t *timing) commandView() uint64 {
	if !t.renderer.on {
		return 0
	}
	return uint64(min(t.shownTick(), math.MaxUint32) * viewTick)
}

const (
	// maxDelay bounds how far in the past the moment is: computed bodies keep the states of the
	// last second.
	maxDelay = 500 * time.Millisecond
	// While the delay changes, the moment runs slower by at most 1/slowShare of passing time,
	// or faster by at most 1/fastShare. Slow motion is more visible than fast motion, but
	// running out of snapshots stutters.
	slowShare = 4
	fastShare = 10
	// burstShare defines a burst: snapshots that arrive within 1/burstShare of the snapshot
	// interval.
	burstShare = 8
)

// renderer computes the moment to show. It lags behind the server's time by the snapshots'
// delay, and never goes back (C4).
type renderer struct {
	on      bool
	resumed bool          // no snapshot has arrived since the session resumed
	arrived time.Duration // when the newest snapshot arrived
	delay   allowance
	shown   time.Duration // server time of the newest render
	updated time.Duration
}

// resumeShowing notes that the session resumes: the next snapshot's delay says nothing about the link.
func (r *renderer) resumeShowing() { r.resumed = true }

// addSnapshot records the arrival of the first snapshot of a tick, and the delay that a render
// needed to have this state in time: the server's time minus the tick of the snapshot before.
// So late, lost and infrequent snapshots count alike. Snapshots that arrive in a burst, after a
// stall of the link, count as one: the first was the latest.
func (r *renderer) addSnapshot(now time.Duration, c *clock, before uint32) {
	together := now-r.arrived < c.interval/burstShare
	r.arrived = now
	if before != 0 && !r.resumed && !together {
		r.delay.addDelay(now, min(c.serverTime(now)-c.timeOf(before), maxDelay))
	}
	r.resumed = false
}

// advanceTo moves to now and returns the server time to show.
func (r *renderer) advanceTo(now time.Duration, c *clock) time.Duration {
	target := c.serverTime(now) - r.delay.value
	passed := max(now-r.updated, 0)
	r.updated = now
	ahead := r.shown + passed - target
	switch {
	case !r.on:
		r.on, r.shown = true, target
	case ahead < -maxDelay: // too far to catch up
		r.shown = target
	case ahead > maxDelay: // the server's time went back: wait
	default:
		r.shown += passed - min(max(ahead, -passed/fastShare), passed/slowShare)
	}
	return r.shown
}

const (
	// allowanceSamples bounds the delays that an allowance considers. allowanceSpan bounds
	// their age, except for the newest minOutlier.
	allowanceSamples = 128
	allowanceSpan    = 4 * time.Second
	// minOutlier is the least number of delays at which one may count as an outlier.
	minOutlier = 8
	// allowanceFade is the time in which an allowance would lose its excess at the initial
	// rate. The rate falls: half of the excess is gone after 1.4 s.
	allowanceFade = 2 * time.Second
)

// allowance is the time to allow for a varying delay. One in fifty delays of the last four
// seconds may exceed it, or one of eight if there are few. It grows at once, because too short
// a wait is visible, and shrinks smoothly: the moment then runs a little faster than time.
type allowance struct {
	value   time.Duration
	updated time.Duration
	count   int
	samples [allowanceSamples]delaySample // the newest, by count
}

type delaySample struct{ at, delay time.Duration }

func (a *allowance) addDelay(now, delay time.Duration) {
	a.samples[a.count%allowanceSamples] = delaySample{now, delay}
	a.count++
	want := a.wantedAt(now)
	passed := min(max(now-a.updated, 0), allowanceFade)
	a.updated = now
	if a.count == 1 {
		a.value = want
	}
	a.value = max(want, a.value-(a.value-want)*passed/allowanceFade)
}

// wantedAt returns the delay that only the allowed share of the newest samples exceeds.
func (a *allowance) wantedAt(now time.Duration) time.Duration {
	var largest [allowanceSamples/50 + 1]time.Duration // descending
	n := 0
	for ; n < min(a.count, allowanceSamples); n++ {
		s := &a.samples[(a.count-1-n)%allowanceSamples]
		if n >= minOutlier && now-s.at > allowanceSpan {
			break
		}
		delay := s.delay
		for i := range min(n, len(largest)) {
			if delay > largest[i] {
				largest[i], delay = delay, largest[i]
			}
		}
		if n < len(largest) {
			largest[n] = delay
		}
	}
	if n < minOutlier {
		return largest[0]
	}
	return largest[max(n/50, 1)]
}
