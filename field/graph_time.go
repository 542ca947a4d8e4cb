package field

// A timed value is rounded to float32 where it meets a point (LANGUAGE.md, Time). These
// rewritings keep the rounded value small, however large time is: a periodic function takes
// time modulo its period.

// keepPrecise returns an operation that loses no time:
//   - a timed product is rounded before it is added to something that is not timed,
//     because a fused one would take its time as a float32;
//   - an angle that time is added to loses its whole turns;
//   - a timed number that is hashed is taken modulo latticePeriod.
func (g *graph) keepPrecise(v value) value {
	a, b, c := v.operands[0], v.operands[1], v.operands[2]
	switch v.op {
	case opMad, opNmad:
		if g.isTimed(a, b) && (c == theOutput || g.values[c].readsPoint) {
			o := opAdd
			if v.op == opNmad {
				o = opSub
			}
			v.op, v.operands = o, [4]valueID{c, g.value(opMul, a, b)}
		}
	case opSin:
		v.operands[0] = g.repeating(a)
	case opHash:
		for i, o := range v.operands[:3] {
			if g.values[o].isTimed() {
				v.operands[i] = g.inLattice(o)
			}
		}
	}
	return v
}

// isTimed reports whether an operation on both values is timed.
func (g *graph) isTimed(a, b valueID) bool {
	x, y := &g.values[a], &g.values[b]
	return (x.readsTime || y.readsTime) && !x.readsPoint && !y.readsPoint
}

// repeating returns the argument of a function of period 1. If time is added to the
// argument, repeating returns the fraction of the sum.
func (g *graph) repeating(id valueID) valueID {
	s := g.split(id)
	if !s.ok {
		return id
	}
	return g.plus(s.point, g.fraction(s.time))
}

// plus returns a + b, as one operation if a is a product.
func (g *graph) plus(a, b valueID) valueID {
	o, v := opMad, g.values[a]
	if v.op == opNeg {
		o, v = opNmad, g.values[v.operands[0]]
	}
	if v.op == opMul {
		return g.value(o, v.operands[0], v.operands[1], b)
	}
	return g.value(opAdd, a, b)
}

// fraction returns a value minus its floor, or the value if it has that form.
func (g *graph) fraction(id valueID) valueID {
	if v := &g.values[id]; v.op == opSub && g.values[v.operands[1]].op == opFloor && g.values[v.operands[1]].operands[0] == v.operands[0] {
		return id
	}
	return g.value(opSub, id, g.value(opFloor, id))
}

// latticePeriod is the number of cells after which noise that time moves repeats. Cell
// numbers below it, and sums of a few, are exact in float32.
const latticePeriod = 1 << 22

// inLattice returns an integer modulo latticePeriod, around 0, or the value if it has that form.
func (g *graph) inLattice(id valueID) valueID {
	period := g.literal(latticePeriod)
	if v := g.values[id]; v.op == opNmad && v.operands[1] == period && v.operands[0] == g.periodOf(v.operands[2]) {
		return id
	}
	return g.value(opNmad, g.periodOf(id), period, id)
}

func (g *graph) periodOf(id valueID) valueID {
	return g.value(opFloor, g.value(opMad, id, g.literal(1.0/latticePeriod), g.literal(0.5)))
}

// A splitValue represents a value as the sum of a part that does not depend on time and a
// timed part. Either part may be the literal 0.
type splitValue struct {
	point, time valueID
	ok          bool // the value depends on time and on the point, and is such a sum
}

// split splits a value that is built from the point and time by sums, and by products with
// fixed numbers.
func (g *graph) split(id valueID) splitValue {
	v := g.values[id]
	if !v.readsTime || !v.readsPoint || v.kind != valueComputed || g.plain {
		return splitValue{}
	}
	s, known := g.splits[id]
	if !known {
		s = g.splitOperation(&v)
		if g.splits == nil {
			g.splits = map[valueID]splitValue{}
		}
		g.splits[id] = s
	}
	return s
}

func (g *graph) splitOperation(v *value) splitValue {
	a, b := v.operands[0], v.operands[1]
	switch v.op {
	case opNeg, opAdd, opSub:
		x, y := g.parts(a), g.parts(b)
		if v.op == opNeg {
			y = x
		}
		if x.ok && y.ok {
			return splitValue{g.value(v.op, x.point, y.point), g.value(v.op, x.time, y.time), true}
		}
	case opMul, opMad, opNmad:
		if !g.isFixed(b) {
			a, b = b, a
		}
		if !g.isFixed(b) && (g.values[a].readsTime || g.values[b].readsTime) {
			return splitValue{}
		}
		zero := g.literal(0)
		x, c := g.parts(a), splitValue{zero, zero, true}
		if !g.isFixed(b) {
			x = splitValue{a, zero, true} // a product that depends on the point, to which time is added
		}
		if v.op != opMul {
			c = g.parts(v.operands[2])
		}
		if x.ok && c.ok {
			return splitValue{g.product(v.op, x.point, b, c.point), g.product(v.op, x.time, b, c.time), true}
		}
	case opDiv:
		if x := g.parts(a); x.ok && g.isFixed(b) {
			return splitValue{g.value(opDiv, x.point, b), g.value(opDiv, x.time, b), true}
		}
	}
	return splitValue{}
}

// product returns a mul, mad or nmad. Without an addend all are a mul.
func (g *graph) product(o Opcode, a, b, c valueID) valueID {
	switch {
	case o == opMul || o == opMad && g.isZero(c):
		return g.value(opMul, a, b)
	case g.isZero(c):
		return g.value(opNeg, g.value(opMul, a, b))
	}
	return g.value(o, a, b, c)
}

// parts returns the split of any value. A value that does not depend on time, or on the
// point, is one part.
func (g *graph) parts(id valueID) splitValue {
	switch v := &g.values[id]; {
	case !v.readsTime:
		return splitValue{id, g.literal(0), true}
	case !v.readsPoint:
		return splitValue{g.literal(0), id, true}
	}
	return g.split(id)
}

// isFixed reports whether a value depends neither on time nor on the point.
func (g *graph) isFixed(id valueID) bool { return !g.values[id].readsTime && !g.values[id].readsPoint }
