package field

// A machine is the state of a call: its planes at the current block, all of one length.
// It trusts the program (F3).
type machine struct {
	planes [planeCount][]float32
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
