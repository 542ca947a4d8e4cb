package field_test

import (
	"math"
	"strings"
)

// A vectorTerm is four numbers with the properties in LANGUAGE.md: whether the text fixes
// them, whether they are one number or a vector times a number, and the bound of their
// magnitudes.
type vectorTerm struct {
	lanes  [4]float32
	fixed  [4]bool // lanes computed from literals alone
	nodes  [4]*vectorNode
	single bool
	size   float64 // a power of 2; infinite if unbounded
	parts  []vectorTerm
}

const vectorGiven = 1 << 30

// vectorMost is the size if it is a float32's, otherwise infinite.
func vectorMost(size float64) float64 {
	if size > 0x1p127 {
		return math.Inf(1)
	}
	return size
}

func vectorSingle(s vectorScalar, size float64) vectorTerm {
	t := vectorTerm{single: true, size: size}
	for i := range t.lanes {
		t.setLane(i, s)
	}
	return t
}

func (t *vectorTerm) lane(i int) vectorScalar {
	return vectorScalar{t.lanes[i], t.fixed[i], t.nodes[i]}
}

func (t *vectorTerm) setLane(i int, s vectorScalar) {
	t.lanes[i], t.fixed[i], t.nodes[i] = s.f, s.fixed, s.node
}

func (t *vectorTerm) isNothing(lane int) bool { return t.fixed[lane] && t.lanes[lane] == 0 }

func vectorWritten(v [4]float32) vectorTerm {
	t := vectorTerm{lanes: v, fixed: [4]bool{true, true, true, true}, single: true, size: 1}
	for _, f := range v {
		t.single = t.single && f == v[0] && math.Signbit(float64(f)) == math.Signbit(float64(v[0]))
		for t.size <= math.Abs(float64(f)) {
			t.size *= 2
		}
	}
	t.size = vectorMost(t.size)
	return t
}

// vectorTimes multiplies a vector, or a product's vector, by a number.
func vectorTimes(v, s vectorTerm) vectorTerm {
	if v.parts != nil {
		f := v.parts[1]
		s = vectorApply("mul", [4]vectorTerm{f, s})
		v = v.parts[0]
	}
	r := vectorLanes("mul", [4]vectorTerm{v, s})
	r.size, r.parts = vectorMost(v.size*s.size), []vectorTerm{v, s}
	return r
}

// vectorApply applies one assignment.
func vectorApply(operation string, t [4]vectorTerm) vectorTerm {
	if r, ok := vectorKept(operation, t); ok {
		return r
	}
	largest, single := 0.0, operation != "cross"
	for i := range vectorOperandCounts[operation] {
		largest = math.Max(largest, t[i].size)
		single = single && t[i].single
	}
	r := vectorLanes(operation, t)
	r.single = single || operation == "dot" || operation == "length"
	r.size = vectorSize(operation, t, largest)
	return r
}

// vectorLanes computes the four lanes.
func vectorLanes(operation string, t [4]vectorTerm) (r vectorTerm) {
	one := func(operation string, operands ...vectorTerm) vectorTerm {
		var t [4]vectorTerm
		copy(t[:], operands)
		return vectorLanes(operation, t)
	}
	lane := func(t vectorTerm, i int) vectorTerm { return vectorSingle(t.lane(i), 0) }
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
		r.setLane(i, vectorCompute(operation, t[0].lane(i), t[1].lane(i), t[2].lane(i), t[3].lane(i)))
	}
	return r
}

// vectorCompute computes one lane. A literal 0 is nothing.
func vectorCompute(operation string, v ...vectorScalar) vectorScalar {
	v = append(v, make([]vectorScalar, 4-len(v))...)
	a, b, c, d := v[0], v[1], v[2], v[3]
	if kept, ok := vectorKeepTime(operation, a, b, c); ok {
		return kept
	}
	fixed := true
	for _, s := range v[:vectorOperandCounts[operation]] {
		fixed = fixed && s.fixed
	}
	f := vectorNumber(operation, a.f, b.f, c.f, d.f)
	if fixed && !math.IsInf(float64(f), 0) && f == f {
		return vectorScalar{f: f, fixed: true}
	}
	switch {
	case operation == "mul" && (a.isNothing() || b.isNothing()):
		return vectorScalar{fixed: true}
	case operation == "mul" && a.isOne():
		return b
	case operation == "mul" && b.isOne():
		return a
	case strings.HasSuffix(operation, "mad") && (a.isNothing() || b.isNothing()):
		return c
	case operation == "mad" && a.isOne():
		return vectorCompute("add", c, b)
	case operation == "mad" && b.isOne():
		return vectorCompute("add", c, a)
	case operation == "nmad" && a.isOne():
		return vectorCompute("sub", c, b)
	case operation == "nmad" && b.isOne():
		return vectorCompute("sub", c, a)
	case (operation == "add" || operation == "sub") && b.isNothing():
		return a
	case operation == "add" && a.isNothing():
		return b
	case operation == "sub" && a.isNothing():
		return vectorCompute("neg", b)
	case strings.HasPrefix(operation, "select") && c.isSame(d):
		return c
	case strings.HasPrefix(operation, "select") && a.fixed && b.fixed:
		if vectorNumber(operation, a.f, b.f, 1, 0) == 1 {
			return c
		}
		return d
	}
	return vectorResult(operation, v)
}

// vectorKept applies the operations that create and keep products.
func vectorKept(operation string, t [4]vectorTerm) (vectorTerm, bool) {
	a, b, c, d := t[0], t[1], t[2], t[3]
	isSelect := strings.HasPrefix(operation, "select") && a.single && b.single
	switch {
	case operation == "mov":
		return a, true
	case operation == "mul" && b.single && !a.single:
		return vectorTimes(a, b), true
	case operation == "mul" && a.single && !b.single:
		return vectorTimes(b, a), true
	case operation == "normalize" && !a.single:
		a.parts = nil
		square := vectorApply("dot", [4]vectorTerm{a, a})
		return vectorTimes(a, vectorApply("rsqrt", [4]vectorTerm{square})), true
	case operation == "neg" && a.parts != nil:
		return vectorTimes(a.parts[0], vectorApply("neg", [4]vectorTerm{a.parts[1]})), true
	case operation == "cross" && a.parts != nil:
		r := vectorApply("cross", [4]vectorTerm{a.parts[0], b})
		if r.parts != nil { // b has a factor too; a's comes first
			return vectorTimes(vectorTimes(r.parts[0], a.parts[1]), r.parts[1]), true
		}
		return vectorTimes(r, a.parts[1]), true
	case operation == "cross" && b.parts != nil:
		return vectorTimes(vectorApply("cross", [4]vectorTerm{a, b.parts[0]}), b.parts[1]), true
	case isSelect && c.parts != nil && d.single && d.isNothing(0) && !math.IsInf(c.parts[0].size, 0):
		return vectorTimes(c.parts[0], vectorApply(operation, [4]vectorTerm{a, b, c.parts[1], d})), true
	case isSelect && d.parts != nil && c.single && c.isNothing(0) && !math.IsInf(d.parts[0].size, 0):
		return vectorTimes(d.parts[0], vectorApply(operation, [4]vectorTerm{a, b, c, d.parts[1]})), true
	}
	return vectorTerm{}, false
}

// vectorAdd adds to the output, except literal zeros.
func vectorAdd(operation string, t [4]vectorTerm) (sum [4]float32, added [4]bool) {
	parts := t[1].parts
	if strings.HasSuffix(operation, "mad") {
		parts = nil
		switch {
		case t[0].parts != nil && t[1].single:
			parts = vectorTimes(t[0], t[1]).parts
		case t[1].parts != nil && t[0].single:
			parts = vectorTimes(t[1], t[0]).parts
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
		t[at].nodes[i] = &vectorNode{point: true}
	}
	return vectorLanes(operation, t).lanes, added
}

func vectorSize(operation string, t [4]vectorTerm, largest float64) float64 {
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
		return vectorMost(2 * largest)
	case "mul":
		return vectorMost(a * b)
	case "mad", "nmad":
		return vectorMost(2 * math.Max(a*b, t[2].size))
	case "dot":
		return vectorMost(4 * a * b)
	case "cross":
		return vectorMost(2 * a * b)
	case "length":
		if !math.IsInf(vectorMost(4*a*a), 0) {
			return 2 * a
		}
	case "rsqrt":
		return 1 << 20
	case "sin":
		return 2
	}
	return math.Inf(1)
}
