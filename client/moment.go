package client

import (
	"unsafe"
)

// Moment is a moment of the server's time that a frame of the game shows: a
// little in the past, so that the states before and after it have arrived.
// Render makes one for each frame, and Component.At reads entities at it.
type Moment struct {
	// Tick is the moment in ticks, fractions included; 0 before the second
	// snapshot.
	Tick float64

	newest uint32  // tick that the replica knows
	guess  float64 // ticks that maxGuess is
}

// maxGuess is how far an entity goes on moving when snapshots fail to come, in
// seconds. Beyond a quarter second a guess is wrong more often than standing
// still is.
const maxGuess = 0.25

// At returns the component of e as it was at a moment, and false if e has none, or
// is nil. Between two states it is what lies between them: floats change evenly, angles
// and quaternions turn the shorter way, all else changes when its state is
// reached. An entity that has just come into view stands in its first state
// until the moment is there.
//
// A state which the newest snapshot did not renew stays as it is: nothing
// changed, or something more urgent did. If snapshots fail to come, fields with
// predict=linear go on as they did, for a quarter second at most.
func (c Component[T]) At(e *Entity, m Moment) (T, bool) {
	var v T
	if e == nil || e.mask>>c.number&1 == 0 {
		return v, false
	}
	from, to, ratio := e.states.at(m)
	a, b := c.words(e, from), c.words(e, to)
	if ticks := e.states.ticks(); c.jumps != nil && ratio > 0 && c.jumped(e, a, b, ticks[to]-ticks[from]) {
		ratio = min(float64(int(ratio)), 1) // the one state until the other is reached
	}
	c.schema.Blend(c.number, e.states.owned, a, b, ratio, unsafe.Pointer(&v))
	return v, true
}

// Jumping returns a component whose At does not show what lies between two
// states if jumps says that there is nothing: the entity was put from the one to
// the other within that many ticks. A game whose doors teleport compares the
// distance with the highest speed that it has.
func (c Component[T]) Jumping(jumps func(from, to T, ticks uint32) bool) Component[T] {
	c.jumps = jumps
	return c
}

func (c *Component[T]) jumped(e *Entity, from, to []uint32, ticks uint32) bool {
	var a, b T
	c.restore(e, from, &a)
	c.restore(e, to, &b)
	return c.jumps(a, b, ticks)
}

// at finds the two states that a moment is shown from, and how far it lies from
// the one (0) to the other (1).
func (s *history) at(m Moment) (from, to int, ratio float64) {
	from, to = s.around(m.Tick)
	switch {
	case from < 0:
		return to, to, 0 // before all states, of which it shows the oldest
	case to < 0:
		return s.beyond(from, m)
	}
	ticks := s.ticks()
	first, last := float64(ticks[from]), float64(ticks[to])
	first = max(first, float64(s.since(to)))
	return from, to, max(m.Tick-first, 0) / (last - first)
}

// beyond goes on from the newest state, at place last, while newer snapshots
// fail to come.
func (s *history) beyond(last int, m Moment) (from, to int, ratio float64) {
	ticks := s.ticks()
	from = s.preceding(last)
	if from < 0 || ticks[last] < m.newest || m.Tick <= float64(ticks[last]) {
		return last, last, 0
	}
	gap := float64(ticks[last] - ticks[from])
	return from, last, 1 + min(m.Tick-float64(ticks[last]), m.guess)/gap
}
