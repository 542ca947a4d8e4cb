package field_test

import (
	"math"
	"strings"
)

// A vectorScalar is one lane: its number, whether the text fixes it, and the operation that
// computed it.
type vectorScalar struct {
	f     float32
	fixed bool
	node  *vectorNode // nil if it depends on neither time nor point
}

// A vectorNode is an operation on lanes that depend on time or point (LANGUAGE.md, Time).
type vectorNode struct {
	time, point bool
	exact       float64 // if it is timed
	operation   string
	operands    []vectorScalar

	split              bool // rest and moment are known
	summed             bool // the result is rest + moment
	remainder, instant vectorScalar
}

func vectorTimed(f float64) vectorScalar {
	return vectorScalar{f: float32(f), node: &vectorNode{time: true, exact: f}}
}

func (s vectorScalar) isNothing() bool { return s.fixed && s.f == 0 }
func (s vectorScalar) isOne() bool     { return s.fixed && s.f == 1 }
func (s vectorScalar) onTime() bool    { return s.node != nil && s.node.time }
func (s vectorScalar) onPoint() bool   { return s.node != nil && s.node.point }

// isSame reports whether the two scalars are the same value.
func (s vectorScalar) isSame(other vectorScalar) bool {
	return s.fixed == other.fixed && math.Float32bits(s.f) == math.Float32bits(other.f) && (s.node == other.node ||
		s.node != nil && other.node != nil && s.node.time == other.node.time && s.node.point == other.node.point &&
			math.Float64bits(s.node.exact) == math.Float64bits(other.node.exact))
}

// double returns the number in the precision of operations on time.
func (s vectorScalar) double() float64 {
	if s.onTime() && !s.onPoint() {
		return s.node.exact
	}
	return float64(s.f)
}

// vectorResult computes an operation, and records it.
func vectorResult(operation string, v []vectorScalar) vectorScalar {
	n := &vectorNode{operation: operation, operands: v}
	for _, s := range v[:vectorOperandCounts[operation]] {
		n.time, n.point = n.time || s.onTime(), n.point || s.onPoint()
	}
	switch {
	case n.time && !n.point:
		n.exact = vectorDouble(operation, v[0].double(), v[1].double(), v[2].double(), v[3].double())
		return vectorScalar{f: float32(n.exact), node: n}
	case !n.time && !n.point:
		n = nil
	}
	return vectorScalar{f: vectorNumber(operation, v[0].f, v[1].f, v[2].f, v[3].f), node: n}
}

// vectorDouble computes an operation on timed numbers in double precision, or in single
// precision where the page says so.
func vectorDouble(operation string, a, b, c, d float64) float64 {
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
		s := vectorDouble("min", vectorDouble("max", a, 0, 0, 0), 1, 0, 0)
		if operation == "smooth" {
			s = float64(s*s) * (3 - float64(2*s))
		}
		return s
	case "sin":
		a -= math.Floor(a + 0.5)
	}
	return float64(vectorNumber(operation, float32(a), float32(b), float32(c), float32(d)))
}

// vectorKeepTime applies the rules by which an operation first takes time out of its
// operands.
func vectorKeepTime(operation string, a, b, c vectorScalar) (vectorScalar, bool) {
	switch {
	case strings.HasSuffix(operation, "mad") && (a.onTime() || b.onTime()) && !a.onPoint() && !b.onPoint() && c.onPoint():
		product := vectorCompute("mul", a, b)
		if operation == "mad" {
			return vectorCompute("add", c, product), true
		}
		return vectorCompute("sub", c, product), true
	case operation == "sin" && a.onTime() && a.onPoint():
		rest, moment, ok := vectorSplitTime(a)
		if !ok {
			return a, false
		}
		part := vectorTimed(moment.double() - math.Floor(moment.double()))
		// A number of the point alone: its sine is not split again.
		angle := vectorScalar{f: vectorPlus(rest, part).f, node: &vectorNode{point: true}}
		return vectorResult("sin", []vectorScalar{angle, {}, {}, {}}), true
	case operation == "hash":
		v := []vectorScalar{a, b, c, {}}
		for i, s := range v {
			if s.onTime() && !s.onPoint() {
				v[i] = vectorTimed(s.double() - 0x1p22*math.Floor(s.double()*0x1p-22+0.5))
			}
		}
		r := vectorResult("hash", v)
		return r, r.onTime()
	}
	return vectorScalar{}, false
}

// vectorPlus adds b to a, with one rounding if a is a product.
func vectorPlus(a, b vectorScalar) vectorScalar {
	operation := "mad"
	for n := a.node; n.operation == "neg" && n.operands[0].node != nil; n = a.node {
		a, operation = n.operands[0], map[string]string{"mad": "nmad", "nmad": "mad"}[operation]
	}
	switch n := a.node; n.operation {
	case "mul":
		return vectorCompute(operation, n.operands[0], n.operands[1], b)
	case "div":
		if by := n.operands[1]; by.fixed && vectorExactInverse(by.f) {
			return vectorCompute(operation, n.operands[0], vectorScalar{f: 1 / by.f, fixed: true}, b)
		}
	}
	if operation == "nmad" {
		return vectorCompute("sub", b, a)
	}
	return vectorCompute("add", a, b)
}

func vectorExactInverse(f float32) bool {
	mantissa, exponent := math.Frexp(float64(f))
	return math.Abs(mantissa) == 0.5 && exponent >= -125 && exponent <= 127
}

// vectorSplitTime splits a number into a sum: rest does not depend on time, moment is
// timed.
func vectorSplitTime(s vectorScalar) (rest, moment vectorScalar, ok bool) {
	nothing := vectorScalar{fixed: true}
	switch {
	case !s.onTime():
		return s, nothing, true
	case !s.onPoint():
		return nothing, s, true
	case !s.node.split:
		s.node.split = true
		s.node.remainder, s.node.instant, s.node.summed = vectorSplitNode(s.node)
	}
	return s.node.remainder, s.node.instant, s.node.summed
}

func vectorSplitNode(n *vectorNode) (rest, moment vectorScalar, ok bool) {
	if n.operation == "" {
		return rest, moment, false
	}
	a, b := n.operands[0], n.operands[1]
	restA, momentA, okA := vectorSplitTime(a)
	restB, momentB, okB := vectorSplitTime(b)
	fixedA, fixedB := a.node == nil, b.node == nil
	switch n.operation {
	case "neg":
		return vectorCompute("neg", restA), vectorCompute("neg", momentA), okA
	case "add", "sub":
		return vectorCompute(n.operation, restA, restB), vectorCompute(n.operation, momentA, momentB), okA && okB
	case "div":
		return vectorCompute("div", restA, b), vectorCompute("div", momentA, b), okA && fixedB
	case "mul":
		if fixedA {
			return vectorCompute("mul", restB, a), vectorCompute("mul", momentB, a), okB
		}
		return vectorCompute("mul", restA, b), vectorCompute("mul", momentA, b), okA && fixedB
	case "mad", "nmad":
		restC, momentC, okC := vectorSplitTime(n.operands[2])
		opposite := func(s vectorScalar) vectorScalar {
			if n.operation == "nmad" {
				return vectorCompute("neg", s)
			}
			return s
		}
		if !a.onTime() && !b.onTime() {
			if restC.isNothing() {
				return opposite(vectorCompute("mul", a, b)), momentC, okC
			}
			return vectorCompute(n.operation, a, b, restC), momentC, okC
		}
		if fixedA {
			b, restA, momentA, okA, fixedB = a, restB, momentB, okB, true
		}
		rest, moment = opposite(vectorCompute("mul", restA, b)), opposite(vectorCompute("mul", momentA, b))
		if !restC.isNothing() {
			rest = vectorCompute(n.operation, restA, b, restC)
		}
		if !momentC.isNothing() {
			moment = vectorCompute(n.operation, momentA, b, momentC)
		}
		return rest, moment, okA && okC && fixedB
	}
	return rest, moment, false
}
