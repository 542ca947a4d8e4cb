package field

// Kernels: one operation's loop over a block of lanes. The loops below are the
// definition that faster ones are held against; each is the scalar operation,
// written out, so that the compiler sees it whole.

func accumulate(out []float32, a operand) {
	for i := range out {
		out[i] = added(out[i], a.values[i&a.mask])
	}
}

// execute runs one operation that writes a register.
func (m *machine) execute(o *op) {
	dst := m.registers[int(o.dst)*Lanes:][:Lanes]
	a := m.operand(o.args[0])
	switch o.code.info().operands {
	case 1:
		unary(o.code, dst, a)
	case 2:
		binaryKernel(o.code, dst, a, m.operand(o.args[1]))
	case 3:
		ternary(o.code, dst, a, m.operand(o.args[1]), m.operand(o.args[2]))
	default:
		choose(o.code, dst, a, m.operand(o.args[1]), m.operand(o.args[2]), m.operand(o.args[3]))
	}
}

func unary(code Opcode, dst []float32, a operand) {
	for i := range dst {
		dst[i] = scalar(code, a.values[i&a.mask], 0, 0, 0)
	}
}

func binaryKernel(code Opcode, dst []float32, a, b operand) {
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
	default:
		for i := range dst {
			dst[i] = scalar(code, a.values[i&a.mask], b.values[i&b.mask], 0, 0)
		}
	}
}

func ternary(code Opcode, dst []float32, a, b, c operand) {
	sign := float32(1)
	if code == opNmad {
		sign = -1
	}
	for i := range dst {
		dst[i] = fma32(float32(sign*a.values[i&a.mask]), b.values[i&b.mask], c.values[i&c.mask])
	}
}

func choose(code Opcode, dst []float32, a, b, c, d operand) {
	for i := range dst {
		x, y := a.values[i&a.mask], b.values[i&b.mask]
		take := x < y
		if code == opSelectGE {
			take = x >= y // not !(x < y): a NaN takes d either way
		}
		if take {
			dst[i] = c.values[i&c.mask]
		} else {
			dst[i] = d.values[i&d.mask]
		}
	}
}
