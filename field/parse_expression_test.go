package field

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestExpressionStructure(t *testing.T) {
	for source, want := range map[string]string{
		"a + b * c - d":           "((a + (b * c)) - d)",
		"a * b / c * d":           "(((a * b) / c) * d)",
		"(a + b) * -c":            "((a + b) * (-c))",
		"-a.x * 2":                "((-a.x) * 2)",
		"--a":                     "(-(-a))",
		"-2.5 - -0":               "(-2.5 - -0)",
		"1-1":                     "(1 - 1)",
		"a-1e-3+.5":               "((a - 0.001) + 0.5)",
		"f(a, (1, b, c)).y":       "f(a, (1, b, c)).y",
		"(a + b).z":               "(a + b).z",
		"(1, 2, 3, 4) # a remark": "(1, 2, 3, 4)",
		"select(a<=b, c, d)":      "select((a <= b), c, d)",
		"a>=b":                    "(a >= b)",
		"((a))":                   "a",
	} {
		l := line{source: source}
		n := l.expression()
		require.Equal(t, want, n.String(), source)
		again := line{source: n.String()}
		require.Equal(t, want, again.expression().String())
	}
}

// TestExpressionMeaning: an expression compiles to the same program as its operations.
func TestExpressionMeaning(t *testing.T) {
	const head = "param p = (10,20,30,40)\nparam q = 3\na = mov position\nb = mov p\ns = mov position.x\nt = mov position.y\n"
	for _, c := range []struct{ expression, operations string }{
		{"a + b", "v = add a, b"},
		{"a - b", "v = sub a, b"},
		{"a * s", "v = mul a, s"},
		{"s * a", "v = mul s, a"},
		{"a / b", "v = div a, b"},
		{"a + 1", "v = add a, 1"},
		{"(a + b) * (s - t)", "c = add a, b\nd = sub s, t\nv = mul c, d"},
		{"-a", "v = neg a"},
		{"s*t + a", "v = mad s, t, a"},
		{"a + s*t", "v = mad s, t, a"},
		{"a - s*t", "v = nmad s, t, a"},
		{"(a*b) - 3", "v = mad a, b, -3"},
		{"a*b - s", "c = mul a, b\nv = sub c, s"},
		{"a*b + b*b", "c = mul b, b\nv = mad a, b, c"},
		{"b + normalize(a)", "l = dot a, a\nr = rsqrt l\nv = mad a, r, b"},
		{"(s, t, 4)", "v = mov (0,0,4,0)\nv.x = mov s\nv.y = mov t"},
		{"(s, t, 4, q)", "v = mov (0,0,4,0)\nv.x = mov s\nv.y = mov t\nv.w = mov q"},
		{"a * a.z", "v = mul a, a.z"},
		{"a * (a + b).z", "c = add a, b\nv = mul a, c.z"},
		{"a * q", "v = mul a, q.x"},
		{"a * q.z", "v = mul a, q"},
		{"a * pi", "v = mul a, 3.1415927"},
		{"a * time", "v = mul a, time"},
		{"select(s < t, a, b)", "v = select_lt s, t, a, b"},
		{"select(s > t, a, b)", "v = select_lt t, s, a, b"},
		{"select(s >= t, a, b)", "v = select_ge s, t, a, b"},
		{"select(s <= t, a, b)", "v = select_ge t, s, a, b"},
		{"select(a < b, 1, 2)", "v = select_lt a, b, 1, 2"},
		{"a * dot(a, b)", "c = dot a, b\nv = mul a, c"},
		{"cross(a, b)", "v = cross a, b"},
		{"a * length(b)", "c = length b\nv = mul a, c"},
		{"normalize(a)", "v = normalize a"},
		{"min(a, s)", "v = min a, s"},
		{"max(a, b)", "v = max a, b"},
		{"abs(a)", "v = abs a"},
		{"floor(a)", "v = floor a"},
		{"fract(a)", "c = floor a\nv = sub a, c"},
		{"sqrt(a)", "v = sqrt a"},
		{"rsqrt(a)", "v = rsqrt a"},
		{"sin(a)", "v = sin a"},
		{"cos(a)", "c = add a, 0.25\nv = sin c"},
		{"exp2(a)", "v = exp2 a"},
		{"exp(a)", "c = mul a, 1.442695\nv = exp2 c"},
		{"saturate(a)", "v = saturate a"},
		{"smooth(a)", "v = smooth a"},
		{"hash(a, b, s)", "v = hash a, b, s"},
		{"clamp(a, s, b)", "c = max a, s\nv = min c, b"},
		{"mix(a, b, s)", "c = sub b, a\nv = mad s, c, a"},
		{"step(a, b)", "v = select_ge b, a, 1, 0"},
		{"smoothstep(s, t, a)", "c = sub t, s\nc = div 1, c\nd = sub a, s\nd = mul d, c\nv = smooth d"},
		{"sign(a)", "c = select_lt 0, a, 1, 0\nv = select_lt a, 0, -1, c"},
		{"falloff_linear(length(a), 5) * b", "l = length a\nc = div l, 5\nc = sub 1, c\nc = saturate c\nv = mul b, c"},
		{"level(b)", "v = mul b, 0\nv = mov (0,0,0)\nv.x = mov b.x\nv.z = mov b.z"},
	} {
		want, err := Compile(head + c.operations + "\noutput = add output, v\n")
		require.NoError(t, err, c.expression)
		got, err := Compile(head + "let v = " + c.expression + "\noutput += v\n")
		require.NoError(t, err, c.expression)
		require.Equal(t, want.String(), got.String(), c.expression)
		require.Equal(t, want.Hash(), got.Hash(), c.expression)
	}
	for sum, operation := range map[string]string{
		"output += a":          "output = add output, a",
		"output -= a":          "output = sub output, a",
		"output.y += s":        "output.y = add output.y, s",
		"output.z -= s":        "output.z = sub output.z, s",
		"output += a * s":      "output = mad a, s, output",
		"output -= a * b":      "output = nmad a, b, output",
		"output.x += s * t":    "output.x = mad s, t, output.x",
		"output += a * s * t":  "c = mul s, t\noutput = mad a, c, output",
		"output += a + b":      "c = add a, b\noutput = add output, c",
		"  output  +=  a # so": "output = add output, a",
	} {
		want, err := Compile(head + operation)
		require.NoError(t, err, sum)
		got, err := Compile(head + sum)
		require.NoError(t, err, sum)
		require.Equal(t, want.String(), got.String(), sum)
	}
}

// TestFunctions: a call is its body with the arguments substituted.
func TestFunctions(t *testing.T) {
	same := func(one, other string) {
		t.Helper()
		p := must.Get(Compile(one))
		q := must.Get(Compile(other))
		require.Equal(t, p.String(), q.String())
	}
	same("def twice(a) = a + a\ndef four(a) = twice(twice(a))\noutput += four(position)",
		"let t = position + position\noutput += t + t")
	same("def f(position, time) = position * time\noutput += f((1,2,3), position.x)", "output += (1,2,3) * position.x")
	same("def level(v) = v\noutput += level(position)", "output += position")
	same("def level(v) = v * 2\noutput += around(position)", "output += around(position)")
	same("def unused(a) = a\noutput += position", "output += position")
}

// TestLibrary: every library function compiles, and none is recursive.
func TestLibrary(t *testing.T) {
	require.NotEmpty(t, libraryNames())
	for _, name := range libraryNames() {
		f := libraryFunction(name)
		require.NotNil(t, f, name)
		args := make([]string, len(f.args))
		worked := false
		for mask := range 1 << len(args) { // numbers and vectors, as the function requires
			for i := range args {
				args[i] = []string{"position.x", "position"}[mask>>i&1]
			}
			_, err := Compile("output += (1, 2, 3) * " + name + "(" + strings.Join(args, ", ") + ")")
			worked = worked || err == nil
		}
		require.True(t, worked, name)
		_, ok := builtinOf(name)
		require.False(t, ok, name)
	}
	for _, name := range builtinNames {
		_, ok := builtinOf(name)
		require.True(t, ok || name == "select", name)
	}
}
