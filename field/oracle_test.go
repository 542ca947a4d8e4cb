package field

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// The oracle evaluates a text at one point, statement by statement, over vectors,
// following LANGUAGE.md. It shares only the parser with the compiler: it drops,
// folds, shares and allocates nothing, and its fused multiply-add uses arbitrary
// precision.
func oracle(text *effectText, point [3]float32, env Env, out [3]float32) [3]float32 {
	const given = 30
	names := map[string]oracleTerm{
		"position": {v: oracleLanes{oracleOfPoint(point[0]), oracleOfPoint(point[1]), oracleOfPoint(point[2]), {f: 0, known: true}}, reach: given},
		"time":     {v: oracleAll(oracleTimed(env.Time)), scalar: true, reach: given},
		"output":   {v: oracleLanes{oracleOfPoint(out[0]), oracleOfPoint(out[1]), oracleOfPoint(out[2])}},
	}
	for i, p := range text.params {
		v := p.Default
		if env.Params != nil {
			v = env.Params[i]
		}
		names[p.Name] = oracleTerm{v: oracleLanes{{f: v[0]}, {f: v[1]}, {f: v[2]}, {f: v[3]}}, reach: given}
		if p.Scalar {
			names[p.Name] = oracleTerm{v: oracleAll(oracleNumber{f: v[0]}), scalar: true, reach: given}
		}
	}
	for _, s := range text.statements {
		var v [4]oracleTerm
		for i, o := range s.operands {
			if o.token.kind != tokenWord {
				v[i] = oracleLiteral(o.value)
				continue
			}
			v[i] = names[o.token.text]
			if lane := o.token.lane; lane != wholeVector && o.token.text != "output" {
				v[i] = oracleTerm{v: oracleAll(v[i].v[lane]), scalar: true, reach: v[i].reach}
			}
		}
		var result oracleTerm
		if s.target.text == "output" {
			result.v = oracleSum(s.op.text, v)
		} else {
			result = oracleStatement(s.op.text, v)
		}
		if lane := s.target.lane; lane != wholeVector {
			old := names[s.target.text]
			old.v[lane] = result.v[lane]
			result = oracleTerm{v: old.v, reach: max(old.reach, result.reach)}
		}
		names[s.target.text] = result
	}
	for i := range out {
		out[i] = names["output"].v[i].f
		if out[i] != out[i] {
			out[i] = 0
		}
	}
	return out
}

// oracleOperation applies an operation to four lanes.
func oracleOperation(op string, a, b, c, d oracleLanes) (r oracleLanes) {
	lane := func(op string, a, b, c oracleNumber) oracleNumber { return oracleCompute(op, a, b, c, oracleNumber{}) }
	dot := func(a, b oracleLanes) oracleNumber {
		x := lane("mul", a[0], b[0], oracleNumber{})
		return lane("mad", a[2], b[2], lane("mad", a[1], b[1], x))
	}
	switch op {
	case "mov":
		return a
	case "dot":
		return oracleAll(dot(a, b))
	case "length":
		return oracleAll(lane("sqrt", dot(a, a), oracleNumber{}, oracleNumber{}))
	case "cross":
		for i := range 3 {
			j, k := (i+1)%3, (i+2)%3
			r[i] = lane("nmad", a[k], b[j], lane("mul", a[j], b[k], oracleNumber{}))
		}
		r[3] = oracleNumber{known: true}
		return r
	case "normalize":
		return oracleOperation("mul", a, oracleOperation("rsqrt", oracleAll(dot(a, a)), b, c, d), c, d)
	}
	for i := range r {
		r[i] = oracleCompute(op, a[i], b[i], c[i], d[i])
	}
	return r
}

func oracleLane(op string, a, b, c, d float32) float32 {
	switch op {
	case "add":
		return a + b
	case "sub":
		return a - b
	case "mul":
		return float32(a * b)
	case "div":
		return a / b
	case "mad":
		return oracleFMA(a, b, c)
	case "nmad":
		return oracleFMA(-a, b, c)
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
		return float32(math.Abs(float64(a)))
	case "neg":
		return float32(math.Copysign(float64(a), -math.Copysign(1, float64(a))))
	case "floor":
		return float32(math.Floor(float64(a)))
	case "sqrt":
		return float32(math.Sqrt(float64(a)))
	case "rsqrt":
		return oracleRsqrt(a)
	case "sin":
		return oracleSin(a)
	case "saturate":
		return oracleLane("min", oracleLane("max", a, 0, 0, 0), 1, 0, 0)
	case "smooth":
		s := oracleLane("saturate", a, 0, 0, 0)
		return float32(float32(s*s) * oracleFMA(-s, 2, 3))
	case "exp2":
		return oracleExp2(a)
	case "hash":
		return oracleHash(a, b, c)
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
	}
	panic(op)
}

func oracleRsqrt(a float32) float32 {
	if !(a > 1e-12) {
		a = 1e-12
	}
	h, y := float32(a*0.5023863), math.Float32frombits(0x5f370000-math.Float32bits(a)>>1)
	for _, k := range []float32{1.5016537, 1.5023831} {
		y = float32(y * oracleFMA(-h, float32(y*y), k))
	}
	return y
}

func oracleSin(a float32) float32 {
	q := a - ((a + 12582912) - 12582912)
	v := 0.25 - oracleLane("abs", oracleLane("abs", q, 0, 0, 0)-0.25, 0, 0, 0)
	if v < 0 {
		v = 0
	}
	w, p := float32(v*v), float32(39.53671)
	for _, k := range []float32{-76.54978, 81.601006, -41.341656, 6.283185} {
		p = oracleFMA(p, w, k)
	}
	p = float32(p * v)
	if math.Signbit(float64(q)) {
		return -p
	}
	return p
}

// oracleExp2 scales with Ldexp instead of bits.
func oracleExp2(a float32) float32 {
	switch {
	case a != a || a < -126:
		return 0
	case a >= 128:
		return float32(math.Inf(1))
	}
	n := math.RoundToEven(float64(a))
	f, p := float32(float64(a)-n), float32(0.0013264727)
	for _, k := range []float32{0.009671513, 0.055507336, 0.24022242, 0.693147, 1} {
		p = oracleFMA(p, f, k)
	}
	return float32(math.Ldexp(float64(p), int(n)))
}

// oracleHash computes modulo 2^32 in wide integers.
func oracleHash(a, b, c float32) float32 {
	const modulus = 1 << 32
	sum := uint64(0)
	for _, in := range []struct {
		f      float32
		factor uint64
	}{{a, 0x9e3779b1}, {b, 0x85ebca77}, {c, 0xc2b2ae3d}} {
		u := uint64(math.Float32bits(in.f))
		switch {
		case in.f == 0:
			u = 0
		case in.f != in.f:
			u = 0xff800000
		}
		sum += (u ^ u/(1<<15)) * in.factor % modulus
	}
	h := sum % modulus
	h = (h ^ h/(1<<16)) * 0x85ebca6b % modulus
	h = (h ^ h/(1<<13)) * 0xc2b2ae35 % modulus
	h ^= h / (1 << 16)
	return float32(float64(h/256) / (1 << 24))
}

func oracleFMA(a, b, c float32) float32 {
	if !isFinite(a) || !isFinite(b) || !isFinite(c) {
		return float32(float64(a)*float64(b) + float64(c)) // exact
	}
	return bigFMA(a, b, c)
}

// randomText returns an effect of n assignments. About half of them affect the output.
func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	b.WriteString("param p = (0.5, -2, 1e-3, 4)\nparam q = 3\n")
	names := []string{"position", "position", "time", "p", "q"}
	vector := func() string {
		numbers := []float32{0, neg32(0), 1, 2, -3, 0.5, 1e-6, 25, 1e38, float32(r.IntN(4001)-2000) / 256}
		pick := func() string { return spell(numbers[r.IntN(len(numbers))]) }
		return "(" + pick() + ", " + pick() + ", " + pick() + ", " + pick() + ")"
	}
	operand := func() string {
		switch r.IntN(8) {
		case 0:
			return spell(float32(r.IntN(9)) - 4)
		case 1:
			return vector()
		case 2:
			return names[r.IntN(len(names))] + "." + laneNames[r.IntN(4):][:1]
		}
		return names[max(r.IntN(len(names)), r.IntN(len(names)))]
	}
	known := func() string { return names[3+r.IntN(len(names)-3)] }
	operations := strings.Split(operationNames, ", ")
	for i := range n {
		name, op := fmt.Sprintf("v%d", r.IntN(6)), operations[r.IntN(len(operations))]
		o, _ := operationOf(op)
		operands := make([]string, o.operands)
		for j := range operands {
			operands[j] = operand()
		}
		if strings.HasPrefix(op, "select") && r.IntN(2) == 0 { // a product or nothing
			operands = []string{known() + ".x", known() + ".y", known(), "0"}
			if r.IntN(2) == 0 {
				operands[2], operands[3] = operands[3], operands[2]
			}
		}
		if op == "mul" && r.IntN(2) == 0 {
			operands[r.IntN(2)] = known() + ".z"
		}
		if slices.Contains(names, name) && r.IntN(4) == 0 {
			name += "." + laneNames[r.IntN(4):][:1]
		} else {
			names = append(names, name)
		}
		fmt.Fprintf(&b, "%s = %s %s\n", name, op, strings.Join(operands, ", "))
		if i == n-1 || r.IntN(6) == 0 {
			form := []string{
				"output = add output, %s\n", "output = sub output, %s\n", "output = mad %s, 0.25, output\n",
				"output = nmad %s, p, output\n", "output.y = add output.y, %s\n",
			}
			fmt.Fprintf(&b, form[r.IntN(len(form))], operand())
		}
	}
	return b.String()
}

// randomPoints returns ordinary and some non-finite points.
func randomPoints(r *rand.Rand, n int) (p Planes) {
	hard := []float32{0, neg32(0), 1e-45, 1e-38, 3e38, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 1, -4}
	for range n {
		for _, plane := range []*[]float32{&p.X, &p.Y, &p.Z} {
			f := float32(r.IntN(1<<20))/(1<<16) - 8
			if r.IntN(10) == 0 {
				f = hard[r.IntN(len(hard))]
			}
			*plane = append(*plane, f)
		}
	}
	return p
}

func requireOracle(t testing.TB, text *effectText, p *Program, points Planes, env Env) {
	t.Helper()
	n := len(points.X)
	out := Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
	require.NoError(t, p.Evaluate(points, out, env, make([]float32, p.Scratch())))
	for i := range n {
		point := [3]float32{points.X[i], points.Y[i], points.Z[i]}
		want, got := oracle(text, point, env, [3]float32{}), [3]float32{out.X[i], out.Y[i], out.Z[i]}
		for lane := range want {
			if math.Float32bits(want[lane]) != math.Float32bits(got[lane]) {
				t.Fatalf("at %v, lane %d: %g, not %g\n%s", point, lane, got[lane], want[lane], p)
			}
		}
	}
}

// TestRandomPrograms compares compiler and machine with the oracle (F1), verifier with
// compiler (F3), and text and bytes (F6).
func TestRandomPrograms(t *testing.T) {
	racetest.SkipSequential(t)
	programs := 1500
	if testing.Short() {
		programs = 150
	}
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		source := randomText(r, 1+r.IntN(24))
		text := parse(source)
		p, err := Compile(source)
		require.NoError(t, err, "seed %d:\n%s", seed, source)
		require.NoError(t, p.verify(), "seed %d:\n%s", seed, source)
		env := Env{Time: float64(r.IntN(100)) / 8}
		if seed%2 == 1 {
			env.Time = 3e7*r.Float64() - 1e5
		}
		if r.IntN(2) == 0 {
			env.Params = []Vec4{{1, float32(r.NormFloat64()), 0, neg32(0)}, {2, 3e38, 0.5, 1}}
		}
		requireOracle(t, text, p, randomPoints(r, 70), env)
		requireRoundTrip(t, p)
	}
}

// requireRoundTrip is F6 for a compiled program.
func requireRoundTrip(t testing.TB, p *Program) {
	t.Helper()
	again, err := Compile(p.String())
	require.NoError(t, err, "%s", p)
	require.Equal(t, p.Hash(), again.Hash(), "%s\n%s", p, again)
	b := must.Get(p.MarshalBinary())
	require.LessOrEqual(t, len(b), MaxBinaryBytes)
	loaded, err := Load(b)
	require.NoError(t, err, "%s", p)
	require.Equal(t, p.Hash(), loaded.Hash())
	require.Equal(t, p.String(), loaded.String())
}
