package client

import "github.com/worldd/worldd/client/internal/predict"

// Moment is the server time that a render shows: slightly in the past, so that the
// states before and after it have arrived. Client.Render returns one for each picture,
// and Component.At reads entities at it.
type Moment struct {
	// Tick is the moment in ticks, with fractions; 0 before the second snapshot.
	Tick float64

	render predict.Render
}

// forPrediction returns the moment for a prediction.
func (m Moment) forPrediction() predict.Moment { return predict.Moment{Tick: m.Tick, Render: m.render} }

// maxExtrapolate is how long motion is extrapolated when snapshots stop, in seconds. After a
// quarter second extrapolation is wrong more often than standing still.
const maxExtrapolate = 0.25

// At returns the component of e at moment m, and false if e lacks it or is nil. Between two
// states, numbers change linearly, angles and quaternions along the shorter arc; all other
// fields change when the second state is reached. Strings and []byte have their newest values.
// An entity that has just entered stays in its first state until the moment passes it, and one
// that the server teleported is shown where it was until the tick of the teleport.
//
// If the newest snapshot has no row of e, its state holds: either nothing changed, or rows of
// higher priority filled the snapshot. If snapshots stop, fields with predict=linear are
// extrapolated for at most a quarter second.
func (c Component[T]) At(e *Entity, m Moment) (T, bool) {
	var v T
	n := c.numberIn(e)
	if n < 0 {
		return v, false
	}
	from, to, ratio := e.states.statesAt(m)
	a, b := e.valuesOf(n, from), e.valuesOf(n, to)
	if ticks := e.states.ticks(); c.jumps != nil && ratio > 0 && c.hasJumped(e, n, a, b, ticks[to]-ticks[from]) {
		ratio = min(float64(int(ratio)), 1) // no blending: the first state until the second is reached
	}
	e.layout.rows.Component(n).Blend(e.states.owned, a, b, ratio, &v)
	if e.isBody(n) {
		c.setComputed(e, m, &v)
	}
	c.setTexts(e, n, &v)
	return v, true
}

// setComputed sets the body in v to e's body at m, if the client computes it.
func (c *Component[T]) setComputed(e *Entity, m Moment, v *T) {
	s, from, to, ok := e.layout.bodies.At(e.index, m.Tick, m.render.MaxExtrapolate)
	if !ok {
		return
	}
	if c.jumps != nil {
		a, b := *v, *v
		c.setBody(e, &from, &a)
		c.setBody(e, &to, &b)
		if c.jumps(a, b, 1) {
			s = from
		}
	}
	c.setBody(e, &s, v)
}

// Jumping returns a component whose At does not interpolate between two states, ticks apart, if
// jumps reports that a value jumped between them: something else than a teleport, of which the
// server tells (world.World.MarkTeleported). Strings and []byte are empty in from and to.
func (c Component[T]) Jumping(jumps func(from, to T, ticks uint32) bool) Component[T] {
	c.jumps = jumps
	return c
}

func (c *Component[T]) hasJumped(e *Entity, n int, from, to []uint32, ticks uint32) bool {
	var a, b T
	restoreInto(e, n, from, &a)
	restoreInto(e, n, to, &b)
	return c.jumps(a, b, ticks)
}

// statesAt returns the two states to blend at moment m, and the position of m between them from
// 0 to 1. A ratio above 1 extrapolates.
func (s *history) statesAt(m Moment) (from, to int, ratio float64) {
	from, to = s.statesAround(m.Tick)
	switch {
	case from < 0:
		return to, to, 0 // before all states: the oldest
	case to < 0:
		return s.extrapolateFrom(from, m)
	}
	ticks := s.ticks()
	if teleport := s.teleportOf(to); teleport > ticks[from] {
		return from, to, stepAt(m.Tick, teleport)
	}
	first, last := float64(ticks[from]), float64(ticks[to])
	first = max(first, float64(s.blendFrom(to)))
	return from, to, max(m.Tick-first, 0) / (last - first)
}

// extrapolateFrom extrapolates from the newest state, last, if it belongs to the replica's
// newest tick.
func (s *history) extrapolateFrom(last int, m Moment) (from, to int, ratio float64) {
	ticks := s.ticks()
	from = s.stateBefore(last)
	if from < 0 || s.teleportOf(last) > ticks[from] || ticks[last] < m.render.Newest || m.Tick <= float64(ticks[last]) {
		return last, last, 0
	}
	gap := float64(ticks[last] - ticks[from])
	return from, last, 1 + min(m.Tick-float64(ticks[last]), m.render.MaxExtrapolate)/gap
}

// stepAt returns 0 before a tick, and 1 from then on.
func stepAt(moment float64, tick uint32) float64 {
	if moment < float64(tick) {
		return 0
	}
	return 1
}
