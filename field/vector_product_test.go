package field_test

import (
	"math"
	"strings"
)

// A vectorTerm is four numbers and what the package comment asks about them: is it
// one number, a written zero, a vector times a number, and how large can it get.
type vectorTerm struct {
	lanes  [4]float32
	single bool
	zero   bool
	size   float64 // a power of 2; infinite if there is no bound
	parts  []vectorTerm
}

const vectorGiven = 1 << 30

// vectorMost is the size, if it is one of a float32.
func vectorMost(size float64) float64 {
	if size > 0x1p127 {
		return math.Inf(1)
	}
	return size
}

func vectorSingle(f float32, size float64) vectorTerm {
	return vectorTerm{lanes: [4]float32{f, f, f, f}, single: true, size: size}
}

func vectorWritten(v [4]float32) vectorTerm {
	t := vectorTerm{lanes: v, single: true, size: 1}
	for _, f := range v {
		t.single = t.single && f == v[0] && math.Signbit(float64(f)) == math.Signbit(float64(v[0]))
		for t.size <= math.Abs(float64(f)) {
			t.size *= 2
		}
	}
	t.zero, t.size = t.single && v[0] == 0, vectorMost(t.size)
	return t
}

// vectorTimes multiplies a vector, or the vector of a product, by a number.
func vectorTimes(v, s vectorTerm) vectorTerm {
	if v.parts != nil {
		f := v.parts[1]
		s = vectorSingle(float32(f.lanes[0]*s.lanes[0]), vectorMost(f.size*s.size))
		v = v.parts[0]
	}
	r := vectorTerm{size: vectorMost(v.size * s.size), parts: []vectorTerm{v, s}}
	for i := range r.lanes {
		r.lanes[i] = float32(v.lanes[i] * s.lanes[0])
	}
	return r
}

// vectorApply is one assignment.
func vectorApply(operation string, t [4]vectorTerm) vectorTerm {
	if r, ok := vectorKept(operation, t); ok {
		return r
	}
	var v [4][4]float32
	largest, single := 0.0, operation != "cross"
	for i := range vectorOperandCounts[operation] {
		v[i] = t[i].lanes
		largest = math.Max(largest, t[i].size)
		single = single && t[i].single
	}
	r := vectorTerm{lanes: vectorVector(operation, v), single: single || operation == "dot" || operation == "length"}
	r.size = vectorSize(operation, t, largest)
	return r
}

// vectorKept are the operations that make products and keep them.
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
	case isSelect && c.parts != nil && d.zero && !math.IsInf(c.parts[0].size, 0):
		return vectorTimes(c.parts[0], vectorApply(operation, [4]vectorTerm{a, b, c.parts[1], d})), true
	case isSelect && d.parts != nil && c.zero && !math.IsInf(d.parts[0].size, 0):
		return vectorTimes(d.parts[0], vectorApply(operation, [4]vectorTerm{a, b, c, d.parts[1]})), true
	}
	return vectorTerm{}, false
}

// vectorAdd is an addition to the output.
func vectorAdd(operation string, t [4]vectorTerm) [4]float32 {
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
	return vectorVector(operation, [4][4]float32{t[0].lanes, t[1].lanes, t[2].lanes})
}

func vectorSize(operation string, t [4]vectorTerm, largest float64) float64 {
	a, b := t[0].size, t[1].size
	switch operation {
	case "saturate":
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
