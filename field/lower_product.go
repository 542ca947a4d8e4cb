package field

// Sinking: a vector times a number stays a product while only numbers multiply it, so that
// the machine computes one number instead of three lanes. It works on the text's vectors,
// before they become lanes. It decides where rounding happens, and so is part of the
// language (LANGUAGE.md, Products).
//
// The printed form of a program (String) has only numbers, so a compilation of it sinks
// nothing again (F6).

// A term is the value of a name or an operand.
type term struct {
	lanes  vector
	scalar bool     // the four lanes are one number by construction
	reach  reach    // maximum over the lanes
	of     *product // the factors, if it is a product
}

// A product is a vector, not itself a product, times a number.
type product struct{ vector, factor term }

// number returns a term of four equal lanes.
func number(v valueID, r reach) term { return term{lanes: splat(v), scalar: true, reach: r} }

func (g *graph) literalTerm(v Vec4) term {
	var lanes vector
	for lane, f := range v {
		lanes[lane] = g.literal(f)
	}
	return term{lanes: lanes, scalar: lanes == splat(lanes[0]), reach: reachOfLiteral(v)}
}

func (g *graph) apply(o operation, v [4]term) term {
	if t, ok := g.sinkProduct(o.name, v); ok {
		return t
	}
	t := term{
		lanes:  o.lower(g, [4]vector{v[0].lanes, v[1].lanes, v[2].lanes, v[3].lanes}),
		reach:  reachOf(o.name, v),
		scalar: o.name != "cross",
	}
	if o.name != "dot" && o.name != "length" {
		for i := range o.operands {
			t.scalar = t.scalar && v[i].scalar
		}
	}
	return t
}

// sinkProduct applies an operation whose result is a product, or returns false.
func (g *graph) sinkProduct(name string, v [4]term) (term, bool) {
	a, b := v[0], v[1]
	switch name {
	case "mov":
		return a, true
	case "mul":
		if a.scalar {
			a, b = b, a
		}
		if !a.scalar && b.scalar {
			return g.scale(a, b), true
		}
	case "normalize":
		if !a.scalar {
			a.of = nil // length uses its lanes anyway
			return g.scale(a, g.inverseLength(a)), true
		}
	case "neg":
		if a.of != nil {
			return g.scale(a.of.vector, number(g.value(opNeg, a.of.factor.lanes[0]), a.of.factor.reach)), true
		}
	case "cross":
		return g.sinkCross(a, b)
	case "select_lt":
		return g.sinkSelect(opSelectLT, v)
	case "select_ge":
		return g.sinkSelect(opSelectGE, v)
	}
	return term{}, false
}

// scale returns a vector times a number: (v*s)*t is v*(s*t).
func (g *graph) scale(v, s term) term {
	if v.of != nil {
		s = number(g.value(opMul, v.of.factor.lanes[0], s.lanes[0]), bounded(v.of.factor.reach+s.reach))
		v = v.of.vector
	}
	return term{
		lanes: g.each(opMul, [4]vector{v.lanes, s.lanes}),
		reach: bounded(v.reach + s.reach),
		of:    &product{v, s},
	}
}

func (g *graph) inverseLength(v term) term {
	square := number(g.dot(v.lanes, v.lanes), reachOf("dot", [4]term{v, v}))
	return number(g.value(opRsqrt, square.lanes[0]), reachOf("rsqrt", [4]term{square}))
}

// sinkCross moves the factors of a cross product's operands to its result.
func (g *graph) sinkCross(a, b term) (term, bool) {
	if a.of == nil && b.of == nil {
		return term{}, false
	}
	cross := func(a, b term) term {
		return term{lanes: g.cross([4]vector{a.lanes, b.lanes}), reach: reachOf("cross", [4]term{a, b})}
	}
	switch {
	case b.of == nil:
		return g.scale(cross(a.of.vector, b), a.of.factor), true
	case a.of == nil:
		return g.scale(cross(a, b.of.vector), b.of.factor), true
	}
	c := g.scale(cross(a.of.vector, b.of.vector), a.of.factor)
	return g.scale(c, b.of.factor), true
}

// sinkSelect turns a select between a product and 0 into the vector times (factor or 0), if
// the condition is a number and the vector is bounded. The only difference is -0 for 0. A
// vector that may be infinite or NaN keeps its select: the select may exist to exclude such
// values.
func (g *graph) sinkSelect(o Opcode, v [4]term) (term, bool) {
	if !v[0].scalar || !v[1].scalar {
		return term{}, false
	}
	p := v[2].of
	switch {
	case p != nil && v[3].scalar && g.isZero(v[3].lanes[0]):
		v[2] = p.factor
	case v[3].of != nil && v[2].scalar && g.isZero(v[2].lanes[0]):
		p = v[3].of
		v[3] = p.factor
	default:
		return term{}, false
	}
	if p.vector.reach == unbounded {
		return term{}, false
	}
	s := g.value(o, v[0].lanes[0], v[1].lanes[0], v[2].lanes[0], v[3].lanes[0])
	return g.scale(p.vector, number(s, max(v[2].reach, v[3].reach))), true
}

// sinkSum turns adding a product to the output into a mad.
func (g *graph) sinkSum(o Opcode, v [4]term) (Opcode, [4]term) {
	var p *product
	out := o.accumulator()
	switch {
	case o == opAdd || o == opSub:
		p = v[1].of
	case v[0].of != nil && v[1].scalar:
		p = g.scale(v[0], v[1]).of
	case v[1].of != nil && v[0].scalar:
		p = g.scale(v[1], v[0]).of
	}
	if p == nil {
		return o, v
	}
	switch o {
	case opAdd:
		o = opMad
	case opSub:
		o = opNmad
	}
	return o, [4]term{p.vector, p.factor, v[out]}
}
