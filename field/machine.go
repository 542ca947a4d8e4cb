package field

import "fmt"

// Planes are the components of vectors, each in a slice of its own, all of one
// length.
type Planes struct{ X, Y, Z []float32 }

// Len is the number of vectors, and -1 if the planes differ in length.
func (p Planes) Len() int {
	if len(p.X) != len(p.Y) || len(p.X) != len(p.Z) {
		return -1
	}
	return len(p.X)
}

// Env is what an effect is evaluated with.
type Env struct {
	Time   float32 // seconds
	Params []Vec4  // in the order of Program.Params; nil means the defaults
}

// Evaluate adds the effect at points to out: out += effect(points). points and
// out have the same length; no plane of out and no part of scratch overlaps
// anything else that is given here, or the sums are of no use (no memory besides
// is touched, M2). scratch has at least Scratch() floats and its content does
// not matter. Nothing is allocated, and goroutines may evaluate one program at
// once, each with scratch and out of its own.
func (p *Program) Evaluate(points, out Planes, env Env, scratch []float32) error {
	n := points.Len()
	switch {
	case n < 0 || n != out.Len():
		return fmt.Errorf("%w: points %d, %d, %d, output %d, %d, %d: make all six alike", ErrPlanes,
			len(points.X), len(points.Y), len(points.Z), len(out.X), len(out.Y), len(out.Z))
	case len(scratch) < p.Scratch():
		return fmt.Errorf("%w: %d floats, this program needs %d", ErrScratch, len(scratch), p.Scratch())
	case env.Params != nil && len(env.Params) != len(p.params):
		return fmt.Errorf("%w: %d given, this program has %d", ErrParams, len(env.Params), len(p.params))
	}
	m := machine{scratch: scratch, registers: len(p.constants)}
	p.bind(scratch[:len(p.constants)], env)
	at := 0
	for ; at+Lanes <= n; at += Lanes {
		m.points = [3]*block{(*block)(points.X[at:]), (*block)(points.Y[at:]), (*block)(points.Z[at:])}
		m.out = [3]*block{(*block)(out.X[at:]), (*block)(out.Y[at:]), (*block)(out.Z[at:])}
		m.run(p.ops)
	}
	if at < n {
		m.runTail(p, points, out, at)
	}
	return nil
}

// bind gives every constant its value for this call.
func (p *Program) bind(values []float32, env Env) {
	for i, c := range p.constants {
		switch c.kind {
		case nodeTime:
			values[i] = env.Time
		case nodeParam:
			if env.Params != nil {
				values[i] = env.Params[c.at/4][c.at%4]
			} else {
				values[i] = p.params[c.at/4].Default[c.at%4]
			}
		default:
			values[i] = bitsFloat(c.bits)
		}
	}
}

// block is one plane of the points at hand.
type block [Lanes]float32

// machine is the state of one call, over the block at hand. Its scratch holds
// the constants, the registers and the tail, in this order: what follows a
// constant makes it the head of a whole block, so that the kernels need not
// check bounds.
type machine struct {
	scratch   []float32
	registers int // where they begin
	points    [3]*block
	out       [3]*block
}

// operand is a plane, or a constant read with stride zero.
type operand struct {
	values *block
	mask   int // of the lane: Lanes-1, or 0
}

func (m *machine) register(r uint8) *block {
	return (*block)(m.scratch[m.registers+int(r)*Lanes:])
}

func (m *machine) operand(a uint8) operand {
	switch {
	case a < MaxRegisters:
		return operand{m.register(a), Lanes - 1}
	case a < operandConstant:
		return operand{m.points[a-operandX], Lanes - 1}
	}
	return operand{(*block)(m.scratch[a-operandConstant:]), 0}
}

// run executes the program on one block. The verifier has checked everything
// (M2).
func (m *machine) run(ops []op) {
	for i := range ops {
		o := &ops[i]
		switch o.code {
		case opEnd:
			return
		case opOutX, opOutY, opOutZ:
			accumulate(m.out[o.code-opOutX], m.operand(o.args[0]))
		default:
			m.execute(o)
		}
	}
}

// runTail runs the last, incomplete block in scratch, since the lanes beyond
// the caller's planes are not ours to touch.
func (m *machine) runTail(p *Program, points, out Planes, at int) {
	tail := m.scratch[m.registers+p.registers*Lanes:][:tailPlanes*Lanes]
	clear(tail) // what scratch held may be slow to compute with
	sums := [3][]float32{out.X, out.Y, out.Z}
	for i, plane := range [3][]float32{points.X, points.Y, points.Z} {
		m.points[i], m.out[i] = (*block)(tail[i*Lanes:]), (*block)(tail[(3+i)*Lanes:])
		copy(m.points[i][:], plane[at:])
		copy(m.out[i][:], sums[i][at:])
	}
	m.run(p.ops)
	for i, plane := range sums {
		copy(plane[at:], m.out[i][:])
	}
}
