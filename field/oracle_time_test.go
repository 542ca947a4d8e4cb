package field

import "math"

// oracleTime describes how a lane depends on time and on the point (LANGUAGE.md, Time).
type oracleTime struct {
	time, point bool             // whether the lane depends on time, and on the point
	wide        float64          // its value, if it is timed
	factors     *[2]oracleNumber // factors, if it is a product or a negated product
	negative    bool             // the product is negated
	parts       *[2]oracleNumber // if it is the sum of a part without time and a timed one
}

func oracleOfPoint(f float32) oracleNumber {
	return oracleNumber{f: f, oracleTime: oracleTime{point: true}}
}

func oracleTimed(f float64) oracleNumber {
	return oracleNumber{f: float32(f), oracleTime: oracleTime{time: true, wide: f}}
}

func (n *oracleNumber) isTimed() bool { return n.time && !n.point }
func (n *oracleNumber) isFixed() bool { return !n.time && !n.point }

// isSame reports whether two numbers are one value. The compiler recognises a value by its
// computation, the oracle by its bits and dependences.
func (n *oracleNumber) isSame(m *oracleNumber) bool {
	return math.Float32bits(n.f) == math.Float32bits(m.f) && math.Float64bits(n.wide) == math.Float64bits(m.wide) &&
		n.known == m.known && n.time == m.time && n.point == m.point
}

// oracleKeepTime applies the rules by which an operation first takes time out of its
// operands.
func oracleKeepTime(op string, a, b, c, d oracleNumber) (r oracleNumber, ok bool) {
	switch op {
	case "mad", "nmad":
		if (a.time || b.time) && !a.point && !b.point && c.point {
			op = map[string]string{"mad": "add", "nmad": "sub"}[op]
			return oracleCompute(op, c, oracleCompute("mul", a, b, d, d), d, d), true
		}
	case "sin":
		if a.parts != nil {
			p, f := a.parts[0], a.parts[1].wide
			f -= math.Floor(f)
			a = oracleCompute("add", p, oracleTimed(f), d, d)
			switch {
			case p.factors != nil && p.negative:
				a = oracleCompute("nmad", p.factors[0], p.factors[1], oracleTimed(f), d)
			case p.factors != nil:
				a = oracleCompute("mad", p.factors[0], p.factors[1], oracleTimed(f), d)
			}
			a.parts = nil
			return oracleCompute("sin", a, b, c, d), true
		}
	case "hash":
		numbers, changed := [3]oracleNumber{a, b, c}, false
		for i, n := range numbers {
			if n.isTimed() {
				rest := n.wide - 4194304*math.Floor(n.wide/4194304+0.5)
				changed = changed || math.Float64bits(rest) != math.Float64bits(n.wide)
				numbers[i] = oracleTimed(rest)
			}
		}
		if changed {
			return oracleTimedResult("hash", [4]oracleNumber{numbers[0], numbers[1], numbers[2], d}), true
		}
	}
	return oracleNumber{}, false
}

// oracleTimedResult computes an operation after the rules of section Time have rewritten it.
func oracleTimedResult(op string, v [4]oracleNumber) oracleNumber {
	a, b, c, d := v[0], v[1], v[2], v[3]
	r := oracleNumber{f: oracleLane(op, a.f, b.f, c.f, d.f)}
	for _, n := range v[:max(1, oracleOperands[op])] {
		r.time, r.point = r.time || n.time, r.point || n.point
	}
	if r.isTimed() {
		var w [4]float64
		for i, n := range v {
			w[i] = float64(n.f)
			if n.isTimed() {
				w[i] = n.wide
			}
		}
		r.wide = oracleWide(op, w)
		r.f = float32(r.wide)
	}
	switch {
	case op == "mul":
		r.factors = &[2]oracleNumber{a, b}
	case op == "div" && b.known && isPowerOfTwo(b.f):
		r.factors = &[2]oracleNumber{a, {f: 1 / b.f, known: true}}
	case op == "neg" && a.factors != nil:
		r.factors, r.negative = a.factors, !a.negative
	}
	if r.time && r.point {
		r.parts = oracleParts(op, v)
	}
	return r
}

func isPowerOfTwo(f float32) bool {
	m, _ := math.Frexp(math.Abs(float64(f)))
	return m == 0.5 && math.Abs(float64(f)) >= 0x1p-126 && math.Abs(float64(f)) <= 0x1p126
}

// oracleWide is an operation on float64s.
func oracleWide(op string, v [4]float64) float64 {
	a, b, c, d := v[0], v[1], v[2], v[3]
	switch op {
	case "add":
		return a + b
	case "sub":
		return a - b
	case "mul":
		return a * b
	case "div":
		return a / b
	case "mad":
		return float64(a*b) + c
	case "nmad":
		return c - float64(a*b)
	case "min":
		if a < b {
			return a
		}
		return b
	case "max":
		if a > b {
			return a
		}
		return b
	case "abs":
		return math.Abs(a)
	case "neg":
		return -a
	case "floor":
		return math.Floor(a)
	case "sqrt":
		return math.Sqrt(a)
	case "saturate":
		return oracleWide("min", [4]float64{oracleWide("max", [4]float64{a, 0}), 1})
	case "smooth":
		s := oracleWide("saturate", v)
		return float64(s*s) * (3 - float64(s*2))
	case "select_lt":
		if a < b {
			return c
		}
		return d
	case "select_ge":
		if a >= b {
			return c
		}
		return d
	case "sin":
		a -= math.Floor(a + 0.5)
	}
	return float64(oracleLane(op, float32(a), float32(b), float32(c), float32(d)))
}

// oracleParts returns the part without time and the timed part of a result, or nil if it is
// not their sum.
func oracleParts(op string, v [4]oracleNumber) *[2]oracleNumber {
	zero := oracleNumber{known: true}
	parts := func(n oracleNumber) *[2]oracleNumber {
		switch {
		case !n.time:
			return &[2]oracleNumber{n, zero}
		case !n.point:
			return &[2]oracleNumber{zero, n}
		}
		return n.parts
	}
	product := func(op string, a, b, c oracleNumber) oracleNumber {
		if !c.isZero() {
			return oracleCompute(op, a, b, c, zero)
		}
		r := oracleCompute("mul", a, b, zero, zero)
		if op == "nmad" {
			r = oracleCompute("neg", r, zero, zero, zero)
		}
		return r
	}
	a, b := v[0], v[1]
	x, y := parts(a), &[2]oracleNumber{zero, zero}
	switch op {
	case "neg":
	case "add", "sub":
		y = parts(b)
	case "div":
		if !b.isFixed() {
			return nil
		}
		y = &[2]oracleNumber{b, b}
	case "mul", "mad", "nmad":
		if !b.isFixed() {
			a, b = b, a
		}
		third := &[2]oracleNumber{zero, zero}
		if op != "mul" {
			third = parts(v[2])
		}
		switch {
		case third == nil || !b.isFixed() && (a.time || b.time):
			return nil
		case !b.isFixed():
			return &[2]oracleNumber{product(op, a, b, third[0]), third[1]}
		}
		x = parts(a)
		if x == nil {
			return nil
		}
		return &[2]oracleNumber{product(op, x[0], b, third[0]), product(op, x[1], b, third[1])}
	default:
		return nil
	}
	if x == nil || y == nil {
		return nil
	}
	return &[2]oracleNumber{oracleCompute(op, x[0], y[0], zero, zero), oracleCompute(op, x[1], y[1], zero, zero)}
}
