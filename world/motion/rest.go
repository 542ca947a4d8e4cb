package motion

// hysteresis times RestSpeed is the speed at which a body counts as moving. In between
// it neither rests nor moves and its rest timer stands still, so that a speed trembling
// around RestSpeed does not keep it awake forever.
const hysteresis = 2

// CountRest updates an awake row's rest timer after a tick of motion, and reports whether
// the body has rested for RestTicks. It may then fall asleep, which requires zero
// velocity and a zero timer.
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

// Settle is CountRest for a body that touches no other: it falls asleep if it has rested.
// Settle reports whether it did.
func (s *Stepper) Settle(b *Bodies, row int) bool {
	if !s.CountRest(b, row) {
		return false
	}
	b.FallAsleep(row)
	return true
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
