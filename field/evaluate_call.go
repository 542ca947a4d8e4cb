package field

import "unsafe"

// A call is a program ready to run, with its environment and the constants of its bound
// code. It can run over many ranges of the same points at no further cost.
type call struct {
	program *Program
	env     Env
	bound   *bound // nil: run the portable instructions
	pool    []float32
}

// prepare initialises a call. It keeps the pool, which must have at least the program's
// number of float32s.
func (c *call) prepare(p *Program, env *Env, pool []float32) {
	c.program, c.bound = p, p.withoutOrigin
	// Field by field: loads wider than the preceding stores would stall.
	c.env.Time, c.env.Params, c.env.Origin = env.Time, env.Params, env.Origin
	if env.Origin == [3]float32{} {
		c.env.Origin = [3]float32{} // do not subtract -0
	} else {
		c.bound = p.withOrigin
	}
	if c.bound != nil {
		c.pool = pool[:len(c.bound.literals)]
		c.bound.fill(c.pool, p, &c.env)
	}
}

// run adds the effect to out at points[from:to]. The scratch must have at least the
// program's number of float32s. With clip, points outside of the box keep their output bit
// for bit. A point is outside if a lane of point - Origin is NaN or not within the box. A
// program without a box cannot be clipped.
func (c *call) run(points, out *Planes, from, to int, scratch []float32, clip bool) {
	scratch = aligned(scratch)
	if c.bound == nil {
		c.interpret(points.cut(from, to), out.cut(from, to), scratch, clip)
		return
	}
	if to-from < BlockPoints {
		c.runFew(points.cut(from, to), out.cut(from, to), scratch, clip)
		return
	}
	c.bound.run(points, out, from, to, c.pool, scratch, clip)
}

// runFew runs less than a block in the spare planes, padded with zero points, to stay
// within the caller's memory.
func (c *call) runFew(points, out Planes, scratch []float32, clip bool) {
	padded, sum := spare(scratch, 0), spare(scratch, 3)
	for lane, plane := range points.lanes() {
		// Not through fill: a wide load would wait for all small stores to it.
		point, total := padded.lanes()[lane], sum.lanes()[lane]
		clear(point[copy(point, plane):])
		clear(total[copy(total, out.lanes()[lane]):])
	}
	c.bound.run(&padded, &sum, 0, BlockPoints, c.pool, scratch, false)
	c.storeOutput(points, out, sum, clip)
}

// storeOutput copies a block's output, or the part of it that may change, to the caller's
// memory.
func (c *call) storeOutput(points, out, sum Planes, clip bool) {
	if !clip {
		copy(out.X, sum.X)
		copy(out.Y, sum.Y)
		copy(out.Z, sum.Z)
		return
	}
	for i := range out.X {
		if c.program.box.holds(points.X[i]-c.env.Origin[0], points.Y[i]-c.env.Origin[1], points.Z[i]-c.env.Origin[2]) {
			out.X[i], out.Y[i], out.Z[i] = sum.X[i], sum.Y[i], sum.Z[i]
		}
	}
}

// holds reports whether a point is in the box, faces included.
func (b *Box) holds(x, y, z float32) bool {
	return x >= b.Min[0] && x <= b.Max[0] && y >= b.Min[1] && y <= b.Max[1] && z >= b.Min[2] && z <= b.Max[2]
}

// measure computes the memory that calls of a program need.
func (p *Program) measure() {
	planes := p.registers
	p.pool = 0
	if p.withoutOrigin != nil {
		planes = max(p.withoutOrigin.planes, p.withOrigin.planes)
		p.pool = max(len(p.withoutOrigin.literals), len(p.withOrigin.literals))
	}
	p.work = lineFloats + (spareBlocks+planes)*BlockPoints
}

// lineFloats is a cache line. Scratch includes room for alignment.
const lineFloats = 16

// aligned returns scratch from its first cache line boundary on.
func aligned(scratch []float32) []float32 {
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(scratch)))/4) % lineFloats
	return scratch[(lineFloats-at)%lineFloats:]
}

// spare returns three of the spare planes at the start of scratch.
func spare(scratch []float32, first int) Planes {
	plane := func(i int) []float32 { return scratch[i*BlockPoints:][:BlockPoints:BlockPoints] }
	return Planes{X: plane(first), Y: plane(first + 1), Z: plane(first + 2)}
}

func (p *Planes) lanes() [3][]float32 { return [3][]float32{p.X, p.Y, p.Z} }

func (p *Planes) cut(from, to int) Planes {
	return Planes{X: p.X[from:to], Y: p.Y[from:to], Z: p.Z[from:to]}
}
