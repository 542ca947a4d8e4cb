package field

// planeFlow says whether a plane depends on the time.
type planeFlow uint8

const (
	flowSteady   planeFlow = iota // does not depend on the time
	flowZero                      // is 0 at all times
	flowChanging                  // depends on the time
)

// ChangesWithTime reports whether the program's value at a point may change while the point
// and the parameters stay the same: PROGRAM.md, "Change with time". If params is nil, the
// defaults are used; otherwise it must have as many elements as the program has parameters.
func (p *Program) ChangesWithTime(params []Vec4) bool {
	env := Env{Params: params}
	var planes [planeCount]planeFlow // planes of the position are steady
	for i := range p.code {
		in := &p.code[i]
		var f planeFlow
		switch in.op {
		case opEnd:
			return false
		case opLoad:
			f = p.flowOfUniform(in.uniform, &env)
		default:
			f = flowOf(in, &planes)
		}
		if in.to < MaxRegisters {
			planes[in.to] = f
		} else if f == flowChanging {
			return true
		}
	}
	return false
}

func (p *Program) flowOfUniform(number uint16, env *Env) planeFlow {
	switch {
	case number == uniformTime:
		return flowChanging
	case p.uniform(number, env) == 0:
		return flowZero
	}
	return flowSteady
}

// flowOf returns the flow of an operation's result.
func flowOf(in *instruction, planes *[planeCount]planeFlow) planeFlow {
	a, b, c := planes[in.operands[0]], planes[in.operands[1]], planes[in.operands[2]]
	switch in.op {
	case opMul:
		return flowOfProduct(a, b)
	case opMad, opNmad:
		return flowOfSum(flowOfProduct(a, b), c)
	case opAdd, opSub:
		return flowOfSum(a, b)
	}
	for _, plane := range in.operands[:in.op.operands()] {
		if planes[plane] == flowChanging {
			return flowChanging
		}
	}
	return flowSteady
}

func flowOfProduct(a, b planeFlow) planeFlow {
	if a == flowZero || b == flowZero {
		return flowZero
	}
	return max(a, b)
}

func flowOfSum(a, b planeFlow) planeFlow {
	switch {
	case a == flowChanging || b == flowChanging:
		return flowChanging
	case a == flowZero && b == flowZero:
		return flowZero
	}
	return flowSteady
}
