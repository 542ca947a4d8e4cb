package motion

import (
	"math"
	"slices"
)

// hysteresis times RestSpeed is the speed at which a body counts as moving. At a speed in
// between, the body neither rests nor moves, and its rest timer stands still. A speed that
// trembles around RestSpeed thus does not keep the body awake forever.
const hysteresis = 2

// slackShare is the share of the forces on a held body that may remain unbalanced: the
// forces on a body that effects carry balance only up to rounding.
const slackShare = 1.0 / 4096

// CountRest updates an awake row's rest timer after a tick of motion, and reports whether
// the body has rested for RestTicks. It may then fall asleep if it is still (FindStill),
// which requires zero velocity and a zero timer.
func (s *Stepper) CountRest(b *Bodies, row int) bool {
	k, v := &s.Kinds[b.Kind[row]], b.Velocity(row)
	switch {
	case s.isResting(k, v):
		b.Rest[row] = min(b.Rest[row]+1, s.RestTicks)
	case !s.NearRest(k, v):
		b.Rest[row] = 0
	}
	return b.Rest[row] >= s.RestTicks
}

// FindStill keeps the rows whose bodies the tick of f would leave where they are: they are
// held, and no effect that changes with time acts on them. It restarts the timers of the
// others.
func (s *Stepper) FindStill(c *Batch, f *Forces, b *Bodies, rows []int32) (still []int32) {
	rows = s.FindUnchanging(f, b, rows)
	still = rows[:0]
	for some := range slices.Chunk(rows, BatchRows) {
		s.sumForcesAt(c, f, b, some)
		for i, row := range some {
			if p := s.push(c, &s.Kinds[b.Kind[row]], i, b.Position(int(row))); p.isHeld(s) {
				still = append(still, row)
			} else {
				b.Rest[row] = 0
			}
		}
	}
	return still
}

// FindUnchanging keeps the rows on which no effect acts that changes with time. It restarts the
// timers of the others.
func (s *Stepper) FindUnchanging(f *Forces, b *Bodies, rows []int32) (kept []int32) {
	kept = rows[:0]
	for _, row := range rows {
		if f.ChangeAt(&s.Kinds[b.Kind[row]], b.Position(int(row))) {
			b.Rest[row] = 0
		} else {
			kept = append(kept, row)
		}
	}
	return kept
}

// Push returns what the tick of f would do to a row's body from rest where it is now.
func (s *Stepper) Push(c *Batch, f *Forces, b *Bodies, row int32) Push {
	s.sumForcesAt(c, f, b, []int32{row})
	return s.push(c, &s.Kinds[b.Kind[row]], 0, b.Position(int(row)))
}

// Push is the motion that a tick would give a body at rest.
type Push struct {
	V     Vec3 // velocity after the tick; 0 if no coordinate exceeds slack
	Way   Vec3
	slack float32
}

// isHeld reports whether the tick leaves the body where it is: the ground, a bound or
// effects undo what forces do to it.
func (p *Push) isHeld(s *Stepper) bool {
	return p.V == Vec3{} && within(p.Way, float32(p.slack*s.TickSeconds))
}

// sumForcesAt sums the effects at some rows, at most BatchRows.
func (s *Stepper) sumForcesAt(c *Batch, f *Forces, b *Bodies, rows []int32) {
	some := c.collect(b, rows)
	s.sumForces(c, f, &some, 0, len(rows))
}

// workAt returns the number of points at which FindStill evaluates effects for rows.
func (c *Batch) workAt(f *Forces, b *Bodies, rows []int32) (points int) {
	for some := range slices.Chunk(rows, BatchRows) {
		at := c.collect(b, some)
		points += f.blockWork(&at, len(some))
	}
	return points
}

// collect returns the positions and kinds of some rows, at most BatchRows, in the memory of c.
func (c *Batch) collect(b *Bodies, rows []int32) Bodies {
	at := &c.positions
	for i, row := range rows {
		at.x[i], at.y[i], at.z[i], c.kinds[i] = b.Pos.X[row], b.Pos.Y[row], b.Pos.Z[row], b.Kind[row]
	}
	return Bodies{Pos: at.first(len(rows)), Kind: c.kinds[:len(rows)]}
}

// push is Push for row i of the batch. The row's forces must be summed already.
func (s *Stepper) push(c *Batch, k *Kind, i int, at Vec3) Push {
	if k.InvMass == 0 {
		return Push{}
	}
	v, slack := s.applyForces(c, k, i, Vec3{}), s.slack(c, k, i)
	if square := v.Dot(v); !(square <= overflow) {
		v = Vec3{}
	} else if square > MaxSpeed*MaxSpeed {
		v = CapSpeed(v)
	}
	to, v := s.advance(k, at, v)
	if within(v, slack) {
		v = Vec3{}
	}
	return Push{v, to.Sub(at), slack}
}

// slack returns the speed that forces on a held body, row i of the batch, may cause because
// they balance only up to rounding.
func (s *Stepper) slack(c *Batch, k *Kind, i int) float32 {
	sum := s.Fall
	for _, p := range [][2]*[BatchRows]float32{{&c.wind.x, &c.push.x}, {&c.wind.y, &c.push.y}, {&c.wind.z, &c.push.z}} {
		if c.windy {
			sum += abs(float32(p[0][i] * k.Coupling))
		}
		if c.pushed {
			sum += abs(float32(p[1][i] * s.TickSeconds))
		}
	}
	return float32(sum * slackShare)
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// within reports whether no coordinate exceeds slack.
func within(v Vec3, slack float32) bool {
	return abs(v.X) <= slack && abs(v.Y) <= slack && abs(v.Z) <= slack
}

// isResting reports whether a velocity counts as rest. A kinematic body, which the game
// steers, rests only at zero velocity. (Its square may underflow.)
func (s *Stepper) isResting(k *Kind, v Vec3) bool {
	if k.InvMass == 0 {
		return v == Vec3{}
	}
	return v.Dot(v) <= s.restSquare
}

// NearRest reports whether a velocity is too low to count as moving.
func (s *Stepper) NearRest(k *Kind, v Vec3) bool {
	if k.InvMass == 0 {
		return v == Vec3{}
	}
	return v.Dot(v) <= s.moveSquare
}
