package field

import "math"

// An oracleTerm is the oracle's value of a name: its lanes, whether they are one
// number, its reach, and its factors if it is a product.
type oracleTerm struct {
	v      oracleLanes
	scalar bool
	reach  int

	product     bool
	vector      oracleLanes
	vectorReach int
	factor      oracleNumber
	factorReach int
}

// An oracleNumber is a lane, and whether it is computed from literals alone.
type oracleNumber struct {
	f     float32
	known bool
	oracleTime
}

type oracleLanes = [4]oracleNumber

func oracleAll(n oracleNumber) oracleLanes { return oracleLanes{n, n, n, n} }

func (n oracleNumber) isZero() bool { return n.known && n.f == 0 }

// oracleOperands is the number of operands of an operation over lanes.
var oracleOperands = map[string]int{
	"add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "mad": 3, "nmad": 3, "hash": 3, "select_lt": 4, "select_ge": 4,
}

// oracleCompute applies an operation to one lane. Literal 0 is nothing.
func oracleCompute(op string, a, b, c, d oracleNumber) oracleNumber {
	if r, ok := oracleKeepTime(op, a, b, c, d); ok {
		return r
	}
	known, operands := true, [4]oracleNumber{a, b, c, d}
	for _, n := range operands[:max(1, oracleOperands[op])] {
		known = known && n.known
	}
	if known {
		if r := (oracleNumber{f: oracleLane(op, a.f, b.f, c.f, d.f), known: true}); isFinite(r.f) {
			return r
		}
	}
	one := oracleNumber{f: 1, known: true}
	switch op {
	case "mad", "nmad":
		if a == one || b == one {
			if b != one {
				a = b
			}
			return oracleCompute(map[string]string{"mad": "add", "nmad": "sub"}[op], c, a, d, d)
		}
		if a.isZero() || b.isZero() {
			return c
		}
	case "mul":
		switch {
		case a.isZero() || b.isZero():
			return oracleNumber{known: true}
		case a == one:
			return b
		case b == one:
			return a
		}
	case "add", "sub":
		if b.isZero() {
			return a
		}
		if op == "add" && a.isZero() {
			return b
		}
		if a.isZero() {
			return oracleCompute("neg", b, b, b, b)
		}
	case "select_lt", "select_ge":
		if c.known && d.known && math.Float32bits(c.f) == math.Float32bits(d.f) || c.isSame(&d) {
			return c
		}
		if a.known && b.known {
			if oracleLane(op, a.f, b.f, 1, 0) == 1 {
				return c
			}
			return d
		}
	}
	return oracleTimedResult(op, operands)
}

const oracleNowhere = 1000 // reach of values that may be infinite

func oracleReach(r int) int {
	if r > 127 {
		return oracleNowhere
	}
	return r
}

func oracleLiteral(v Vec4) oracleTerm {
	t := oracleTerm{scalar: true}
	for i, f := range v {
		t.v[i] = oracleNumber{f: f, known: true}
		t.scalar = t.scalar && math.Float32bits(f) == math.Float32bits(v[0])
		for r := 0; math.Abs(float64(f)) >= math.Ldexp(1, t.reach); r++ {
			t.reach = r
		}
	}
	t.reach = oracleReach(t.reach)
	return t
}

func oracleProduct(v oracleLanes, reach int, factor oracleNumber, factorReach int) oracleTerm {
	t := oracleTerm{reach: oracleReach(reach + factorReach), product: true, vector: v, vectorReach: reach, factor: factor, factorReach: factorReach}
	t.v = oracleOperation("mul", v, oracleAll(factor), v, v)
	return t
}

// oracleTimes is a vector or product times a number.
func oracleTimes(t oracleTerm, factor oracleNumber, reach int) oracleTerm {
	if t.product {
		return oracleProduct(t.vector, t.vectorReach, oracleCompute("mul", t.factor, factor, factor, factor), oracleReach(t.factorReach+reach))
	}
	return oracleProduct(t.v, t.reach, factor, reach)
}

func oracleStatement(op string, t [4]oracleTerm) oracleTerm {
	a, b, c, d := t[0], t[1], t[2], t[3]
	lanes := oracleOperation(op, a.v, b.v, c.v, d.v)
	switch op {
	case "mov":
		return a
	case "mul":
		if a.scalar != b.scalar {
			if a.scalar {
				a, b = b, a
			}
			return oracleTimes(a, b.v[0], b.reach)
		}
	case "normalize":
		if !a.scalar {
			square := oracleOperation("dot", a.v, a.v, a.v, a.v)
			return oracleProduct(a.v, a.reach, oracleCompute("rsqrt", square[0], square[0], square[0], square[0]), oracleRootReach(20, a.reach))
		}
	case "neg":
		if a.product {
			return oracleProduct(a.vector, a.vectorReach, oracleCompute("neg", a.factor, a.factor, a.factor, a.factor), a.factorReach)
		}
	case "cross":
		return oracleCross(a, b)
	case "select_lt", "select_ge":
		if !a.scalar || !b.scalar {
			break
		}
		if c.product && d.scalar && d.v[0].isZero() {
			if c.vectorReach != oracleNowhere {
				factor := oracleCompute(op, a.v[0], b.v[0], c.factor, d.v[0])
				return oracleProduct(c.vector, c.vectorReach, factor, max(c.factorReach, d.reach))
			}
		} else if d.product && c.scalar && c.v[0].isZero() && d.vectorReach != oracleNowhere {
			factor := oracleCompute(op, a.v[0], b.v[0], c.v[0], d.factor)
			return oracleProduct(d.vector, d.vectorReach, factor, max(d.factorReach, c.reach))
		}
	}
	scalar := a.scalar && op != "cross"
	for _, o := range t[:max(oracleOperands[op], 1)] {
		scalar = scalar && o.scalar
	}
	return oracleTerm{v: lanes, scalar: scalar || op == "dot" || op == "length", reach: oracleReachOf(op, a.reach, b.reach, c.reach, d.reach)}
}

func oracleCross(a, b oracleTerm) oracleTerm {
	u, w := a, b
	if a.product {
		u = oracleTerm{v: a.vector, reach: a.vectorReach}
	}
	if b.product {
		w = oracleTerm{v: b.vector, reach: b.vectorReach}
	}
	r := oracleTerm{v: oracleOperation("cross", u.v, w.v, w.v, w.v), reach: oracleReachOf("cross", u.reach, w.reach, 0, 0)}
	if a.product {
		r = oracleTimes(r, a.factor, a.factorReach)
	}
	if b.product {
		r = oracleTimes(r, b.factor, b.factorReach)
	}
	return r
}

// oracleSum is an assignment to the output: a mad for products.
func oracleSum(op string, t [4]oracleTerm) oracleLanes {
	a, b, c := t[0], t[1], t[2]
	switch op {
	case "add", "sub":
		if !b.product {
			break
		}
		op = map[string]string{"add": "mad", "sub": "nmad"}[op]
		a, b, c = oracleTerm{v: b.vector}, oracleTerm{v: oracleAll(b.factor)}, a
	default:
		if b.product && a.scalar {
			a, b = b, a
		}
		if a.product && b.scalar {
			p := oracleTimes(a, b.v[0], 0)
			a, b = oracleTerm{v: p.vector}, oracleTerm{v: oracleAll(p.factor)}
		}
	}
	return oracleOperation(op, a.v, b.v, c.v, c.v)
}

// oracleRootReach is r, unless a lane with this reach has an overflowing square.
func oracleRootReach(r, lane int) int {
	if lane > 62 {
		return oracleNowhere
	}
	return r
}

// oracleReachOf is the reach of a result's lanes, as powers of 2.
func oracleReachOf(op string, a, b, c, d int) int {
	worst := max(a, b, c, d)
	switch {
	case op == "saturate" || op == "hash":
		return 0
	case op == "smooth":
		return 1
	case op == "select_lt" || op == "select_ge":
		return max(c, d)
	case worst == oracleNowhere:
		return worst
	}
	switch op {
	case "add", "sub", "mad", "nmad":
		if op == "mad" || op == "nmad" {
			a, b = a+b, c
		}
		return oracleReach(max(a, b) + 1)
	case "abs", "neg", "floor", "min", "max":
		return max(a, b)
	case "mul":
		return oracleReach(a + b)
	case "dot":
		return oracleReach(a + b + 2)
	case "cross":
		return oracleReach(a + b + 1)
	case "length":
		return oracleRootReach(a+1, a)
	case "rsqrt":
		return 20
	case "sin":
		return 1
	}
	return oracleNowhere // div, sqrt, exp2
}
