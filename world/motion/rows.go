package motion

// integrateRows is Step after the forces, row by row: the definition. Products are
// rounded before they are added, which keeps the compiler from fusing them, so that
// every machine computes the same bits (M1).
func (s *Stepper) integrateRows(c *Batch, b *Bodies, from, to int) {
	for row := from; row < to; row++ {
		at, v := b.Position(row), b.Velocity(row)
		k := &s.Kinds[b.Kind[row]]
		next := s.applyForces(c, k, row-from, v)
		if !(next.Dot(next) <= MaxSpeed*MaxSpeed) {
			next = b.limit(row, next)
		}
		nextAt, next := s.advance(k, at, next)
		b.SetPosition(row, nextAt)
		b.SetVelocity(row, next)
		if nextAt != at || next != v {
			b.markMoved(row)
		}
	}
}

// applyForces returns the velocity after one tick of effects and gravity.
func (s *Stepper) applyForces(c *Batch, k *Kind, i int, v Vec3) Vec3 {
	if k.InvMass == 0 {
		return v
	}
	var wind Vec3
	if c.windy {
		wind = Vec3{c.wind.x[i], c.wind.y[i], c.wind.z[i]}
	}
	v.X = v.X + float32((wind.X-v.X)*k.Coupling) + 0 // + 0 turns -0 into +0, as any acceleration does (M2)
	v.Y = v.Y + float32((wind.Y-v.Y)*k.Coupling) + 0
	v.Z = v.Z + float32((wind.Z-v.Z)*k.Coupling) + 0
	if c.pushed {
		v.X += float32(c.push.x[i] * s.TickSeconds)
		v.Y += float32(c.push.y[i] * s.TickSeconds)
		v.Z += float32(c.push.z[i] * s.TickSeconds)
	}
	v.Y -= s.Fall
	return v
}

// advance returns the position and velocity after a tick at velocity v. The ground comes
// first: a body that would sink into it is put on it, and moves sideways with the
// velocity that friction leaves, so that wind does not make it creep.
func (s *Stepper) advance(k *Kind, at, v Vec3) (Vec3, Vec3) {
	at.Y += float32(v.Y * s.TickSeconds)
	if at.Y <= k.Radius && k.InvMass != 0 {
		depth := k.Radius - at.Y
		at.Y = k.Radius
		v = s.land(k, v, depth)
	}
	at.X += float32(v.X * s.TickSeconds)
	at.Z += float32(v.Z * s.TickSeconds)
	return s.Enclose(k, at, v)
}

// land returns the velocity after touching the ground, given the depth to which the body
// would have sunk. The impact happened earlier in the tick, at a lower speed: without
// subtracting the difference, a body lifted back to the ground would gain energy with each
// bounce and never rest.
//
// Friction removes at most its coefficient times the change of vertical velocity. A body
// at rest, pressed down by one tick of gravity, withstands a light wind, and a body that
// lands hard slides less far.
func (s *Stepper) land(k *Kind, v Vec3, depth float32) Vec3 {
	if v.Y >= 0 {
		return v
	}
	bounce := float32(0)
	if square := float32(v.Y*v.Y) - float32(2*s.Gravity*depth); square > float32(s.MinImpact*s.MinImpact) {
		bounce = float32(sqrt(square) * k.Restitution)
	}
	grip := float32(k.Friction * (bounce - v.Y))
	v.Y = bounce
	slip := float32(v.X*v.X) + float32(v.Z*v.Z)
	if slip <= float32(grip*grip) {
		v.X, v.Z = 0, 0
		return v
	}
	keep := 1 - grip/sqrt(slip)
	v.X, v.Z = float32(v.X*keep), float32(v.Z*keep)
	return v
}
