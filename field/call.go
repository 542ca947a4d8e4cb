package field

import "unsafe"

// A call is a program made ready to run: with its environment, and the constants
// of its bound code filled in. It may be run over many pieces of the same points,
// each by itself, and costs nothing but the run from then on.
type call struct {
	program *Program
	env     Env
	bound   *bound // nil if the portable instructions run
	pool    []float32
}

// prepare makes a call. The pool belongs to it, and has as many float32s as the
// program says, or more.
func (c *call) prepare(p *Program, env *Env, pool []float32) {
	c.program, c.bound = p, p.here
	// One by one: what is copied in larger pieces than it was stored in has to wait
	// for the stores.
	c.env.Time, c.env.Params, c.env.Origin = env.Time, env.Params, env.Origin
	if env.Origin == [3]float32{} {
		c.env.Origin = [3]float32{} // -0 is not taken away either
	} else {
		c.bound = p.placed
	}
	if c.bound != nil {
		c.pool = pool[:len(c.bound.literals)]
		c.bound.fill(c.pool, p, &c.env)
	}
}

// run adds the effect to out at the points from from to to, without to. The scratch
// has as many float32s as the program says, or more. With clip, points outside of
// the box keep their output bit for bit: those where a lane of point - Origin is
// not from the least to the greatest of the box's, or is NaN. A program that acts
// everywhere can't be clipped.
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

// runFew runs less than a block in the spare planes, so that nothing beyond the
// caller's memory is touched. The points that nobody asked for are 0.
func (c *call) runFew(points, out Planes, scratch []float32, clip bool) {
	padded, sum := spare(scratch, 0), spare(scratch, 3)
	for lane, plane := range points.lanes() {
		// Not by fill: a wide load waits until all small stores to it are done.
		point, total := padded.lanes()[lane], sum.lanes()[lane]
		clear(point[copy(point, plane):])
		clear(total[copy(total, out.lanes()[lane]):])
	}
	c.bound.run(&padded, &sum, 0, BlockPoints, c.pool, scratch, false)
	c.give(points, out, sum, clip)
}

// give copies the output of a block to where it belongs, or as much of it as the
// call is to change.
func (c *call) give(points, out, sum Planes, clip bool) {
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

// holds says whether a point is in the box or on a face of it.
func (b *Box) holds(x, y, z float32) bool {
	return x >= b.Min[0] && x <= b.Max[0] && y >= b.Min[1] && y <= b.Max[1] && z >= b.Min[2] && z <= b.Max[2]
}

// measure finds out how much memory calls of a program want.
func (p *Program) measure() {
	planes := p.registers
	p.pool = 0
	if p.here != nil {
		planes = max(p.here.planes, p.placed.planes)
		p.pool = max(len(p.here.literals), len(p.placed.literals))
	}
	p.work = lineFloats + (spareBlocks+planes)*BlockPoints
}

// lineFloats is a line of the cache. Scratch has room to begin at one.
const lineFloats = 16

// aligned is scratch from the first whole line of the cache on.
func aligned(scratch []float32) []float32 {
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(scratch)))/4) % lineFloats
	return scratch[(lineFloats-at)%lineFloats:]
}

// spare gives three of the spare planes that scratch begins with.
func spare(scratch []float32, first int) Planes {
	plane := func(i int) []float32 { return scratch[i*BlockPoints:][:BlockPoints:BlockPoints] }
	return Planes{X: plane(first), Y: plane(first + 1), Z: plane(first + 2)}
}

func (p *Planes) lanes() [3][]float32 { return [3][]float32{p.X, p.Y, p.Z} }

// cut gives the points from from to to, without it.
func (p *Planes) cut(from, to int) Planes {
	return Planes{X: p.X[from:to], Y: p.Y[from:to], Z: p.Z[from:to]}
}

// blockNanoseconds estimates what a block takes, generously.
func (c *call) blockNanoseconds() int {
	const perInstruction = 100 // without assembly
	if c.bound != nil {
		return c.bound.blockNanoseconds()
	}
	return perInstruction * len(c.program.code)
}
