package field

// Value noise: random numbers at integer lattice points, given by hashes, and between
// them a smooth mix of the nearest eight. K. Perlin's fade of degree five (2002) makes
// it smooth to the second derivative.

// A cell is a point's location in the lattice, by axis.
type cell struct {
	low, high [3]valueID // the integers around the point, as they are hashed
	fade      [3]valueID // from 0 at low to 1 at high
	rest      [3]valueID // the same, linear
	timed     [3]bool    // time moves the lattice
}

func (g *graph) cell(p vector) (c cell) {
	one := g.literal(1)
	for i := range 3 {
		at, parts := p[i], g.split(p[i])
		if parts.ok {
			at = g.plus(parts.point, g.fraction(parts.time))
		}
		c.low[i] = g.value(opFloor, at)
		t := g.value(opSub, at, c.low[i])
		c.high[i] = g.value(opAdd, c.low[i], one)
		if parts.ok {
			c.low[i], c.high[i] = g.moveCell(c.low[i], parts.time)
			c.timed[i] = true
		}
		s := g.value(opMad, t, g.literal(6), g.literal(-15))
		s = g.value(opMad, t, s, g.literal(10))
		cube := g.value(opMul, g.value(opMul, t, t), t)
		c.rest[i], c.fade[i] = t, g.value(opMul, cube, s)
	}
	return c
}

// moveCell returns the integers around a point after time has moved it by whole cells. They
// wrap after latticePeriod.
func (g *graph) moveCell(low, time valueID) (moved, next valueID) {
	moved = g.inLattice(g.value(opAdd, low, g.inLattice(g.value(opFloor, time))))
	last, first := g.literal(latticePeriod/2-1), g.literal(-latticePeriod/2)
	return moved, g.value(opSelectGE, moved, last, first, g.value(opAdd, moved, g.literal(1)))
}

// fadeSlope is twice the fade's derivative along an axis, 60 t² (t - 1)²: noise is twice
// the mix.
func (g *graph) fadeSlope(c *cell, axis int) valueID {
	t := c.rest[axis]
	s := g.value(opMul, t, g.value(opSub, t, g.literal(1)))
	return g.value(opMul, g.value(opMul, s, s), g.literal(60))
}

func (g *graph) lerp(a, b, t valueID) valueID {
	return g.value(opMad, t, g.value(opSub, b, a), a)
}

// edges holds the values of a cell's four edges along x, indexed by y and z: the increase
// of the noise from the low to the high corner, and the noise at the point, mixed from the
// two corners.
type edges struct{ rise, mix [2][2]valueID }

// edges hashes the corners, moved along x by an integer: each integer gives different
// noise.
func (g *graph) edges(c *cell, moved float32) (e edges) {
	x := [2]valueID{c.low[0], c.high[0]}
	if moved != 0 {
		x[0] = g.value(opAdd, c.low[0], g.literal(moved))
		x[1] = g.value(opAdd, c.low[0], g.literal(moved+1))
		if c.timed[0] {
			x[1] = g.value(opAdd, c.high[0], g.literal(moved)) // high may have wrapped to the first
		}
	}
	y, z := [2]valueID{c.low[1], c.high[1]}, [2]valueID{c.low[2], c.high[2]}
	for k := range 2 {
		for j := range 2 {
			a := g.value(opHash, x[0], y[j], z[k])
			b := g.value(opHash, x[1], y[j], z[k])
			e.rise[j][k] = g.value(opSub, b, a)
			e.mix[j][k] = g.value(opMad, c.fade[0], e.rise[j][k], a)
		}
	}
	return e
}

// mixEdges mixes the four edges' values along y and z.
func (g *graph) mixEdges(c *cell, e *[2][2]valueID) valueID {
	low := g.lerp(e[0][0], e[1][0], c.fade[1])
	high := g.lerp(e[0][1], e[1][1], c.fade[1])
	return g.lerp(low, high, c.fade[2])
}

func (g *graph) noise(v [4]term) term {
	c := g.cell(v[0].lanes)
	e := g.edges(&c, 0)
	n := g.value(opMad, g.mixEdges(&c, &e.mix), g.literal(2), g.literal(-1))
	return number(n, 1)
}

// curlNoise is the curl of three noises, which has no divergence (R. Bridson, J. Hourihan,
// M. Nordenstam, "Curl-noise for procedural fluid flow", 2007), with derivatives in closed
// form. The three noises are one noise with three large shifts; builtin noise has none.
func (g *graph) curlNoise(v [4]term) term {
	c := g.cell(v[0].lanes)
	var slope [3]valueID
	for axis := range slope {
		slope[axis] = g.fadeSlope(&c, axis)
	}
	a, b, d := g.gradient(&c, &slope, 1031), g.gradient(&c, &slope, 2063), g.gradient(&c, &slope, 4093)
	lanes := vector{
		g.value(opSub, d[1], b[2]),
		g.value(opSub, a[2], d[0]),
		g.value(opSub, b[0], a[1]),
		g.literal(0),
	}
	return term{lanes: lanes, reach: 4}
}

// gradient returns a noise's gradient. The compiler drops unused parts.
func (g *graph) gradient(c *cell, slope *[3]valueID, moved float32) [3]valueID {
	e := g.edges(c, moved)
	m := &e.mix
	alongY := g.lerp(g.value(opSub, m[1][0], m[0][0]), g.value(opSub, m[1][1], m[0][1]), c.fade[2])
	alongZ := g.lerp(g.value(opSub, m[0][1], m[0][0]), g.value(opSub, m[1][1], m[1][0]), c.fade[1])
	return [3]valueID{
		g.value(opMul, slope[0], g.mixEdges(c, &e.rise)),
		g.value(opMul, slope[1], alongY),
		g.value(opMul, slope[2], alongZ),
	}
}
