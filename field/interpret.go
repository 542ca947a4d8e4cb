package field

// A machine is the state of a call: its planes at the current block, all of one length.
// It trusts the program (F3).
type machine struct {
	planes  [planeCount][]float32
	numbers [MaxRegisters]float64 // values of the timed planes
	timed   uint32                // bitmap of the timed planes
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
	for i := range p.code[:p.preloads] {
		m.load(p, &p.code[i], &c.env)
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

// run executes the program on a block: it decodes each instruction once and executes it for
// all lanes.
func (m *machine) run(p *Program, env *Env) {
	for i := p.preloads; i < len(p.code); i++ {
		in := &p.code[i]
		switch {
		case in.op == opEnd:
			for lane, out := range m.planes[planeOutput:] {
				if p.addsTo(lane) {
					canonical(out)
				}
			}
		case in.op == opLoad:
			m.load(p, in, env)
		case p.timed != nil && p.timed[i]:
			m.runTimed(in)
		default:
			if in.to < MaxRegisters {
				m.timed &^= 1 << in.to
			}
			a, b := m.planes[in.operands[0]], m.planes[in.operands[1]]
			c, d := m.planes[in.operands[2]], m.planes[in.operands[3]]
			opcodeTable[in.op].kernel(m.planes[in.to], a, b, c, d)
		}
	}
}

// load fills a register with a uniform.
func (m *machine) load(p *Program, in *instruction, env *Env) {
	if in.uniform == uniformTime {
		m.setTimed(in.to, env.Time)
		return
	}
	m.timed &^= 1 << in.to
	fill(m.planes[in.to], p.uniform(in.uniform, env))
}

func (m *machine) setTimed(register uint8, v float64) {
	m.numbers[register] = v
	m.timed |= 1 << register
	fill(m.planes[register], float32(v))
}

// runTimed executes an instruction whose result is timed, once for all lanes.
func (m *machine) runTimed(in *instruction) {
	var v [4]float64
	for i, register := range in.operands[:in.op.operands()] {
		if m.timed>>register&1 != 0 {
			v[i] = m.numbers[register]
		} else {
			v[i] = float64(m.planes[register][0])
		}
	}
	m.setTimed(in.to, evaluateTimed(in.op, v[0], v[1], v[2], v[3]))
}

func (p *Program) uniform(number uint16, env *Env) float32 {
	i := int(number) - uniformParams
	switch {
	case number == uniformTime:
		return float32(env.Time)
	case i >= 4*len(p.params):
		return p.literals[i-4*len(p.params)]
	case env.Params == nil:
		return p.params[i/4].Default[i%4]
	}
	return env.Params[i/4][i%4]
}
