package field

import "math"

// A reach r says that no lane is beyond 2^r from zero, at points where position,
// time and parameters are not beyond 2^30 (metres, seconds: a million kilometres).
// So a lane with a reach is finite at all of them.
type reach int

const (
	givenReach reach = 30      // of what a text is given
	unbounded  reach = 1 << 20 // it may be infinite, or NaN
)

// bounded is the reach r, if float32 reaches as far.
func bounded(r reach) reach {
	if r > 127 {
		return unbounded
	}
	return r
}

// reachOfLiteral is that of numbers. It is at least 0, and so the floor of what
// reaches r reaches r.
func reachOfLiteral(v Vec4) (r reach) {
	for _, f := range v {
		_, exponent := math.Frexp(float64(f))
		r = max(r, reach(exponent))
	}
	return bounded(r)
}

// reachOf is the reach of an operation of the text. Those that are not named here
// (div, sqrt, exp2) can make what is not finite of numbers that are small.
func reachOf(name string, v [4]term) reach {
	a, b, c, d := v[0].reach, v[1].reach, v[2].reach, v[3].reach
	switch name {
	case "saturate", "hash":
		return 0 // of NaN too
	case "smooth":
		return 1
	case "select_lt", "select_ge":
		return max(c, d)
	}
	if a == unbounded || b == unbounded || c == unbounded || d == unbounded {
		return unbounded
	}
	switch name {
	case "mov", "abs", "neg", "floor":
		return a
	case "add", "sub":
		return bounded(max(a, b) + 1)
	case "min", "max":
		return max(a, b)
	case "mul":
		return bounded(a + b)
	case "mad", "nmad":
		return bounded(max(a+b, c) + 1)
	case "dot":
		return bounded(a + b + 2)
	case "cross":
		return bounded(a + b + 1)
	case "length":
		if bounded(2*a+2) == unbounded {
			return unbounded // its square is
		}
		return a + 1
	case "rsqrt":
		return 20 // of 1e-12 or less
	case "sin":
		return 1
	}
	return unbounded
}
