package simtest

import (
	"math/rand/v2"
	"slices"
)

// backoffMax bounds the time between two attempts, in round trips: a transport's probe
// timer after three doublings. A larger bound would only slow down tests in which a cut
// ends.
const backoffMax = 8

// StreamStats counts bytes since the stream was made, and failed attempts.
type StreamStats struct {
	Sent            int // bytes given to Send
	Delivered       int // bytes handed out by Receive
	Pending         int // bytes in flight, or received behind a gap
	Retransmissions int // lost attempts; each is repeated
}

// A Stream carries bytes one way, reliably and in order. The bytes of one Send travel as
// one segment. A lost segment is sent again after one round trip, then after two, four and
// eight. It blocks all later segments, as on a real stream. Duplicate and Reorder have no
// effect: a transport hides both.
type Stream struct {
	conditions Conditions
	seed       uint64
	segments   []segment
	number     uint64
	now        int64 // newest time seen
	stats      StreamStats
}

// A segment holds the bytes of one Send. It has its own random numbers, so that its
// arrival does not depend on how often Receive is called.
type segment struct {
	data    []byte
	rng     *rand.Rand
	attempt int64 // time of the next attempt, or of arrival once one succeeds
	backoff int64
	sent    bool
}

// NewStream returns an empty stream whose randomness depends on seed alone.
func NewStream(seed uint64, c Conditions) *Stream {
	return &Stream{conditions: c, seed: seed}
}

// Send copies p into flight at time now.
func (s *Stream) Send(now int64, p []byte) {
	s.advance(now)
	if len(p) == 0 {
		return
	}
	s.number++
	s.segments = append(s.segments, segment{
		data:    slices.Clone(p),
		rng:     rand.New(rand.NewPCG(s.seed, s.number)),
		attempt: now,
		backoff: 1,
	})
	s.stats.Sent += len(p)
	s.stats.Pending += len(p)
	s.advance(now)
}

// Receive returns the bytes that arrived in order by time now, or nil. The caller owns
// them.
func (s *Stream) Receive(now int64) []byte {
	s.advance(now)
	var arrived []byte
	taken := 0
	for _, g := range s.segments {
		if !g.sent || g.attempt > now {
			break
		}
		arrived = append(arrived, g.data...)
		taken++
	}
	s.segments = slices.Delete(s.segments, 0, taken)
	s.stats.Delivered += len(arrived)
	s.stats.Pending -= len(arrived)
	return arrived
}

// advance makes every attempt that is due at now, under the current conditions.
func (s *Stream) advance(now int64) {
	s.now = max(s.now, now)
	for i := range s.segments {
		g := &s.segments[i]
		for !g.sent && g.attempt <= s.now {
			s.try(g)
		}
	}
}

func (s *Stream) try(g *segment) {
	lost, late := g.rng.Float64(), g.rng.Float64()
	if lost >= s.conditions.Loss {
		g.sent = true
		g.attempt += s.conditions.delay(late)
		return
	}
	s.stats.Retransmissions++
	roundTrip := max(2*max(s.conditions.DelayMin, s.conditions.DelayMax), 1)
	if s.conditions.Loss >= 1 {
		// Cut: no attempt before now can succeed, so skip them.
		g.attempt = s.now
	}
	g.attempt += roundTrip * g.backoff
	g.backoff = min(2*g.backoff, backoffMax)
}

// SetConditions sets the conditions for attempts after the latest time that the stream
// has seen. Segments whose attempt succeeded keep their arrival (L4).
func (s *Stream) SetConditions(c Conditions) { s.conditions = c }

// Quiet reports whether no segment is in flight.
func (s *Stream) Quiet() bool { return len(s.segments) == 0 }

// Stats returns the counts so far.
func (s *Stream) Stats() StreamStats { return s.stats }
