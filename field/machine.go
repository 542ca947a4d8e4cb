package field

import (
	"fmt"
	"unsafe"
)

// Planes is a structure of arrays: vector i is X[i], Y[i], Z[i]. All three have the
// same length.
type Planes struct{ X, Y, Z []float32 }

// Env is an effect's input besides the points.
type Env struct {
	Time   float32 // `time` in the text, in seconds
	Params []Vec4  // in the order of Program.Params; nil means the defaults

	// Origin is the origin of the effect's own space, in metres: `position` in the text
	// is point - Origin, rounded once. Zero costs nothing.
	Origin [3]float32
}

// Evaluate adds the effect at the points to out: out += effect(points - Origin).
//
// All six planes must have the same length. Neither out nor scratch may overlap any
// other slice of the call. Scratch must have at least Scratch() float32s; its content
// is undefined before and after. Nothing is allocated.
//
// A point's result depends only on the point, the environment and its own place in out
// (F2). Afterwards the lanes of out that the effect adds to hold no NaN; the other
// lanes keep their bits (F7).
//
// The errors ErrPlanes, ErrOverlap, ErrScratch and ErrParams are the caller's fault and
// leave out unchanged.
func (p *Program) Evaluate(points, out Planes, env Env, scratch []float32) error {
	if err := p.check(&points, &out, &env, scratch); err != nil {
		return err
	}
	if len(p.code) == 0 {
		return nil // the zero Program
	}
	var c call
	c.prepare(p, &env, scratch[p.work:])
	c.run(&points, &out, 0, len(points.X), scratch, false)
	return nil
}

// interpret runs the portable instructions: the reference for faster kernels, and the
// fallback without them.
func (c *call) interpret(points, out Planes, scratch []float32, clip bool) {
	var m machine
	p, n := c.program, len(points.X)
	lanes := min(n, BlockPoints)
	for r := range p.registers {
		m.planes[r] = scratch[(spareBlocks+r)*BlockPoints:][:lanes]
	}
	for _, in := range p.code[:p.preloads] {
		fill(m.planes[in.to], p.uniform(in.uniform, &c.env))
	}
	for at := 0; at < n; at += BlockPoints {
		if rest := n - at; rest < lanes {
			lanes = rest
			for r := range p.registers {
				m.planes[r] = m.planes[r][:lanes]
			}
		}
		from, to := points.cut(at, at+lanes), out.cut(at, at+lanes)
		m.begin(c, from, to, scratch, clip)
		m.run(p, &c.env)
		if clip {
			sum := spare(scratch, 3)
			c.storeOutput(from, to, sum.cut(0, lanes), true)
		}
	}
}

// begin loads a block's points and output into planes.
func (m *machine) begin(c *call, points, out Planes, scratch []float32, clip bool) {
	n := len(points.X)
	positions, sum := points.lanes(), out.lanes()
	if c.env.Origin != [3]float32{} {
		moved := spare(scratch, 0)
		moved = moved.cut(0, n)
		positions = moved.lanes()
		for lane, plane := range points.lanes() {
			for i, v := range plane {
				positions[lane][i] = v - c.env.Origin[lane]
			}
		}
	}
	if clip {
		copied := spare(scratch, 3)
		copied = copied.cut(0, n)
		sum = copied.lanes()
		for lane, plane := range out.lanes() {
			copy(sum[lane], plane)
		}
	}
	copy(m.planes[planePosition:], positions[:])
	copy(m.planes[planeOutput:], sum[:])
}

func (p *Program) check(points, out *Planes, env *Env, scratch []float32) error {
	if err := p.checkParams(env); err != nil {
		return err
	}
	return checkMemory(points, out, scratch, p.Scratch())
}

func (p *Program) checkParams(env *Env) error {
	if env.Params != nil && len(env.Params) != len(p.params) {
		return fmt.Errorf("%w: got %d, the program has %d, see Program.Params", ErrParams, len(env.Params), len(p.params))
	}
	return nil
}

// checkMemory validates the slices of a call that needs that much scratch.
func checkMemory(points, out *Planes, scratch []float32, want int) error {
	n := len(points.X)
	if len(points.Y) != n || len(points.Z) != n || len(out.X) != n || len(out.Y) != n || len(out.Z) != n {
		return fmt.Errorf("%w: points %d, %d, %d, out %d, %d, %d; give all six one length", ErrPlanes,
			n, len(points.Y), len(points.Z), len(out.X), len(out.Y), len(out.Z))
	}
	if len(scratch) < want {
		return fmt.Errorf("%w: got %d float32s, want %d, see Scratch", ErrScratch, len(scratch), want)
	}
	if n > 0 && overlap(points, out, scratch[:want]) {
		return fmt.Errorf("%w: give each plane of out and the scratch memory of their own", ErrOverlap)
	}
	return nil
}

// overlap reports whether a plane of out or the scratch overlaps another slice of the
// call. Planes have one nonzero length.
func overlap(points, out *Planes, scratch []float32) bool {
	size, work := uintptr(len(points.X))*4, uintptr(len(scratch))*4
	start := func(s []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
	x, y, z, s := start(out.X), start(out.Y), start(out.Z), start(scratch)
	// Two ranges of one size overlap if their distance is from -size+1 to size-1: one
	// comparison.
	near := func(a, b uintptr) bool { return a-b+size-1 < 2*size-1 }
	beside := func(a uintptr) bool { return a < s+work && s < a+size }
	for _, in := range [3]uintptr{start(points.X), start(points.Y), start(points.Z)} {
		if near(in, x) || near(in, y) || near(in, z) || beside(in) {
			return true
		}
	}
	return near(x, y) || near(y, z) || near(x, z) || beside(x) || beside(y) || beside(z)
}

func (p *Program) uniform(number uint16, env *Env) float32 {
	i := int(number) - uniformParams
	switch {
	case number == uniformTime:
		return env.Time
	case i >= 4*len(p.params):
		return p.literals[i-4*len(p.params)]
	case env.Params == nil:
		return p.params[i/4].Default[i%4]
	}
	return env.Params[i/4][i%4]
}

// A machine is the state of a call: its planes at the current block, all of one length.
// It trusts the program (F3).
type machine struct {
	planes [planeCount][]float32
}

// run executes the program on a block: each instruction is decoded once and executed
// for all lanes.
func (m *machine) run(p *Program, env *Env) {
	for i := range p.code[p.preloads:] {
		in := &p.code[p.preloads:][i]
		to := m.planes[in.to]
		a, b := m.planes[in.operands[0]], m.planes[in.operands[1]]
		c, d := m.planes[in.operands[2]], m.planes[in.operands[3]]
		switch in.op {
		case opEnd:
			for lane, out := range m.planes[planeOutput:] {
				if p.addsTo(lane) {
					canonical(out)
				}
			}
		case opLoad:
			fill(to, p.uniform(in.uniform, env))
		default:
			opcodeTable[in.op].kernel(to, a, b, c, d)
		}
	}
}
