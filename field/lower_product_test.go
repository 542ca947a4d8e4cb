package field

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// TestSink pins how products sink, by the x axis.
func TestSink(t *testing.T) {
	for name, c := range map[string]struct{ text, x string }{
		"by two numbers":             {"v = mul v, a\nv = mul b, v\noutput = add output, v", "mad(x, mul(y, z), out)"},
		"subtracted":                 {"v = mul v, a\noutput = sub output, v", "nmad(x, y, out)"},
		"mad by a number":            {"v = mul v, a\noutput = nmad b, v, output", "nmad(x, mul(y, z), out)"},
		"mad by a vector":            {"v = mul v, a\noutput = mad v, position, output", "mad(mul(x, y), x, out)"},
		"negated":                    {"v = mul v, a\nv = neg v\noutput = add output, v", "nmad(x, y, out)"},
		"in one lane of the output":  {"v = mul v, a\noutput.x = add output.x, v", "mad(x, y, out)"},
		"one lane of it":             {"v = mul v, a\noutput.x = add output.x, v.x", "add(out, mul(x, y))"},
		"normalized":                 {"v.y = mov 0\nv.z = mov 0\nv = normalize v\nv = mul v, a\noutput = add output, v", "mad(x, mul(y, rsqrt(mul(x, x))), out)"},
		"a product normalized":       {"v.y = mov 0\nv.z = mov 0\nv = mul v, a\nv.y = mov 0\nv.z = mov 0\nv = normalize v\noutput = add output, v", "mad(mul(x, y), rsqrt(mul(mul(x, y), mul(x, y))), out)"},
		"turned":                     {"v = mul v, a\nv = cross (3,2,1), v\noutput = add output, v", "mad(sub(mul(z, 2), y), y, out)"},
		"turned by it":               {"v = mul v, a\nv = cross v, (3,2,1)\noutput = add output, v", "mad(nmad(z, 2, y), y, out)"},
		"turned by each other":       {"v = mul v, a\nu = mul (3,2,1), b\nv = cross u, v\noutput = add output, v", "mad(sub(mul(z, 2), y), mul(y, z), out)"},
		"selected":                   {"v = mul v, a\nv = select_ge b, 2, v, 0\noutput = add output, v", "mad(x, select_ge(z, 2, y, 0), out)"},
		"selected, exchanged":        {"v = mul v, a\nv = select_lt b, 2, (0,0,0,0), v\noutput = add output, v", "mad(x, select_lt(z, 2, 0, y), out)"},
		"selected against something": {"v = mul v, a\nv = select_lt b, 2, v, 1\noutput = add output, v", "add(out, select_lt(z, 2, mul(x, y), 1))"},
		"selected against a vector":  {"v = mul v, a\nv = select_lt b, 2, v, (0,0,0,1)\noutput = add output, v", "add(out, select_lt(z, 2, mul(x, y), 0))"},
		"selected by a vector":       {"v = mul v, a\nv = select_lt position, 2, v, 0\noutput = add output, v", "add(out, select_lt(x, 2, mul(x, y), 0))"},
		"not bounded: a quotient":    {"v = div v, a\nv = mul v, b\nv = select_lt a, 2, v, 0\noutput = add output, v", "add(out, select_lt(y, 2, mul(z, div(x, y)), 0))"},
		"not bounded: a fifth power": {"u = mul v, v\nu = mul u, u\nu = mul u, v\nu = mul u, b\nu = select_lt a, 2, u, 0\noutput = add output, u", "add(out, select_lt(y, 2, mul(z, mul(x, mul(mul(x, x), mul(x, x)))), 0))"},
		"bounded: a fourth power":    {"u = mul v, v\nu = mul u, u\nu = mul u, b\nu = select_lt a, 2, u, 0\noutput = add output, u", "mad(mul(mul(x, x), mul(x, x)), select_lt(y, 2, z, 0), out)"},
		"numbers only":               {"a = mul a, b\na = mul a, 3\noutput = add output, a", "add(out, mul(mul(y, z), 3))"},
		"vectors only":               {"v = mul v, position\noutput = add output, v", "add(out, mul(x, x))"},
		"four lanes are no number":   {"n = mov a\nn.x = mov a\nv = mul v, n\noutput = add output, v", "add(out, mul(x, y))"},
	} {
		t.Run(name, func(t *testing.T) {
			p := must.Get(Compile("a = mov position.y\nb = mov position.z\nv = mov position\n" + c.text))
			require.Equal(t, c.x, addedToX(p), "%s", p)
			requireRoundTrip(t, p)
		})
	}
}

// addedToX returns the sum that is added to the output's x, as one expression.
func addedToX(p *Program) (spelled string) {
	planes := map[uint8]string{planePosition: "x", planePosition + 1: "y", planePosition + 2: "z", planeOutput: "out"}
	for _, in := range p.code {
		switch in.op {
		case opEnd:
			return planes[planeOutput]
		case opLoad:
			planes[in.to] = p.spellUniform(in.uniform)
			continue
		}
		var operands []string
		for _, plane := range in.operands[:in.op.operands()] {
			operands = append(operands, planes[plane])
		}
		planes[in.to] = in.op.String() + "(" + strings.Join(operands, ", ") + ")"
	}
	return ""
}

// TestSinkRounds: a product equals its lanes multiplied one by one, except for rounding. A
// literal of unequal numbers is a vector, which keeps products apart. Its w does not
// matter.
func TestSinkRounds(t *testing.T) {
	const text = `d = sub position, (2,4,0)
lensqr = dot d, d
n = normalize d
n = cross (0.5,1,-2), n
n = mul n, (50,50,50,K)
n = neg n
n = select_lt lensqr, 25, n, (0,0,0,K)
output = add output, n
`
	sunk := must.Get(Compile(strings.ReplaceAll(text, "K", "50")))
	apart := must.Get(Compile(strings.ReplaceAll(text, "K", "7")))
	require.Less(t, len(sunk.code)+3, len(apart.code))
	r := rand.New(rand.NewPCG(3, 4))
	points := randomPoints(r, 4000)
	for _, plane := range [][]float32{points.X, points.Y, points.Z} {
		for i, v := range plane {
			if !(math.Abs(float64(v)) <= 1<<30) {
				plane[i] = 1 << 30
			}
		}
	}
	a, b := evaluateAt(t, sunk, points), evaluateAt(t, apart, points)
	pushed := 0
	for i := range a {
		x, y := float64(math.Float32frombits(a[i])), float64(math.Float32frombits(b[i]))
		require.InDelta(t, x, y, 3e-5, "%d", i) // 1/2,000,000 relative to the terms of the cross product
		if x != 0 {
			pushed++
		}
	}
	require.Greater(t, pushed, 1000)
}

// TestReach: bounded values are finite and within their bound at the worst allowed
// points.
func TestReach(t *testing.T) {
	racetest.SkipSequential(t)
	worst := []float32{0, 1, -1, 0.3, 1 << 30, -(1 << 30), 1e-30, 5, -7.5, 1e-45}
	for seed := range 400 {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		text := parse(randomText(r, 1+r.IntN(12)))
		c := newCompiler(text)
		for i := range text.statements {
			c.lowerStatement(&text.statements[i])
		}
		for range 20 {
			pick := func() float32 { return worst[r.IntN(len(worst))] }
			env := Env{Time: float64(pick()), Params: []Vec4{{pick(), pick(), pick(), pick()}, {pick(), pick(), pick(), pick()}}}
			values := graphAt(c.graph, [3]float32{pick(), pick(), pick()}, &Program{params: text.params}, env)
			for name, term := range c.names {
				for _, id := range term.lanes {
					if term.reach != unbounded {
						require.LessOrEqual(t, math.Abs(float64(values[id])), math.Ldexp(1, int(term.reach)), "seed %d, %s", seed, name)
					}
				}
			}
		}
	}
}

// graphAt computes a graph's values at a point.
func graphAt(g *graph, point [3]float32, p *Program, env Env) []float32 {
	values := make([]float32, len(g.values))
	for id, v := range g.values {
		switch v.kind {
		case valueLiteral:
			values[id] = math.Float32frombits(v.bits)
		case valueUniform:
			values[id] = p.uniform(v.uniform, &env)
		case valuePosition:
			values[id] = point[v.lane]
		case valueComputed:
			var f [4]float32
			for i, o := range v.operands[:v.op.operands()] {
				f[i] = values[o]
			}
			values[id] = evaluate(v.op, f[0], f[1], f[2], f[3])
		}
	}
	return values
}
