package world

import "math"

// substeps is the number of substeps per tick for touching bodies. A stack passes
// its weight down one contact per substep: more substeps let it sink in less and
// improve friction.
const substeps = 8

// depenetrations is the number of passes that move bodies out of deep overlaps before the
// substeps: a body pushed out of one overlap may end up in the next.
const depenetrations = 4

// solve moves touching bodies through the tick a second time, in substeps. Each substep
// pushes overlapping bodies apart and derives velocities from the corrected positions. This
// is position-based dynamics with small steps (Müller et al., 2007 and 2020). A pile at
// rest is a fixed point: contacts undo exactly the effect of gravity, so velocities are
// zero without any memory of earlier forces. Spheres do not rotate; friction acts on them
// as on boxes.
func (c *contacts) solve(w *World) {
	for i := range c.list {
		pair := &c.list[i]
		a, b := &c.bodies[pair.a], &c.bodies[pair.b]
		pair.offset = b.start.Sub(a.start)
		pair.friction = sqrt(float32(a.params.Friction * b.params.Friction))
	}
	for range depenetrations {
		for i := range c.list {
			c.depenetrate(&c.list[i])
		}
	}
	h := w.motion.TickSeconds / substeps
	velocityGrip := 2 * w.motion.Fall / substeps
	for range substeps {
		for i := range c.bodies {
			c.bodies[i].advance(h)
		}
		for i := range c.list {
			c.separate(&c.list[i])
		}
		for i := range c.bodies {
			c.bodies[i].pushOutOfGround()
			c.bodies[i].deriveVelocity(h)
		}
		for i := range c.list {
			c.solveVelocity(&c.list[i], w.motion.MinImpact, velocityGrip)
		}
	}
}

// depenetrate moves two deeply overlapping bodies apart until they just touch. It gives
// them no velocity, because they did not collide: the game placed them there.
func (c *contacts) depenetrate(pair *contact) {
	a, b := &c.bodies[pair.a], &c.bodies[pair.b]
	invMasses := a.invMass + b.invMass
	d, reach := pair.between(a, b), a.params.Radius+b.params.Radius-touch
	square := d.Dot(d)
	if invMasses == 0 || reach < 0 || square >= float32(reach*reach) {
		return
	}
	push := direction(d).Scale((reach - sqrt(square)) / invMasses)
	a.delta, b.delta = a.delta.Sub(push.Scale(a.invMass)), b.delta.Add(push.Scale(b.invMass))
}

// advance moves a body freely for h seconds.
func (body *contactBody) advance(h float32) {
	if body.invMass != 0 {
		body.v.Y -= float32(body.gravity * h)
	}
	body.vBefore, body.deltaBefore = body.v, body.delta
	body.delta = body.delta.Add(body.v.Scale(h))
}

// deriveVelocity sets a body's velocity from its movement in the last h seconds.
func (body *contactBody) deriveVelocity(h float32) {
	if body.invMass != 0 {
		body.v = body.delta.Sub(body.deltaBefore).Scale(1 / h)
	}
}

// between returns the vector from a to b.
func (pair *contact) between(a, b *contactBody) Vec3 {
	return pair.offset.Add(b.delta.Sub(a.delta))
}

// direction returns v scaled to length 1, or straight up if v is zero.
func direction(v Vec3) Vec3 {
	if length := v.Len(); length > 0 {
		return v.Scale(1 / length)
	}
	return Vec3{Y: 1}
}

// separate pushes two overlapping bodies apart in proportion to their inverse masses. It
// undoes their sliding up to the friction coefficient times the penetration depth.
func (c *contacts) separate(pair *contact) {
	a, b := &c.bodies[pair.a], &c.bodies[pair.b]
	d := pair.between(a, b)
	reach := a.params.Radius + b.params.Radius
	square := d.Dot(d)
	invMasses := a.invMass + b.invMass
	pair.overlapped = invMasses != 0 && square < float32(reach*reach)
	if !pair.overlapped {
		return
	}
	pair.normal = direction(d)
	depth := reach - sqrt(square)
	push := pair.normal.Scale(depth / invMasses)
	a.delta, b.delta = a.delta.Sub(push.Scale(a.invMass)), b.delta.Add(push.Scale(b.invMass))

	slip := b.delta.Sub(b.deltaBefore).Sub(a.delta.Sub(a.deltaBefore))
	slip = slip.Sub(pair.normal.Scale(slip.Dot(pair.normal)))
	slip = frictionCorrection(slip, float32(pair.friction*depth)).Scale(1 / invMasses)
	a.delta, b.delta = a.delta.Add(slip.Scale(a.invMass)), b.delta.Sub(slip.Scale(b.invMass))
}

// frictionCorrection returns the part of slip that friction undoes, at most grip long.
func frictionCorrection(slip Vec3, grip float32) Vec3 {
	square := slip.Dot(slip)
	if square <= float32(grip*grip) {
		return slip
	}
	return slip.Scale(grip / sqrt(square))
}

// pushOutOfGround lifts a body that others pushed into the ground, with friction as in
// any contact.
func (body *contactBody) pushOutOfGround() {
	if body.invMass == 0 {
		return
	}
	if depth := body.params.Radius - (body.start.Y + body.delta.Y); depth > 0 {
		body.delta.Y += depth
		slip := body.delta.Sub(body.deltaBefore)
		slip.Y = 0
		body.delta = body.delta.Sub(frictionCorrection(slip, float32(body.params.Friction*depth)))
	}
}

// solveVelocity sets the normal velocity of two bodies that overlapped: a share of the
// impact speed by restitution, or zero for slow impacts. It removes velocity that results
// only from pushing the bodies apart.
//
// Friction here slows sliding as if each body carried twice its own weight, whatever
// its real load: the position pass underestimates the load of a contact, and heaps
// would creep apart for minutes.
func (c *contacts) solveVelocity(pair *contact, minImpact, velocityGrip float32) {
	if !pair.overlapped {
		return
	}
	a, b := &c.bodies[pair.a], &c.bodies[pair.b]
	before, now := b.vBefore.Sub(a.vBefore).Dot(pair.normal), b.v.Sub(a.v).Dot(pair.normal)
	want := max(before, 0)
	if before < -minImpact {
		want = float32(-before * max(a.params.Restitution, b.params.Restitution))
	}
	change := pair.normal.Scale((want - now) / (a.invMass + b.invMass))
	slip := b.v.Sub(a.v).Sub(pair.normal.Scale(now))
	change = change.Sub(frictionCorrection(slip, float32(pair.friction*velocityGrip)).Scale(1 / (a.invMass + b.invMass)))
	a.v, b.v = a.v.Sub(change.Scale(a.invMass)), b.v.Add(change.Scale(b.invMass))
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }
