package motion

// hysteresis times RestSpeed is the speed at which a body moves. Between the two, a
// body neither rests nor moves: its rest timer stands still, so that a speed which
// trembles around the limit does not keep a body awake for ever.
const hysteresis = 2

// CountRest brings an awake row's rest timer up to date after a tick of motion, and
// reports whether the body has rested for RestTicks: it may then fall asleep, with
// no velocity and a zero timer.
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

// rests reports whether a velocity counts as rest. A kinematic body rests only when
// it does not move at all: the game steers it. (Its square may well underflow.)
func (s *Stepper) isResting(k *Kind, v Vec3) bool {
	if k.InvMass == 0 {
		return v == Vec3{}
	}
	return v.Dot(v) <= s.restSquare
}

// Drowsy reports whether a velocity is too low for a body that moves.
func (s *Stepper) NearRest(k *Kind, v Vec3) bool {
	if k.InvMass == 0 {
		return v == Vec3{}
	}
	return v.Dot(v) <= s.moveSquare
}
