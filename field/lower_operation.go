package field

// An operation is a vector operation of the text, which lower expands to lanes.
type operation struct {
	name     string
	operands int
	lower    func(g *graph, v [4]vector) vector
}

// operationNames lists the operations for error messages.
const operationNames = "mov, add, sub, mul, div, mad, nmad, min, max, abs, neg, floor, sqrt, rsqrt, sin, exp2, hash, saturate, smooth, " +
	"dot, cross, length, normalize, select_lt, select_ge"

func operationOf(name string) (operation, bool) {
	switch name {
	case "mov":
		return operation{name, 1, func(_ *graph, v [4]vector) vector { return v[0] }}, true
	case "smooth":
		return operation{name, 1, (*graph).smooth}, true
	case "dot":
		return operation{name, 2, func(g *graph, v [4]vector) vector { return splat(g.dot(v[0], v[1])) }}, true
	case "cross":
		return operation{name, 2, (*graph).cross}, true
	case "length":
		return operation{name, 1, (*graph).length}, true
	case "normalize":
		return operation{name, 1, (*graph).normalize}, true
	}
	for o := opAdd; o < opcodes; o++ {
		if o.String() == name {
			return operation{name, o.operands(), func(g *graph, v [4]vector) vector { return g.each(o, v) }}, true
		}
	}
	return operation{}, false
}

// accumulates returns the operation's opcode if it may add to the output.
func accumulates(name string) (Opcode, bool) {
	for o := opAdd; o < opcodes; o++ {
		if o.String() == name {
			return o, o.accumulator() >= 0
		}
	}
	return opNone, false
}

// each applies an operation lane by lane.
func (g *graph) each(o Opcode, v [4]vector) (r vector) {
	for lane := range r {
		r[lane] = g.value(o, v[0][lane], v[1][lane], v[2][lane], v[3][lane])
	}
	return r
}

func (g *graph) dot(a, b vector) valueID {
	x := g.value(opMul, a[0], b[0])
	xy := g.value(opMad, a[1], b[1], x)
	return g.value(opMad, a[2], b[2], xy)
}

func (g *graph) cross(v [4]vector) vector {
	a, b := v[0], v[1]
	lane := func(i, j int) valueID {
		return g.value(opNmad, a[j], b[i], g.value(opMul, a[i], b[j]))
	}
	return vector{lane(1, 2), lane(2, 0), lane(0, 1), g.literal(0)}
}

func (g *graph) length(v [4]vector) vector {
	return splat(g.value(opSqrt, g.dot(v[0], v[0])))
}

func (g *graph) normalize(v [4]vector) vector {
	return g.each(opMul, [4]vector{v[0], splat(g.value(opRsqrt, g.dot(v[0], v[0])))})
}

func (g *graph) smooth(v [4]vector) vector {
	s := g.each(opSaturate, v)
	rest := g.each(opNmad, [4]vector{s, splat(g.literal(2)), splat(g.literal(3))})
	return g.each(opMul, [4]vector{g.each(opMul, [4]vector{s, s}), rest})
}
