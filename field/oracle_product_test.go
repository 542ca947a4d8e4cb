package field

import (
	"math"
	"strings"
)

// A oracleTerm is four numbers with the properties in LANGUAGE.md: whether the text fixes
// them, whether they are one number or a vector times a number, and the bound of their
// magnitudes.
type oracleTerm struct {
	lanes  [4]float32
	fixed  [4]bool // lanes computed from literals alone
	nodes  [4]*oracleNode
	single bool
	size   float64 // a power of 2; infinite if unbounded
	parts  []oracleTerm
}

const oracleGiven = 1 << 30

// oracleMost is the size if it is a float32's, otherwise infinite.
func oracleMost(size float64) float64 {
	if size > 0x1p127 {
		return math.Inf(1)
	}
	return size
}

func oracleSingle(s oracleScalar, size float64) oracleTerm {
	t := oracleTerm{single: true, size: size}
	for i := range t.lanes {
		t.setLane(i, s)
	}
	return t
}

func (t *oracleTerm) lane(i int) oracleScalar {
	return oracleScalar{t.lanes[i], t.fixed[i], t.nodes[i]}
}

func (t *oracleTerm) setLane(i int, s oracleScalar) {
	t.lanes[i], t.fixed[i], t.nodes[i] = s.f, s.fixed, s.node
}

func (t *oracleTerm) isNothing(lane int) bool { return t.fixed[lane] && t.lanes[lane] == 0 }

func oracleWritten(v [4]float32) oracleTerm {
	t := oracleTerm{lanes: v, fixed: [4]bool{true, true, true, true}, single: true, size: 1}
	for _, f := range v {
		t.single = t.single && f == v[0] && math.Signbit(float64(f)) == math.Signbit(float64(v[0]))
		for t.size <= math.Abs(float64(f)) {
			t.size *= 2
		}
	}
	t.size = oracleMost(t.size)
	return t
}

// oracleTimes multiplies a vector, or a product's vector, by a number.
func oracleTimes(v, s oracleTerm) oracleTerm {
	if v.parts != nil {
		f := v.parts[1]
		s = oracleApply("mul", [4]oracleTerm{f, s})
		v = v.parts[0]
	}
	r := oracleLanes("mul", [4]oracleTerm{v, s})
	r.size, r.parts = oracleMost(v.size*s.size), []oracleTerm{v, s}
	return r
}

// oracleApply applies one assignment.
func oracleApply(operation string, t [4]oracleTerm) oracleTerm {
	if r, ok := oracleKept(operation, t); ok {
		return r
	}
	largest, single := 0.0, operation != "cross"
	for i := range oracleOperandCounts[operation] {
		largest = math.Max(largest, t[i].size)
		single = single && t[i].single
	}
	r := oracleLanes(operation, t)
	r.single = single || operation == "dot" || operation == "length"
	r.size = oracleSize(operation, t, largest)
	return r
}

// oracleLanes computes the four lanes.
func oracleLanes(operation string, t [4]oracleTerm) (r oracleTerm) {
	one := func(operation string, operands ...oracleTerm) oracleTerm {
		var t [4]oracleTerm
		copy(t[:], operands)
		return oracleLanes(operation, t)
	}
	lane := func(t oracleTerm, i int) oracleTerm { return oracleSingle(t.lane(i), 0) }
	a, b := t[0], t[1]
	switch operation {
	case "dot":
		x := one("mul", lane(a, 0), lane(b, 0))
		return one("mad", lane(a, 2), lane(b, 2), one("mad", lane(a, 1), lane(b, 1), x))
	case "length":
		return one("sqrt", one("dot", a, a))
	case "normalize":
		return one("mul", a, one("rsqrt", one("dot", a, a)))
	case "cross":
		for i, j := range [3]int{1, 2, 0} {
			k := 3 - i - j
			c := one("nmad", lane(a, k), lane(b, j), one("mul", lane(a, j), lane(b, k)))
			r.setLane(i, c.lane(0))
		}
		r.fixed[3] = true
		return r
	}
	for i := range r.lanes {
		r.setLane(i, oracleCompute(operation, t[0].lane(i), t[1].lane(i), t[2].lane(i), t[3].lane(i)))
	}
	return r
}

// oracleCompute computes one lane. A literal 0 is nothing.
func oracleCompute(operation string, v ...oracleScalar) oracleScalar {
	v = append(v, make([]oracleScalar, 4-len(v))...)
	a, b, c, d := v[0], v[1], v[2], v[3]
	if kept, ok := oracleKeepTime(operation, a, b, c); ok {
		return kept
	}
	fixed := true
	for _, s := range v[:oracleOperandCounts[operation]] {
		fixed = fixed && s.fixed
	}
	f := oracleNumber(operation, a.f, b.f, c.f, d.f)
	if fixed && !math.IsInf(float64(f), 0) && f == f {
		return oracleScalar{f: f, fixed: true}
	}
	switch {
	case operation == "mul" && (a.isNothing() || b.isNothing()):
		return oracleScalar{fixed: true}
	case operation == "mul" && a.isOne():
		return b
	case operation == "mul" && b.isOne():
		return a
	case strings.HasSuffix(operation, "mad") && (a.isNothing() || b.isNothing()):
		return c
	case operation == "mad" && a.isOne():
		return oracleCompute("add", c, b)
	case operation == "mad" && b.isOne():
		return oracleCompute("add", c, a)
	case operation == "nmad" && a.isOne():
		return oracleCompute("sub", c, b)
	case operation == "nmad" && b.isOne():
		return oracleCompute("sub", c, a)
	case (operation == "add" || operation == "sub") && b.isNothing():
		return a
	case operation == "add" && a.isNothing():
		return b
	case operation == "sub" && a.isNothing():
		return oracleCompute("neg", b)
	case strings.HasPrefix(operation, "select") && c.isSame(d):
		return c
	case strings.HasPrefix(operation, "select") && a.fixed && b.fixed:
		if oracleNumber(operation, a.f, b.f, 1, 0) == 1 {
			return c
		}
		return d
	}
	return oracleResult(operation, v)
}

// oracleKept applies the operations that create and keep products.
func oracleKept(operation string, t [4]oracleTerm) (oracleTerm, bool) {
	a, b, c, d := t[0], t[1], t[2], t[3]
	isSelect := strings.HasPrefix(operation, "select") && a.single && b.single
	switch {
	case operation == "mov":
		return a, true
	case operation == "mul" && b.single && !a.single:
		return oracleTimes(a, b), true
	case operation == "mul" && a.single && !b.single:
		return oracleTimes(b, a), true
	case operation == "normalize" && !a.single:
		a.parts = nil
		square := oracleApply("dot", [4]oracleTerm{a, a})
		return oracleTimes(a, oracleApply("rsqrt", [4]oracleTerm{square})), true
	case operation == "neg" && a.parts != nil:
		return oracleTimes(a.parts[0], oracleApply("neg", [4]oracleTerm{a.parts[1]})), true
	case operation == "cross" && a.parts != nil:
		r := oracleApply("cross", [4]oracleTerm{a.parts[0], b})
		if r.parts != nil { // b has a factor too; a's comes first
			return oracleTimes(oracleTimes(r.parts[0], a.parts[1]), r.parts[1]), true
		}
		return oracleTimes(r, a.parts[1]), true
	case operation == "cross" && b.parts != nil:
		return oracleTimes(oracleApply("cross", [4]oracleTerm{a, b.parts[0]}), b.parts[1]), true
	case isSelect && c.parts != nil && d.single && d.isNothing(0) && !math.IsInf(c.parts[0].size, 0):
		return oracleTimes(c.parts[0], oracleApply(operation, [4]oracleTerm{a, b, c.parts[1], d})), true
	case isSelect && d.parts != nil && c.single && c.isNothing(0) && !math.IsInf(d.parts[0].size, 0):
		return oracleTimes(d.parts[0], oracleApply(operation, [4]oracleTerm{a, b, c, d.parts[1]})), true
	}
	return oracleTerm{}, false
}

// oracleAdd adds to the output, except literal zeros.
func oracleAdd(operation string, t [4]oracleTerm) (sum [4]float32, added [4]bool) {
	parts := t[1].parts
	if strings.HasSuffix(operation, "mad") {
		parts = nil
		switch {
		case t[0].parts != nil && t[1].single:
			parts = oracleTimes(t[0], t[1]).parts
		case t[1].parts != nil && t[0].single:
			parts = oracleTimes(t[1], t[0]).parts
		}
	} else if parts != nil {
		operation = map[string]string{"add": "mad", "sub": "nmad"}[operation]
		t[2] = t[0]
	}
	if parts != nil {
		t[0], t[1] = parts[0], parts[1]
	}
	for i := range added {
		added[i] = !t[1].isNothing(i) && !(strings.HasSuffix(operation, "mad") && t[0].isNothing(i))
	}
	for i := range t[0].lanes { // the output is a number of the point
		at := 0
		if strings.HasSuffix(operation, "mad") {
			at = 2
		}
		t[at].nodes[i] = &oracleNode{point: true}
	}
	return oracleLanes(operation, t).lanes, added
}

func oracleSize(operation string, t [4]oracleTerm, largest float64) float64 {
	a, b := t[0].size, t[1].size
	switch operation {
	case "saturate", "hash":
		return 1
	case "smooth":
		return 2
	case "select_lt", "select_ge":
		return math.Max(t[2].size, t[3].size)
	}
	if math.IsInf(largest, 0) {
		return largest
	}
	switch operation {
	case "abs", "neg", "floor", "min", "max":
		return largest
	case "add", "sub":
		return oracleMost(2 * largest)
	case "mul":
		return oracleMost(a * b)
	case "mad", "nmad":
		return oracleMost(2 * math.Max(a*b, t[2].size))
	case "dot":
		return oracleMost(4 * a * b)
	case "cross":
		return oracleMost(2 * a * b)
	case "length":
		if !math.IsInf(oracleMost(4*a*a), 0) {
			return 2 * a
		}
	case "rsqrt":
		return 1 << 20
	case "sin":
		return 2
	}
	return math.Inf(1)
}
