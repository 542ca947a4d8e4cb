package world

import "github.com/worldd/worldd/bulk"

// shortRun is the number of rows below which columns do not pay: in place, runs
// of awake rows may be single ones.
const shortRun = 16

// rates is what a chunk's rows have from their kinds, by row.
type rates struct {
	coupling, fall, floor [chunkRows]float32
	kinematic             bool // some row is
}

// integrateColumns is integrateRows for a longer run, a column at a time. Each
// row gets the same operations in the same order, hence the same bits; the few
// that meet the ground, the bounds or a limit are done by themselves.
func (w *World) integrateColumns(c *chunk, from, to int) {
	w.accelerateColumns(c, from, to)
	b, n := &w.bodies, to-from
	old := &c.places
	copy(old.x[:n], b.posX[from:to])
	copy(old.y[:n], b.posY[from:to])
	copy(old.z[:n], b.posZ[from:to])
	bulk.AddScaled(b.posX[from:to], b.velX[from:to], w.dt)
	bulk.AddScaled(b.posY[from:to], b.velY[from:to], w.dt)
	bulk.AddScaled(b.posZ[from:to], b.velZ[from:to], w.dt)
	w.arrive(c, from, to)
}

// accelerateColumns gives a run of rows their velocities after forces, gravity
// and limits. The velocities before stay in c.velocities.
func (w *World) accelerateColumns(c *chunk, from, to int) {
	b, n := &w.bodies, to-from
	x, y, z := b.velX[from:to], b.velY[from:to], b.velZ[from:to]
	old := &c.velocities
	copy(old.x[:n], x)
	copy(old.y[:n], y)
	copy(old.z[:n], z)
	w.look(c, from, to)
	if !c.windy {
		c.wind.zero(n)
	}
	couple(x, c.wind.x[:n], c.rates.coupling[:n])
	couple(y, c.wind.y[:n], c.rates.coupling[:n])
	couple(z, c.wind.z[:n], c.rates.coupling[:n])
	if c.pushed {
		bulk.AddScaled(x, c.push.x[:n], w.dt)
		bulk.AddScaled(y, c.push.y[:n], w.dt)
		bulk.AddScaled(z, c.push.z[:n], w.dt)
	}
	for i, fall := range c.rates.fall[:n] {
		y[i] -= fall
	}
	if c.rates.kinematic {
		w.restoreKinematic(c, from, to)
	}
	for i := range x {
		v := Vec3{x[i], y[i], z[i]}
		if square := v.Dot(v); !(square <= MaxSpeed*MaxSpeed) {
			b.setVelocity(from+i, w.limited(from+i, v))
		}
	}
}

// look fills the chunk's rates.
func (w *World) look(c *chunk, from, to int) {
	r := &c.rates
	r.kinematic = false
	for i, kind := range w.bodies.kind[from:to] {
		params := &w.kinds[kind].params
		r.coupling[i%chunkRows], r.fall[i%chunkRows], r.floor[i%chunkRows] = params.coupling, w.gravity, params.radius
		if params.invMass == 0 {
			r.kinematic = true
		}
	}
}

// couple moves velocities towards those of the wind.
func couple(v, wind, coupling []float32) {
	wind, coupling = wind[:len(v)], coupling[:len(v)]
	for i := range v {
		v[i] += float32((wind[i] - v[i]) * coupling[i])
	}
}

// restoreKinematic takes back what forces did to those whom they do not concern.
func (w *World) restoreKinematic(c *chunk, from, to int) {
	b := &w.bodies
	for i, kind := range b.kind[from:to] {
		if w.kinds[kind].params.invMass == 0 {
			b.setVelocity(from+i, Vec3{c.velocities.x[i], c.velocities.y[i], c.velocities.z[i]})
		}
	}
}

// arrive sees to the rows of a run that met the ground or left the bounds, from
// where they were, and notes who moved, and who left their cell.
func (w *World) arrive(c *chunk, from, to int) {
	b, e := &w.bodies, w.cfg.HalfExtent
	for i := range to - from {
		row := from + i
		at, v := b.position(row), b.velocity(row)
		was := Vec3{c.places.x[i], c.places.y[i], c.places.z[i]}
		free := at.Y > c.rates.floor[i] && at.Y >= 0 && at.Y <= e.Y && at.X >= -e.X && at.X <= e.X && at.Z >= -e.Z && at.Z <= e.Z
		if !free {
			at, v = w.advanced(&w.kinds[b.kind[row]].params, was, v)
			b.setPosition(row, at)
			b.setVelocity(row, v)
		}
		if at != was || v != (Vec3{c.velocities.x[i], c.velocities.y[i], c.velocities.z[i]}) {
			b.moved[row>>6] |= 1 << (row & 63)
			if w.grid.cellOf(at.X, at.Z) != b.cell[row] {
				b.crossed[row>>6] |= 1 << (row & 63)
			}
		}
	}
}
