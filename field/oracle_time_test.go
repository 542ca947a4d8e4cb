package field

import (
	"math"
	"strings"
)

// A oracleScalar is one lane: its number, whether the text fixes it, and the operation that
// computed it.
type oracleScalar struct {
	f     float32
	fixed bool
	node  *oracleNode // nil if it depends on neither time nor point
}

// A oracleNode is an operation on lanes that depend on time or point (LANGUAGE.md, Time).
type oracleNode struct {
	time, point bool
	exact       float64 // if it is timed
	operation   string
	operands    []oracleScalar

	split              bool // rest and moment are known
	summed             bool // the result is rest + moment
	remainder, instant oracleScalar
}

func oracleTimed(f float64) oracleScalar {
	return oracleScalar{f: float32(f), node: &oracleNode{time: true, exact: f}}
}

func (s oracleScalar) isNothing() bool { return s.fixed && s.f == 0 }
func (s oracleScalar) isOne() bool     { return s.fixed && s.f == 1 }
func (s oracleScalar) onTime() bool    { return s.node != nil && s.node.time }
func (s oracleScalar) onPoint() bool   { return s.node != nil && s.node.point }

// isSame reports whether the two scalars are the same value.
func (s oracleScalar) isSame(other oracleScalar) bool {
	return s.fixed == other.fixed && math.Float32bits(s.f) == math.Float32bits(other.f) && (s.node == other.node ||
		s.node != nil && other.node != nil && s.node.time == other.node.time && s.node.point == other.node.point &&
			math.Float64bits(s.node.exact) == math.Float64bits(other.node.exact))
}

// double returns the number in the precision of operations on time.
func (s oracleScalar) double() float64 {
	if s.onTime() && !s.onPoint() {
		return s.node.exact
	}
	return float64(s.f)
}

// oracleResult computes an operation, and records it.
func oracleResult(operation string, v []oracleScalar) oracleScalar {
	n := &oracleNode{operation: operation, operands: v}
	for _, s := range v[:oracleOperandCounts[operation]] {
		n.time, n.point = n.time || s.onTime(), n.point || s.onPoint()
	}
	switch {
	case n.time && !n.point:
		n.exact = oracleDouble(operation, v[0].double(), v[1].double(), v[2].double(), v[3].double())
		return oracleScalar{f: float32(n.exact), node: n}
	case !n.time && !n.point:
		n = nil
	}
	return oracleScalar{f: oracleNumber(operation, v[0].f, v[1].f, v[2].f, v[3].f), node: n}
}

// oracleDouble computes an operation on timed numbers in double precision, or in single
// precision where the page says so.
func oracleDouble(operation string, a, b, c, d float64) float64 {
	switch operation {
	case "add":
		return a + b
	case "sub":
		return a - b
	case "mul":
		return a * b
	case "div":
		return a / b
	case "mad", "nmad":
		p := float64(a * b)
		if operation == "nmad" {
			p = -p
		}
		return p + c
	case "min", "select_lt":
		if operation == "min" {
			c, d = a, b
		}
		if a < b {
			return c
		}
		return d
	case "max":
		if a > b {
			return a
		}
		return b
	case "select_ge":
		if a >= b {
			return c
		}
		return d
	case "abs":
		return math.Abs(a)
	case "neg":
		return -a
	case "floor":
		return math.Floor(a)
	case "sqrt":
		return math.Sqrt(a)
	case "saturate", "smooth":
		s := oracleDouble("min", oracleDouble("max", a, 0, 0, 0), 1, 0, 0)
		if operation == "smooth" {
			s = float64(s*s) * (3 - float64(2*s))
		}
		return s
	case "sin":
		a -= math.Floor(a + 0.5)
	}
	return float64(oracleNumber(operation, float32(a), float32(b), float32(c), float32(d)))
}

// oracleKeepTime applies the rules by which an operation first takes time out of its
// operands.
func oracleKeepTime(operation string, a, b, c oracleScalar) (oracleScalar, bool) {
	switch {
	case strings.HasSuffix(operation, "mad") && (a.onTime() || b.onTime()) && !a.onPoint() && !b.onPoint() && c.onPoint():
		product := oracleCompute("mul", a, b)
		if operation == "mad" {
			return oracleCompute("add", c, product), true
		}
		return oracleCompute("sub", c, product), true
	case operation == "sin" && a.onTime() && a.onPoint():
		rest, moment, ok := oracleSplitTime(a)
		if !ok {
			return a, false
		}
		part := oracleTimed(moment.double() - math.Floor(moment.double()))
		// A number of the point alone: its sine is not split again.
		angle := oracleScalar{f: oraclePlus(rest, part).f, node: &oracleNode{point: true}}
		return oracleResult("sin", []oracleScalar{angle, {}, {}, {}}), true
	case operation == "hash":
		v := []oracleScalar{a, b, c, {}}
		for i, s := range v {
			if s.onTime() && !s.onPoint() {
				v[i] = oracleTimed(s.double() - 0x1p22*math.Floor(s.double()*0x1p-22+0.5))
			}
		}
		r := oracleResult("hash", v)
		return r, r.onTime()
	}
	return oracleScalar{}, false
}

// oraclePlus adds b to a, with one rounding if a is a product.
func oraclePlus(a, b oracleScalar) oracleScalar {
	operation := "mad"
	for n := a.node; n.operation == "neg" && n.operands[0].node != nil; n = a.node {
		a, operation = n.operands[0], map[string]string{"mad": "nmad", "nmad": "mad"}[operation]
	}
	switch n := a.node; n.operation {
	case "mul":
		return oracleCompute(operation, n.operands[0], n.operands[1], b)
	case "div":
		if by := n.operands[1]; by.fixed && oracleExactInverse(by.f) {
			return oracleCompute(operation, n.operands[0], oracleScalar{f: 1 / by.f, fixed: true}, b)
		}
	}
	if operation == "nmad" {
		return oracleCompute("sub", b, a)
	}
	return oracleCompute("add", a, b)
}

func oracleExactInverse(f float32) bool {
	mantissa, exponent := math.Frexp(float64(f))
	return math.Abs(mantissa) == 0.5 && exponent >= -125 && exponent <= 127
}

// oracleSplitTime splits a number into a sum: rest does not depend on time, moment is
// timed.
func oracleSplitTime(s oracleScalar) (rest, moment oracleScalar, ok bool) {
	nothing := oracleScalar{fixed: true}
	switch {
	case !s.onTime():
		return s, nothing, true
	case !s.onPoint():
		return nothing, s, true
	case !s.node.split:
		s.node.split = true
		s.node.remainder, s.node.instant, s.node.summed = oracleSplitNode(s.node)
	}
	return s.node.remainder, s.node.instant, s.node.summed
}

func oracleSplitNode(n *oracleNode) (rest, moment oracleScalar, ok bool) {
	if n.operation == "" {
		return rest, moment, false
	}
	a, b := n.operands[0], n.operands[1]
	restA, momentA, okA := oracleSplitTime(a)
	restB, momentB, okB := oracleSplitTime(b)
	fixedA, fixedB := a.node == nil, b.node == nil
	switch n.operation {
	case "neg":
		return oracleCompute("neg", restA), oracleCompute("neg", momentA), okA
	case "add", "sub":
		return oracleCompute(n.operation, restA, restB), oracleCompute(n.operation, momentA, momentB), okA && okB
	case "div":
		return oracleCompute("div", restA, b), oracleCompute("div", momentA, b), okA && fixedB
	case "mul":
		if fixedA {
			return oracleCompute("mul", restB, a), oracleCompute("mul", momentB, a), okB
		}
		return oracleCompute("mul", restA, b), oracleCompute("mul", momentA, b), okA && fixedB
	case "mad", "nmad":
		restC, momentC, okC := oracleSplitTime(n.operands[2])
		opposite := func(s oracleScalar) oracleScalar {
			if n.operation == "nmad" {
				return oracleCompute("neg", s)
			}
			return s
		}
		if !a.onTime() && !b.onTime() {
			if restC.isNothing() {
				return opposite(oracleCompute("mul", a, b)), momentC, okC
			}
			return oracleCompute(n.operation, a, b, restC), momentC, okC
		}
		if fixedA {
			b, restA, momentA, okA, fixedB = a, restB, momentB, okB, true
		}
		rest, moment = opposite(oracleCompute("mul", restA, b)), opposite(oracleCompute("mul", momentA, b))
		if !restC.isNothing() {
			rest = oracleCompute(n.operation, restA, b, restC)
		}
		if !momentC.isNothing() {
			moment = oracleCompute(n.operation, momentA, b, momentC)
		}
		return rest, moment, okA && okC && fixedB
	}
	return rest, moment, false
}
