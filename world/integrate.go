package world

import "math"

// overflow is the largest square of a speed that still counts as a number:
// beyond it, at 10^19 m/s, the body is quarantined like one of infinite speed.
const overflow = math.MaxFloat32

// integrate moves rows [from, to) by one tick: forces, gravity, semi-implicit
// Euler, ground, bounds, and notes which of them moved. All products are rounded
// before they are added (the compiler must not fuse them), so that every machine
// gets the same bits.
func (w *World) integrate(c *chunk, from, to int) {
	if to-from < shortRun {
		w.integrateRows(c, from, to)
	} else {
		w.integrateColumns(c, from, to)
	}
}

// integrateRows is integrate, one row after the other: the definition.
func (w *World) integrateRows(c *chunk, from, to int) {
	b := &w.bodies
	for row := from; row < to; row++ {
		at, v := b.position(row), b.velocity(row)
		params := &w.kinds[b.kind[row]].params
		next := w.limited(row, w.pushed(c, params, row-from, v))
		place, next := w.advanced(params, at, next)
		if place != at || next != v {
			b.setPosition(row, place)
			b.setVelocity(row, next)
			b.moved[row>>6] |= 1 << (row & 63)
			if w.grid.cellOf(place.X, place.Z) != b.cell[row] {
				b.crossed[row>>6] |= 1 << (row & 63)
			}
		}
	}
}

// pushed returns the velocity after the field's and gravity's share of a tick.
func (w *World) pushed(f *chunk, params *bodyParams, i int, v Vec3) Vec3 {
	if params.invMass == 0 {
		return v
	}
	var wind Vec3
	if f.windy {
		wind = Vec3{f.wind.x[i], f.wind.y[i], f.wind.z[i]}
	}
	v.X += float32((wind.X - v.X) * params.coupling)
	v.Y += float32((wind.Y - v.Y) * params.coupling)
	v.Z += float32((wind.Z - v.Z) * params.coupling)
	if f.pushed {
		v.X += float32(f.push.x[i] * w.dt)
		v.Y += float32(f.push.y[i] * w.dt)
		v.Z += float32(f.push.z[i] * w.dt)
	}
	v.Y -= w.gravity
	return v
}

// limited caps a velocity, and stops one that is not a number: the body stays at
// its last finite place.
func (w *World) limited(row int, v Vec3) Vec3 {
	square := v.Dot(v)
	switch {
	case square <= MaxSpeed*MaxSpeed:
		return v
	case square <= overflow:
		return v.capped()
	}
	w.bodies.halted[row>>6] |= 1 << (row & 63)
	return Vec3{}
}

// advanced returns the body's place and velocity after a tick at velocity v. The
// ground comes first: a body that would get into it is put on it, and moves
// sideways with what friction leaves, so that wind does not make it creep.
func (w *World) advanced(params *bodyParams, at, v Vec3) (Vec3, Vec3) {
	at.Y += float32(v.Y * w.dt)
	if at.Y <= params.radius && params.invMass != 0 {
		depth := params.radius - at.Y
		at.Y = params.radius
		v = w.landed(params, v, depth)
	}
	at.X += float32(v.X * w.dt)
	at.Z += float32(v.Z * w.dt)
	return w.enclosed(params, at, v)
}

// landed returns the velocity after touching the ground, into which the body would
// have got so deep. It was slower when it touched it: without taking that off, a
// body that is lifted back to the ground gains energy with each bounce, and does
// not come to rest. Friction takes at most
// its coefficient times the change of the vertical velocity: what gravity alone
// presses a body down with in one tick holds it against a light wind, and a body
// that lands hard skids less far.
func (w *World) landed(params *bodyParams, v Vec3, depth float32) Vec3 {
	if v.Y >= 0 {
		return v
	}
	bounce := float32(0)
	if square := float32(v.Y*v.Y) - float32(2*w.cfg.Gravity*depth); square > float32(w.bounce*w.bounce) {
		bounce = float32(sqrt(square) * params.restitution)
	}
	grip := float32(params.friction * (bounce - v.Y))
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
