package field

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSimplify pins what the compiler does by itself. That it changes no bit is
// what the oracles of the random programs see to.
func TestSimplify(t *testing.T) {
	for text, want := range map[string]string{
		"a = div a, 4":                             "mul(x, 0.25)",
		"a = div a, -0.5":                          "mul(x, -2)",
		"a = div a, 3":                             "div(x, 3)",
		"a = div a, 0":                             "div(x, 0)",
		"a = div a, 1.4e-45":                       "div(x, 1e-45)",
		"a = div a, 1.7014118e+38":                 "div(x, 1.7014118e+38)", // its inverse is subnormal
		"a = div 4, a":                             "div(4, x)",
		"a = mul 3, a":                             "mul(x, 3)",
		"a = mul time, a":                          "mul(x, time)",
		"a = add 3, time":                          "add(time, 3)",
		"a = sub 3, a":                             "sub(3, x)",
		"a = max 3, a":                             "max(3, x)",
		"a = mad 3, a, b":                          "mad(x, 3, y)",
		"a = mad 1, a, b":                          "add(x, y)",
		"a = nmad a, 1, b":                         "sub(y, x)",
		"a = mad 2, 3, a":                          "add(x, 6)",
		"a = nmad 2, 3, a":                         "sub(x, 6)",
		"a = nmad 0, 0, a":                         "x",
		"a = mad 0, -0, a":                         "x",
		"a = mad 0, 0, a":                          "add(x, 0)",
		"a = mad 0.1, 0.1, a":                      "mad(0.1, 0.1, x)", // the product has more bits than a float32
		"a = abs a\na = add a, 0":                  "abs(x)",
		"a = mul a, a\na = add a, 0":               "mul(x, x)",
		"a = mul a, b\na = add a, 0":               "add(mul(x, y), 0)",
		"a = select_lt 1, 2, a, b":                 "x",
		"a = select_ge 1, 2, a, b":                 "y",
		"a = select_lt a, 2, b, b":                 "y",
		"a = mul a, 1":                             "x",
		"b = mul b, a\na = mul a, b":               "mul(x, mul(x, y))",
		"c = mul a, b\nd = mul b, a\na = mul c, d": "mul(mul(x, y), mul(x, y))",
	} {
		p, err := Compile("a = mov position.x\nb = mov position.y\n" + text + "\noutput.x = add output.x, a")
		require.NoError(t, err)
		require.Equal(t, "add(out, "+want+")", addedToX(p), "%s", text)
		requireRoundTrip(t, p)
	}
}

// TestExactInverse: dividing and multiplying are the same for all that is not
// refused, down to what is rounded to a subnormal number.
func TestExactInverse(t *testing.T) {
	found := 0
	for exponent := -149; exponent < 128; exponent++ {
		f := float32(math.Ldexp(1, exponent))
		inverse, ok := exactInverse(-f)
		if !ok {
			continue
		}
		found++
		for _, a := range []float32{1, 3, 1e-45, 1.1754942e-38, 3.3e38, 0.1, 7e-40, 0} {
			require.Equal(t, math.Float32bits(a/-f), math.Float32bits(float32(a*inverse)), "%g / %g", a, -f)
		}
	}
	require.Equal(t, 253, found)
}
