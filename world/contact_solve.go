package world

import "math"

// substeps is into how many parts a tick is divided for bodies that touch. A
// stack hands its weight down one contact at a time: the more parts, the less it
// sinks in, and the better friction holds.
const substeps = 8

// loosenings is how often bodies that were put into each other are looked at
// before that: out of one may be into the next.
const depenetrations = 4

// solve moves the bodies that touch through the tick anew, in small steps, in
// which it pushes apart those that are inside each other and gives them the
// velocities of the way that they are pushed. It is position-based dynamics in
// small steps (Müller and others, 2007 and 2020): a pile at rest is a fixed point,
// in which contacts move back exactly what gravity moves, so that velocities are
// zero without any memory of earlier forces. Spheres do not turn; friction holds
// them like crates.
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

// loosen moves two bodies that are deep inside each other out, to where they
// merely touch, without giving them speed: they were put there.
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

// derive gives a body the velocity of the way it went in the last h seconds.
func (body *contactBody) deriveVelocity(h float32) {
	if body.invMass != 0 {
		body.v = body.delta.Sub(body.deltaBefore).Scale(1 / h)
	}
}

// between is the vector from a to b.
func (pair *contact) between(a, b *contactBody) Vec3 {
	return pair.offset.Add(b.delta.Sub(a.delta))
}

// direction returns v with length 1; upwards if it has none.
func direction(v Vec3) Vec3 {
	if length := v.Len(); length > 0 {
		return v.Scale(1 / length)
	}
	return Vec3{Y: 1}
}

// separate moves two bodies out of each other, by their weights, and takes back
// what they slid along each other, as far as friction allows: its coefficient
// times what it pushed.
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

// held returns the part of a slip that friction with so much grip takes back.
func frictionCorrection(slip Vec3, grip float32) Vec3 {
	square := slip.Dot(slip)
	if square <= float32(grip*grip) {
		return slip
	}
	return slip.Scale(grip / sqrt(square))
}

// press keeps a body that others push down on the ground, which holds it by
// friction like any contact.
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

// part gives two bodies that met the speed along their normal that they are to
// part with: a share of that of the impact, or none if it was slow, but never
// what comes from having been pushed apart.
//
// What they slide is slowed as if each carried twice its own weight, whatever it
// carries: the position pass underrates the load of a contact, and a heap would
// creep apart for minutes.
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
