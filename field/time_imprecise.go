package field

import "slices"

// A growth says whether a timed value rises or falls without bound as time passes.
type growth struct{ up, down bool }

func (a growth) any() bool          { return a.up || a.down }
func (a growth) opposite() growth   { return growth{a.down, a.up} }
func (a growth) or(b growth) growth { return growth{a.up || b.up, a.down || b.down} }

// ImpreciseTime returns a warning for each line of an effect's text in which a value that
// grows with time for ever meets a point or the output. The value becomes a float32, which
// has steps of 1/8 s after twelve days. The warnings are *SyntaxErrors; err is the error of
// Compile.
func ImpreciseTime(source string) (warnings []error, err error) {
	defer catch(&err)
	text := parse(source)
	c := newCompiler(text)
	c.lower(text)
	g, live := c.graph, c.graph.findLive()
	grows := make([]growth, len(g.values))
	var lines []int32
	for id := range g.values {
		v := &g.values[id]
		if v.isTimed() {
			grows[id] = g.growth(v, grows)
		}
		if live[id] && g.isImprecise(v, grows) && !slices.Contains(lines, g.lines[id]) {
			lines = append(lines, g.lines[id])
		}
	}
	slices.Sort(lines)
	for _, at := range lines {
		warnings = append(warnings, text.lineOf(at).fail(1, "sin, cos, fract or noise of time and position, or time within a limit",
			"time grows here for ever, and meets a position or the output as a float32: after twelve days it counts in steps of 1/8 s"))
	}
	return warnings, nil
}

// isImprecise reports whether an operation rounds an operand that grows with time.
func (g *graph) isImprecise(v *value, grows []growth) bool {
	switch {
	case v.kind != valueComputed && v.kind != valueSum:
		return false
	case v.op == opHash: // inLattice keeps the last digits of integers
		for _, o := range v.operands[:3] {
			if n := g.values[o]; n.isTimed() && n.op == opNmad && !g.isInteger(n.operands[2]) && grows[n.operands[2]].any() {
				return true
			}
		}
	case v.isTimed():
		return false
	}
	operands := v.operands[:v.op.operands()]
	if len(operands) == 4 && !g.values[operands[0]].readsPoint && !g.values[operands[1]].readsPoint {
		operands = operands[2:] // a select by time alone: time reaches its limit while it is small, so the condition is precise
	}
	for _, o := range operands {
		if o != theOutput && g.values[o].isTimed() && grows[o].any() {
			return true
		}
	}
	return false
}

// isInteger reports whether a value's operations make it an integer.
func (g *graph) isInteger(id valueID) bool {
	v := &g.values[id]
	switch v.op {
	case opFloor:
		return true
	case opAdd, opSub, opMul, opNmad, opMad, opNeg, opMin, opMax:
		for _, o := range v.operands[:v.op.operands()] {
			if !g.isInteger(o) {
				return false
			}
		}
		return true
	}
	f, ok := g.literalOf(id)
	return ok && f == floor32(f)
}

// growth returns how a timed value grows, from its operands. A value that the compiler made
// periodic does not grow.
func (g *graph) growth(v *value, grows []growth) growth {
	if v.kind == valueUniform {
		return growth{up: true}
	}
	a, b, c := grows[v.operands[0]], grows[v.operands[1]], grows[v.operands[2]]
	switch v.op {
	case opAdd:
		return a.or(b)
	case opSub:
		if f := &g.values[v.operands[1]]; f.op == opFloor && f.operands[0] == v.operands[0] {
			return growth{}
		}
		return a.or(b.opposite())
	case opNeg:
		return a.opposite()
	case opMul:
		return g.growthOfProduct(v, a, b)
	case opMad:
		return c.or(g.growthOfProduct(v, a, b))
	case opNmad:
		if f := &g.values[v.operands[0]]; f.op == opFloor { // subtracts whole periods
			return growth{}
		}
		return c.or(g.growthOfProduct(v, a, b).opposite())
	case opDiv:
		return growth{a.any(), a.any()}
	case opMin:
		return growth{a.up && b.up, a.down || b.down}
	case opMax:
		return growth{a.up || b.up, a.down && b.down}
	case opAbs:
		return growth{up: a.any()}
	case opFloor:
		return a
	case opSqrt, opExp2:
		return growth{up: a.up}
	case opSelectLT, opSelectGE:
		return c.or(grows[v.operands[3]])
	}
	return growth{} // rsqrt, sin, saturate, hash
}

func (g *graph) growthOfProduct(v *value, a, b growth) growth {
	all := a.or(b)
	f, ok := g.literalOf(v.operands[1]) // literals are last
	switch {
	case !ok:
		return growth{all.any(), all.any()}
	case f < 0:
		return all.opposite()
	}
	return all
}
