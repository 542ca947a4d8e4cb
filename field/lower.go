package field

// form is an operation of the text: how many vectors it takes, and what it
// means in scalar values.
type form struct {
	operands int
	lower    func(g *graph, a []vector) vector
}

// lanewise is a form that is one machine operation in each lane.
func lanewise(o Opcode) form {
	return form{o.info().operands, func(g *graph, a []vector) vector { return g.each(o, a...) }}
}

// formOf finds an operation by its name in the text.
func formOf(name string) (form, bool) {
	switch name {
	case "mov", "add", "sub", "mul", "div", "mad", "nmad", "min", "max", "abs", "neg", "floor", "sqrt", "rsqrt", "sin",
		"select_lt", "select_ge":
		for o := opMov; o < opOutX; o++ {
			if o.String() == name {
				return lanewise(o), true
			}
		}
	case "dot":
		return form{2, func(g *graph, a []vector) vector { return g.splat(g.dot(a[0], a[1])) }}, true
	case "cross":
		return form{2, func(g *graph, a []vector) vector { return g.cross(a[0], a[1]) }}, true
	case "length":
		return form{1, func(g *graph, a []vector) vector { return g.splat(g.apply(opSqrt, g.dot(a[0], a[0]))) }}, true
	case "normalize":
		return form{1, lowerNormalize}, true
	case "saturate":
		return form{1, lowerSaturate}, true
	case "smooth":
		return form{1, lowerSmooth}, true
	}
	return form{}, false
}

func lowerNormalize(g *graph, a []vector) vector {
	return g.each(opMul, a[0], g.splat(g.apply(opRsqrt, g.dot(a[0], a[0]))))
}

func lowerSaturate(g *graph, a []vector) vector {
	low := g.each(opMax, a[0], g.splat(g.constant(0)))
	return g.each(opMin, low, g.splat(g.constant(1)))
}

// lowerSmooth is the Hermite step a*a * (3 - 2*a).
func lowerSmooth(g *graph, a []vector) vector {
	rest := g.each(opNmad, a[0], g.splat(g.constant(2)), g.splat(g.constant(3)))
	return g.each(opMul, g.each(opMul, a[0], a[0]), rest)
}

// formNames lists the operations of the text, for errors.
const formNames = "mov add sub mul div mad nmad min max abs neg floor sqrt rsqrt sin dot cross length normalize saturate smooth select_lt select_ge"
