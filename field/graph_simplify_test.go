package field

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestSimplify pins the simplifications. The random programs of the oracles check that
// simplifications change no bit except the sign of a zero.
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
		"a = mad a, -0, b":                         "y",
		"a = mad a, b, 0":                          "mad(x, y, 0)",
		"a = mad 0.1, 0.1, a":                      "mad(0.1, 0.1, x)", // the product has more bits than a float32
		"a = add a, -0":                            "x",
		"a = add 0, a":                             "x",
		"a = sub a, 0":                             "x",
		"a = sub 0, a":                             "sub(out, x)",
		"a = mad a, 1, 0":                          "x",
		"b = sub 1, 1\na = mad a, b, 3":            "3", // a computed 0
		"a = mul a, 0\na = add a, 3":               "3",
		"a = div a, 0\na = max a, 0":               "max(div(x, 0), 0)",
		"b = neg b\na = add a, b":                  "sub(x, y)",
		"a = neg a\na = add a, b":                  "sub(y, x)",
		"b = neg b\na = sub a, b":                  "add(x, y)",
		"a = neg a\na = neg a":                     "x",
		"b = neg b\na = neg a\na = sub a, b":       "sub(y, x)",
		"a = neg a\na = sub a, b":                  "sub(neg(x), y)",
		"a = neg a\na = mad a, b, 3":               "nmad(x, y, 3)",
		"a = neg a\nb = neg b\na = mad a, b, 3":    "mad(x, y, 3)",
		"b = neg b\na = nmad a, b, 3":              "mad(x, y, 3)",
		"a = neg a\nb = neg b\na = add a, b":       "sub(neg(x), y)",
		"a = select_lt 1, 2, a, b":                 "x",
		"a = select_ge 1, 2, a, b":                 "y",
		"a = select_lt a, 2, b, b":                 "y",
		"a = mul a, 1":                             "x",
		"b = mul b, a\na = mul a, b":               "mul(x, mul(x, y))",
		"c = mul a, b\nd = mul b, a\na = mul c, d": "mul(mul(x, y), mul(x, y))",
	} {
		p := must.Get(Compile("a = mov position.x\nb = mov position.y\n" + text + "\noutput.x = add output.x, a"))
		if !strings.HasPrefix(want, "sub(out") {
			want = "add(out, " + want + ")"
		}
		require.Equal(t, want, addedToX(p), "%s", text)
		requireRoundTrip(t, p)
	}
}

// TestNothing: a literal 0 adds nothing, not even +0 to -0. An effect that adds nothing is
// still an effect.
func TestNothing(t *testing.T) {
	for text, code := range map[string]int{
		"output = add output, 0":                                                       2, // a sum that changes nothing, and the end
		"output = sub output, (0,-0,0)":                                                2,
		"output = mad position, 0, output":                                             2,
		"a = mul position, (1,0,1)\noutput = add output, a":                            3,
		"a = mul position, (1,0,1)\noutput.y = sub output.y, a":                        2,
		"v = cross (0,1,0), position\noutput = add output, v":                          3, // z and -x
		"v = mul position, (0,2,0)\nv = mul v, position.y\noutput = nmad v, 3, output": 4,
	} {
		p := must.Get(Compile(text))
		loads := 0
		for _, in := range p.code {
			if in.op == opLoad {
				loads++
			}
		}
		require.Equal(t, code, len(p.code)-loads, "%s:\n%s", text, p)
		requireRoundTrip(t, p)
	}
	p := must.Get(Compile("output = add output, 0"))
	minus := float32(math.Copysign(0, -1))
	one := []float32{minus}
	points, out := Planes{[]float32{1}, []float32{2}, []float32{3}}, Planes{one, []float32{minus}, []float32{minus}}
	require.NoError(t, p.Evaluate(points, out, Env{}, make([]float32, p.Scratch())))
	require.Equal(t, uint32(signBit), math.Float32bits(one[0]))
}

// TestExactInverse: multiplying by accepted inverses equals dividing, including results
// that round to subnormals.
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
