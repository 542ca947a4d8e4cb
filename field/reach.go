package field

import "math"

// A reach r means that no lane exceeds 2^r in magnitude as long as position, time and
// parameters do not exceed 2^30 (metres, seconds). Such a lane is finite.
type reach int

const (
	givenReach reach = 30      // reach of the inputs of a text
	unbounded  reach = 1 << 20 // may be infinite or NaN
)

// bounded returns r if float32 reaches that far, otherwise unbounded.
func bounded(r reach) reach {
	if r > 127 {
		return unbounded
	}
	return r
}

// reachOfLiteral returns the reach of literals. It is at least 0, so floor does not
// increase a reach.
func reachOfLiteral(v Vec4) (r reach) {
	for _, f := range v {
		_, exponent := math.Frexp(float64(f))
		r = max(r, reach(exponent))
	}
	return bounded(r)
}

// reachOf returns the reach of an operation. Unlisted operations (div, sqrt, exp2) may map
// small numbers to infinity or NaN.
func reachOf(name string, v [4]term) reach {
	a, b, c, d := v[0].reach, v[1].reach, v[2].reach, v[3].reach
	switch name {
	case "saturate", "hash":
		return 0 // also for NaN
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
			return unbounded // its square is unbounded
		}
		return a + 1
	case "rsqrt":
		return 20 // the maximum, for arguments up to 1e-12
	case "sin":
		return 1
	}
	return unbounded
}
