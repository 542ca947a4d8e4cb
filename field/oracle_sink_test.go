package field

import "math"

// An oracleTerm is the oracle's idea of a name: its lanes, whether they are one
// number, how far they reach, and the vector and the factor if it is a product.
type oracleTerm struct {
	v            Vec4
	scalar, zero bool
	reach        int

	product     bool
	vector      Vec4
	vectorReach int
	factor      float32
	factorReach int
}

const oracleNowhere = 1000 // the reach of what may be infinite

func oracleReach(r int) int {
	if r > 127 {
		return oracleNowhere
	}
	return r
}

func oracleLiteral(v Vec4) oracleTerm {
	t := oracleTerm{v: v, scalar: true}
	for _, f := range v {
		t.scalar = t.scalar && math.Float32bits(f) == math.Float32bits(v[0])
		for r := 0; math.Abs(float64(f)) >= math.Ldexp(1, t.reach); r++ {
			t.reach = r
		}
	}
	t.zero = t.scalar && v[0] == 0
	t.reach = oracleReach(t.reach)
	return t
}

func oracleProduct(v Vec4, reach int, factor float32, factorReach int) oracleTerm {
	t := oracleTerm{reach: oracleReach(reach + factorReach), product: true, vector: v, vectorReach: reach, factor: factor, factorReach: factorReach}
	for i := range v {
		t.v[i] = float32(v[i] * factor)
	}
	return t
}

// oracleTimes is a vector, maybe a product, times a number.
func oracleTimes(t oracleTerm, factor float32, reach int) oracleTerm {
	if t.product {
		return oracleProduct(t.vector, t.vectorReach, float32(t.factor*factor), oracleReach(t.factorReach+reach))
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
			return oracleProduct(a.v, a.reach, oracleRsqrt(square[0]), oracleRootReach(20, a.reach))
		}
	case "neg":
		if a.product {
			return oracleProduct(a.vector, a.vectorReach, -a.factor, a.factorReach)
		}
	case "cross":
		return oracleCross(a, b)
	case "select_lt", "select_ge":
		first := a.v[0] < b.v[0]
		if op == "select_ge" {
			first = a.v[0] >= b.v[0]
		}
		for range 2 {
			if a.scalar && b.scalar && c.product && d.zero && c.vectorReach != oracleNowhere {
				factor := d.v[0]
				if first {
					factor = c.factor
				}
				return oracleProduct(c.vector, c.vectorReach, factor, max(c.factorReach, d.reach))
			}
			c, d, first = d, c, !first
		}
	}
	n := map[string]int{"mul": 2, "add": 2, "sub": 2, "div": 2, "min": 2, "max": 2, "mad": 3, "nmad": 3, "select_lt": 4, "select_ge": 4}[op]
	scalar := a.scalar
	for _, o := range t[:max(n, 1)] {
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

// oracleSum is an assignment to the output: mad if a product is added.
func oracleSum(op string, t [4]oracleTerm) Vec4 {
	a, b, c := t[0], t[1], t[2]
	switch op {
	case "add", "sub":
		c, op = a, map[string]string{"add": "mad", "sub": "nmad"}[op]
		if a, b = b, oracleLiteral(Vec4{1, 1, 1, 1}); !a.product {
			break
		}
		a, b = oracleTerm{v: a.vector}, oracleTerm{v: Vec4{a.factor, a.factor, a.factor, a.factor}}
	default:
		if b.product && a.scalar {
			a, b = b, a
		}
		if a.product && b.scalar {
			p := oracleTimes(a, b.v[0], 0)
			a, b = oracleTerm{v: p.vector}, oracleTerm{v: Vec4{p.factor, p.factor, p.factor, p.factor}}
		}
	}
	return oracleOperation(op, a.v, b.v, c.v, c.v)
}

// oracleRootReach is r, unless a lane of this reach has a square that overflows.
func oracleRootReach(r, lane int) int {
	if lane > 62 {
		return oracleNowhere
	}
	return r
}

// oracleReachOf is how far the lanes of a result reach, as powers of 2.
func oracleReachOf(op string, a, b, c, d int) int {
	worst := max(a, b, c, d)
	switch {
	case op == "saturate":
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
	return oracleNowhere // div, sqrt
}
