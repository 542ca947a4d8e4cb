package field

// Kernels: one operation's loop over a block of lanes. The loops below are what
// faster ones are held against; each is the scalar operation, written out, so
// that the compiler sees it whole.

// execute runs one operation that writes a register.
func (m *machine) execute(o *op) {
	dst, a, b := m.register(o.dst), m.operand(o.args[0]), m.operand(o.args[1])
	switch o.code {
	case opMov, opAbs, opNeg, opFloor, opSqrt, opRsqrt, opSin:
		unaryKernel(o.code, dst, a)
	case opAdd, opSub, opMul, opDiv, opMin, opMax:
		binaryKernel(o.code, dst, a, b)
	case opMad:
		mad(dst, a, b, m.operand(o.args[2]))
	case opNmad:
		nmad(dst, a, b, m.operand(o.args[2]))
	case opSelectLT:
		selectLT(dst, a, b, m.operand(o.args[2]), m.operand(o.args[3]))
	case opSelectGE:
		selectGE(dst, a, b, m.operand(o.args[2]), m.operand(o.args[3]))
	}
}

func accumulate(out *block, a operand) {
	for i := range out {
		out[i] = added(out[i], a.values[i&a.mask])
	}
}

func unaryKernel(code Opcode, dst *block, a operand) {
	switch code {
	case opMov:
		for i := range dst {
			dst[i] = a.values[i&a.mask]
		}
	case opAbs:
		for i := range dst {
			dst[i] = abs32(a.values[i&a.mask])
		}
	case opNeg:
		for i := range dst {
			dst[i] = neg32(a.values[i&a.mask])
		}
	case opFloor:
		for i := range dst {
			dst[i] = floor32(a.values[i&a.mask])
		}
	case opSqrt:
		for i := range dst {
			dst[i] = sqrt32(a.values[i&a.mask])
		}
	case opRsqrt:
		for i := range dst {
			dst[i] = rsqrt32(a.values[i&a.mask])
		}
	case opSin:
		for i := range dst {
			dst[i] = sin32(a.values[i&a.mask])
		}
	}
}

func binaryKernel(code Opcode, dst *block, a, b operand) {
	switch code {
	case opAdd:
		for i := range dst {
			dst[i] = float32(a.values[i&a.mask] + b.values[i&b.mask])
		}
	case opSub:
		for i := range dst {
			dst[i] = float32(a.values[i&a.mask] - b.values[i&b.mask])
		}
	case opMul:
		for i := range dst {
			dst[i] = float32(a.values[i&a.mask] * b.values[i&b.mask])
		}
	case opDiv:
		for i := range dst {
			dst[i] = float32(a.values[i&a.mask] / b.values[i&b.mask])
		}
	case opMin:
		for i := range dst {
			dst[i] = min32(a.values[i&a.mask], b.values[i&b.mask])
		}
	case opMax:
		for i := range dst {
			dst[i] = max32(a.values[i&a.mask], b.values[i&b.mask])
		}
	}
}

// mad is fma32 taken apart, since it is too long to be inlined whole.
func mad(dst *block, a, b, c operand) {
	for i := range dst {
		x, y, z := a.values[i&a.mask], b.values[i&b.mask], c.values[i&c.mask]
		if s := fma64(x, y, z); roundsOnce(s) {
			dst[i] = float32(s)
		} else {
			dst[i] = fmaToOdd(x, y, z)
		}
	}
}

func nmad(dst *block, a, b, c operand) {
	for i := range dst {
		x, y, z := neg32(a.values[i&a.mask]), b.values[i&b.mask], c.values[i&c.mask]
		if s := fma64(x, y, z); roundsOnce(s) {
			dst[i] = float32(s)
		} else {
			dst[i] = fmaToOdd(x, y, z)
		}
	}
}

func selectLT(dst *block, a, b, c, d operand) {
	for i := range dst {
		if a.values[i&a.mask] < b.values[i&b.mask] {
			dst[i] = c.values[i&c.mask]
		} else {
			dst[i] = d.values[i&d.mask]
		}
	}
}

func selectGE(dst *block, a, b, c, d operand) {
	for i := range dst {
		if a.values[i&a.mask] >= b.values[i&b.mask] {
			dst[i] = c.values[i&c.mask]
		} else {
			dst[i] = d.values[i&d.mask]
		}
	}
}
