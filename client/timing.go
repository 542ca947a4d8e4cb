package client

import (
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// maxTickGap is how far the tick of a held snapshot may be from the newest one, in seconds.
const maxTickGap = 2

// measure learns from the header of a State datagram that arrived at now: the round
// trip from its echo of an Input, and how late the snapshot is from its tick.
func (s *Session) measure(h wire.StateHeader, now time.Duration) {
	if h.Echo != 0 && h.Hold != math.MaxUint16 { // which means that long or longer
		trip := time.Duration(stampAt(now)-h.Echo)*stampUnit - time.Duration(h.Hold)*stampUnit
		s.rtt.Newest = max(trip, 0)
		s.rtt.Count++
		s.clock.trip(now, s.rtt.Newest)
		sent := s.clock.timeOf(h.Tick)
		s.inputs.echoed(now, h.Echo, sent-time.Duration(h.Hold)*stampUnit, sent)
	}
	before := s.clock.tick
	if s.clock.quiet && h.Seq == s.clock.seq+1 { // others would have been empty too, and were not sent
		before = max(before, h.Tick-min(h.Tick, s.intervalTicks()))
	}
	s.clock.snapshot(now, h.Tick, before)
	if h.Tick > before {
		s.renderer.snapshot(now, &s.clock, before)
		s.clock.seq, s.clock.quiet = h.Seq, h.Rows == 0 && len(h.Events) == 0
	}
}

// intervalTicks returns how many ticks the Welcome says are between two snapshots.
func (s *Session) intervalTicks() uint32 {
	return uint32(s.welcome.TickHz / s.welcome.SnapshotHz)
}

// distant reports whether a held snapshot's tick is far from the newest one. It may be of the next
// room, and have overtaken the Welcome of a move: its ticks are of another world.
func (c *clock) distant(tick uint32) bool {
	away := int64(tick) - int64(c.tick)
	return c.tick != 0 && max(away, -away) > maxTickGap*int64(c.hz)
}

// Clock returns the estimate of the server's time at now, which has ReceiveDatagram's
// origin.
func (s *Session) Clock(now time.Duration) Clock { return s.clock.estimate(now) }

// Render returns the moment to show at now; its Tick is 0 before the second snapshot.
// From the first call on, the replica keeps the states that Component.At needs. Render
// calls the functions of OnEventRendered for the events up to the moment.
//
// The moment lags behind the server's time so that all but one in fifty snapshots
// arrive in time. The lag grows at once when they are later, and shrinks by a fiftieth
// of the time that passes. Meanwhile the moment advances at most a quarter slower or a
// tenth faster than time; it never goes back (C4).
func (s *Session) Render(now time.Duration) Moment {
	if s.replica == nil {
		return Moment{}
	}
	s.replica.span = uint32(math.Ceil(s.clock.ticks(maxDelay)))
	if s.renderer.delay.count == 0 {
		return Moment{}
	}
	s.renderer.advance(now, &s.clock)
	tick := s.shownTick()
	r := s.replica
	r.shown = uint32(tick)
	r.deliverRendered(r.shown)
	return Moment{
		Tick: tick, newest: r.tick, maxExtrapolate: maxExtrapolate * float64(s.clock.hz),
		now: now, inputTick: s.inputTick(now),
	}
}

// viewTick is one tick in the unit of view moments.
const viewTick = 256

// shownTick returns the moment of the newest Render in ticks. It is rounded down to the unit
// of view moments, so that an input or a command names exactly what was drawn.
func (s *Session) shownTick() float64 {
	return math.Floor(max(s.clock.ticks(s.renderer.shown), 0)*viewTick) / viewTick
}

const (
	// maxDelay bounds how far in the past the moment is, and so the states kept.
	maxDelay = 500 * time.Millisecond
	// While the delay changes, the moment advances slower by at most a slowShare of
	// passing time, or faster by a fastShare. Running slow is more visible than
	// running fast, but running out of snapshots stutters.
	slowShare = 4
	fastShare = 10
)

// renderer computes the moment to show. It lags behind the server's time by as long as
// snapshots need to arrive, and never goes back (C4).
type renderer struct {
	on      bool
	resumed bool // no snapshot has arrived since the session resumed
	delay   allowance
	shown   time.Duration // server time of the newest render
	updated time.Duration
}

// snapshot records the arrival of the first snapshot of a tick. Until then the
// snapshot before was the newest, and a render that lagged by less had no later state.
// Late, lost and infrequent snapshots count alike.
func (r *renderer) snapshot(now time.Duration, c *clock, before uint32) {
	if before != 0 && !r.resumed {
		r.delay.add(now, min(c.server(now)-c.timeOf(before), maxDelay))
	}
	r.resumed = false
}

// advance moves to now and returns the server time to show.
func (r *renderer) advance(now time.Duration, c *clock) time.Duration {
	target := c.server(now) - r.delay.value
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
	// allowanceSamples is how many delays an allowance looks back: four seconds at 30
	// a second.
	allowanceSamples = 128
	// allowanceShare is the part of passing time by which an allowance shrinks: an
	// excess of 100 ms is gone after five seconds.
	allowanceShare = 50
)

// allowance is the time to allow for a delay that varies, exceeded by one in fifty. It
// grows at once, because too short a wait is visible, and shrinks slowly, because too
// long a wait hardly is.
type allowance struct {
	value   time.Duration
	updated time.Duration
	largest [allowanceSamples/50 + 1]time.Duration // of samples, descending
	count   int
	samples [allowanceSamples]time.Duration // the newest, by count
}

func (a *allowance) add(now, delay time.Duration) {
	i, n := a.count%allowanceSamples, min(a.count+1, allowanceSamples)
	was := a.samples[i]
	a.samples[i] = delay
	switch {
	case a.count < allowanceSamples:
		a.rank(delay, a.count)
	case was >= a.largest[len(a.largest)-1]: // it may be one of them
		for j, d := range &a.samples {
			a.rank(d, j)
		}
	default:
		a.rank(delay, n)
	}
	a.count++
	want := a.largest[n/50]
	passed := max(now-a.updated, 0)
	a.updated = now
	if a.count == 1 {
		a.value = want
	}
	a.value = max(want, a.value-passed/allowanceShare)
}

// rank adds a delay to largest, after that many samples.
func (a *allowance) rank(delay time.Duration, samples int) {
	for i := range min(samples, len(a.largest)) {
		if delay > a.largest[i] {
			a.largest[i], delay = delay, a.largest[i]
		}
	}
	if samples < len(a.largest) {
		a.largest[samples] = delay
	}
}
