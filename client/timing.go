package client

import (
	"math"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// measure learns from the header of a State datagram that arrived at now: the round
// trip from its echo of an Input, and how late the snapshot is from its tick.
func (s *Session) measure(h wire.StateHeader, now time.Duration) {
	if h.Echo != 0 && h.Hold != math.MaxUint16 { // which means that long or longer
		trip := time.Duration(stampAt(now)-h.Echo)*stampUnit - time.Duration(h.Hold)*stampUnit
		s.rtt.Newest = max(trip, 0)
		s.rtt.Count++
		s.clock.trip(now, s.rtt.Newest)
		sent := s.clock.timeOf(h.Tick)
		s.inputs.told(now, h.Echo, sent-time.Duration(h.Hold)*stampUnit, sent)
	}
	before := s.clock.tick
	s.clock.snapshot(now, h.Tick)
	if h.Tick > before {
		s.renderer.snapshot(now, &s.clock, before)
	}
}

// Clock is what is known of the server's time at now, a time since the same
// moment as that of ReceiveDatagram.
func (s *Session) Clock(now time.Duration) Clock { return s.clock.estimate(now) }

// Render moves the clock of frames to now, and returns the moment that the frame
// is to show: of Tick 0 before the second snapshot. The first call has the replica
// keep the states that Component.At needs.
//
// The moment lies behind the server's by as much as snapshots need to arrive:
// all but one in fifty are there in time. When they come later that grows at
// once, and it shrinks by a fiftieth of the time that passes. Meanwhile frames
// run slower, by a quarter at most, or faster, by a tenth; they never go back.
func (s *Session) Render(now time.Duration) Moment {
	if s.replica == nil {
		return Moment{}
	}
	s.replica.span = uint32(math.Ceil(s.clock.ticks(maxDelay)))
	if s.renderer.delay.count == 0 {
		return Moment{}
	}
	tick := max(s.clock.ticks(s.renderer.frame(now, &s.clock)), 0)
	s.replica.shown = uint32(tick)
	return Moment{Tick: tick, newest: s.replica.tick, guess: maxGuess * float64(s.clock.hz)}
}
