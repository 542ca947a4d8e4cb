package motion

import "github.com/worldd/worldd/internal/columns"

// shortRun is the number of rows below which columns do not pay. In place, runs of awake
// rows may be as short as one row.
const shortRun = 16

// rates holds the kinds' constants for the rows of a batch.
type rates struct {
	coupling, fall, floor [BatchRows]float32
	kinematic             [BatchRows]uint8 // kinematic rows, relative to the first row
	kinematics            int              // number of kinematic rows
}

// integrateColumns is integrateRows for a longer run, column by column. Each row gets the
// same operations in the same order, and so the same bits. The few rows that meet the
// ground, the bounds or the speed limit are processed individually.
func (s *Stepper) integrateColumns(c *Batch, b *Bodies, from, to int) {
	s.accelerateColumns(c, b, from, to)
	n := to - from
	old := &c.positions
	copy(old.x[:n], b.Pos.X[from:to])
	copy(old.y[:n], b.Pos.Y[from:to])
	copy(old.z[:n], b.Pos.Z[from:to])
	columns.AddScaled(b.Pos.X[from:to], b.Vel.X[from:to], s.TickSeconds)
	columns.AddScaled(b.Pos.Y[from:to], b.Vel.Y[from:to], s.TickSeconds)
	columns.AddScaled(b.Pos.Z[from:to], b.Vel.Z[from:to], s.TickSeconds)
	s.finishRows(c, b, from, to)
}

// accelerateColumns applies forces, gravity and the speed limit to a run of rows. It
// leaves the previous velocities in c.velocities.
func (s *Stepper) accelerateColumns(c *Batch, b *Bodies, from, to int) {
	n := to - from
	x, y, z := b.Vel.X[from:to], b.Vel.Y[from:to], b.Vel.Z[from:to]
	old := &c.velocities
	copy(old.x[:n], x)
	copy(old.y[:n], y)
	copy(old.z[:n], z)
	s.fillRates(c, b, from, to)
	if !c.windy {
		c.wind.zero(n)
	}
	couple(x, c.wind.x[:n], c.rates.coupling[:n])
	couple(y, c.wind.y[:n], c.rates.coupling[:n])
	couple(z, c.wind.z[:n], c.rates.coupling[:n])
	if c.pushed {
		columns.AddScaled(x, c.push.x[:n], s.TickSeconds)
		columns.AddScaled(y, c.push.y[:n], s.TickSeconds)
		columns.AddScaled(z, c.push.z[:n], s.TickSeconds)
	}
	for i, fall := range c.rates.fall[:n] {
		y[i] -= fall
	}
	for _, i := range c.rates.kinematic[:c.rates.kinematics] {
		b.SetVelocity(from+int(i), Vec3{old.x[i], old.y[i], old.z[i]})
	}
	for i := range x {
		v := Vec3{x[i], y[i], z[i]}
		if !(v.Dot(v) <= MaxSpeed*MaxSpeed) {
			b.SetVelocity(from+i, b.limit(from+i, v))
		}
	}
}

// fillRates fills the batch's rates.
func (s *Stepper) fillRates(c *Batch, b *Bodies, from, to int) {
	r := &c.rates
	r.kinematics = 0
	for i, kind := range b.Kind[from:to] {
		k := &s.Kinds[kind]
		r.coupling[i%BatchRows], r.fall[i%BatchRows], r.floor[i%BatchRows] = k.Coupling, s.Fall, k.Radius
		if k.InvMass == 0 {
			r.kinematic[r.kinematics%BatchRows] = uint8(i)
			r.kinematics++
		}
	}
}

// couple moves velocities towards the wind, and turns -0 into +0.
func couple(v, wind, coupling []float32) {
	wind, coupling = wind[:len(v)], coupling[:len(v)]
	for i := range v {
		v[i] = v[i] + float32((wind[i]-v[i])*coupling[i]) + 0
	}
}

// finishRows recomputes the rows of a run that met the ground or left the bounds from
// their previous positions, and marks those that moved.
func (s *Stepper) finishRows(c *Batch, b *Bodies, from, to int) {
	e := s.HalfExtent
	moved := uint64(0) // of the word of 64 rows
	for i := range to - from {
		row := from + i
		at, v := b.Position(row), b.Velocity(row)
		was := Vec3{c.positions.x[i], c.positions.y[i], c.positions.z[i]}
		free := at.Y > c.rates.floor[i] && at.Y >= 0 && at.Y <= e.Y && at.X >= -e.X && at.X <= e.X && at.Z >= -e.Z && at.Z <= e.Z
		if !free {
			at, v = s.advance(&s.Kinds[b.Kind[row]], was, v)
			b.SetPosition(row, at)
			b.SetVelocity(row, v)
		}
		if at != was || v != (Vec3{c.velocities.x[i], c.velocities.y[i], c.velocities.z[i]}) {
			moved |= 1 << (row & 63)
		}
		if row&63 == 63 || row == to-1 {
			b.Moved[row>>6] |= moved
			moved = 0
		}
	}
}
