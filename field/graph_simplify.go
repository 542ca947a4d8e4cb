package field

import (
	"cmp"
	"math"
)

// Simplifications. A lane that is 0 by the text's literals is dropped: 0*x is 0 and x +
// 0 is x, whatever x is (LANGUAGE.md, Arithmetic). All other simplifications keep
// every bit of the result; NaN has no defined bits.

// simplify returns an operation's cheapest form, with commutative operands ordered:
// point-dependent ones first, literals last. Equal values thus become identical, and
// kernels need only one form of each operation. In a sum, the vector of a product precedes
// its factor.
func (g *graph) simplify(v value) value {
	switch v.op {
	case opDiv:
		if f, ok := g.literalOf(v.operands[1]); ok {
			if inverse, ok := exactInverse(f); ok {
				v.op, v.operands[1] = opMul, g.literal(inverse)
			}
		}
	case opMad, opNmad:
		v = g.simplifyProduct(v)
	}
	v = g.foldNegation(v)
	switch v.op {
	case opAdd, opMul, opMad, opNmad:
		a, b := v.operands[0], v.operands[1]
		if a != theOutput && g.precedes(b, a) && (v.kind != valueSum || g.values[a].isUniform()) {
			v.operands[0], v.operands[1] = b, a
		}
	}
	return v
}

// foldNegation moves operands' signs into the operation: a + neg b is a - b.
func (g *graph) foldNegation(v value) value {
	opposite := [opcodes]Opcode{opAdd: opSub, opSub: opAdd, opMad: opNmad, opNmad: opMad}
	for opposite[v.op] != opNone {
		at := 1
		if g.isNeg(v.operands[0]) && !g.isNeg(v.operands[1]) {
			switch v.op {
			case opAdd:
				v.operands[0], v.operands[1] = v.operands[1], v.operands[0]
			case opMad, opNmad:
				at = 0
			}
		}
		if !g.isNeg(v.operands[at]) {
			break
		}
		v.op = opposite[v.op]
		v.operands[at] = g.values[v.operands[at]].operands[0]
	}
	return v
}

func (g *graph) isNeg(id valueID) bool { return id != theOutput && g.values[id].op == opNeg }

// simplifyProduct turns a mad into a sum if its product is exact: by 1 or 0, or of two
// literals whose product is a float32.
func (g *graph) simplifyProduct(v value) value {
	a, b, c := v.operands[0], v.operands[1], v.operands[2]
	if g.isLiteral(a, oneBits) {
		a, b = b, a
	}
	switch {
	case g.isLiteral(b, oneBits):
	case g.isZero(a) || g.isZero(b):
		a = g.literal(0)
	default:
		x, isX := g.literalOf(a)
		y, isY := g.literalOf(b)
		exact := float64(x) * float64(y)
		if !isX || !isY || float64(float32(exact)) != exact {
			return v
		}
		a = g.literal(float32(exact))
	}
	v.operands = [4]valueID{c, a}
	if v.op == opMad {
		v.op = opAdd
	} else {
		v.op = opSub
	}
	return v
}

// precedes orders two operands. The order is the same for a program and its printed form,
// which creates literals in a different order.
func (g *graph) precedes(a, b valueID) bool {
	x, y := &g.values[a], &g.values[b]
	return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.bits, y.bits), cmp.Compare(a, b)) < 0
}

// foldLiterals evaluates operations on literals with the machine's arithmetic (F1).
// Non-finite results stay instructions: text cannot express them.
func (g *graph) foldLiterals(v value) (float32, bool) {
	var f [4]float32
	for i, id := range v.operands[:v.op.operands()] {
		var ok bool
		if f[i], ok = g.literalOf(id); !ok {
			return 0, false
		}
	}
	r := evaluate(v.op, f[0], f[1], f[2], f[3])
	return r, isFinite(r)
}

const oneBits = 0x3f800000

// foldIdentity returns the operand, or 0, to which an operation reduces.
func (g *graph) foldIdentity(v value) (valueID, bool) {
	a, b := v.operands[0], v.operands[1]
	switch v.op {
	case opAdd:
		return a, g.isZero(b)
	case opSub:
		if g.isZero(a) {
			return g.value(opNeg, b), true
		}
		return a, g.isZero(b)
	case opMul:
		if g.isZero(b) {
			return g.literal(0), true
		}
		return a, g.isLiteral(b, oneBits)
	case opSaturate:
		return a, g.values[a].op == opSaturate
	case opNeg:
		return g.values[a].operands[0], g.isNeg(a)
	case opSelectLT, opSelectGE:
		return g.foldSelect(v)
	}
	return 0, false
}

// foldSelect returns the result of a select between equals, or on literals.
func (g *graph) foldSelect(v value) (valueID, bool) {
	a, isA := g.literalOf(v.operands[0])
	b, isB := g.literalOf(v.operands[1])
	switch {
	case v.operands[2] == v.operands[3]:
	case !isA || !isB:
		return 0, false
	case evaluate(v.op, a, b, 0, 1) == 1:
		return v.operands[3], true
	}
	return v.operands[2], true
}

// isZero reports whether a value is the literal 0 of either sign.
func (g *graph) isZero(id valueID) bool {
	f, ok := g.literalOf(id)
	return ok && f == 0
}

func (g *graph) isLiteral(id valueID, bits uint32) bool {
	return id != theOutput && g.values[id].kind == valueLiteral && g.values[id].bits == bits
}

// literalOf returns a value's literal, if it is one.
func (g *graph) literalOf(id valueID) (float32, bool) {
	if id == theOutput || g.values[id].kind != valueLiteral {
		return 0, false
	}
	return math.Float32frombits(g.values[id].bits), true
}

// exactInverse returns 1/f if multiplying by it equals dividing by f: powers of 2 that,
// like their inverse, are not subnormal.
func exactInverse(f float32) (float32, bool) {
	const mantissaBits = 1<<23 - 1
	inverse := 1 / f
	isPower := func(f float32) bool {
		bits := math.Float32bits(f)
		return bits&mantissaBits == 0 && bits&^signBit != 0 && isFinite(f)
	}
	return inverse, isPower(f) && isPower(inverse)
}
