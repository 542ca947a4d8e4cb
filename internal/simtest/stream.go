package simtest

import (
	"math/rand/v2"
	"slices"
)

// backoffMax bounds how far the time between two attempts grows: eight round
// trips, as a transport's probe timer would after three doublings. More would
// only make tests that heal a cut wait longer.
const backoffMax = 8

// StreamStats counts bytes since the stream was made, and attempts that failed.
type StreamStats struct {
	Sent            int // bytes given to Send
	Delivered       int // bytes handed out by Receive
	Pending         int // bytes under way, or arrived behind a gap
	Retransmissions int // attempts that were lost and are made again
}

// A Stream carries bytes one way, reliably and in order. What one call of Send
// is given travels as one segment; a lost segment is sent again after a round
// trip, then two, four and eight, and everything behind it waits, as on a real
// reliable stream. Duplicate and Reorder have no meaning here: a transport
// hides both.
type Stream struct {
	conditions Conditions
	seed       uint64
	segments   []segment
	number     uint64
	now        int64 // newest time seen
	stats      StreamStats
}

// A segment is one call's bytes. Its dice are its own, so that its way does not
// depend on how often the receiver looks.
type segment struct {
	data    []byte
	dice    *rand.Rand
	attempt int64 // time of the next attempt, or of arrival once sent
	backoff int64
	sent    bool
}

// NewStream returns an empty stream whose dice depend on seed alone.
func NewStream(seed uint64, c Conditions) *Stream {
	return &Stream{conditions: c, seed: seed}
}

// Send puts a copy of p under way at time now.
func (s *Stream) Send(now int64, p []byte) {
	s.advance(now)
	if len(p) == 0 {
		return
	}
	s.number++
	s.segments = append(s.segments, segment{
		data:    slices.Clone(p),
		dice:    rand.New(rand.NewPCG(s.seed, s.number)),
		attempt: now,
		backoff: 1,
	})
	s.stats.Sent += len(p)
	s.stats.Pending += len(p)
	s.advance(now)
}

// Receive returns the bytes that have arrived in order by time now, and nil if
// there are none. The caller owns what it is given.
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

// advance makes every attempt that falls due up to now, under the present
// conditions.
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
	lost, late := g.dice.Float64(), g.dice.Float64()
	if lost >= s.conditions.Loss {
		g.sent = true
		g.attempt += s.conditions.delay(late)
		return
	}
	s.stats.Retransmissions++
	roundTrip := max(2*max(s.conditions.DelayMin, s.conditions.DelayMax), 1)
	if s.conditions.Loss >= 1 {
		// Cut: no attempt before now can succeed, so do not make them all.
		g.attempt = s.now
	}
	g.attempt += roundTrip * g.backoff
	g.backoff = min(2*g.backoff, backoffMax)
}

// SetConditions replaces the conditions for every attempt after the newest time
// that the stream has seen. Segments on their way keep their arrival (L4).
func (s *Stream) SetConditions(c Conditions) { s.conditions = c }

// Quiet reports whether nothing is under way.
func (s *Stream) Quiet() bool { return len(s.segments) == 0 }

// Stats returns the counts so far.
func (s *Stream) Stats() StreamStats { return s.stats }
