package field

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

func fuzzPoints() Planes { return randomPoints(rand.New(rand.NewPCG(8, 9)), 67) }

func evaluateAt(t testing.TB, p *Program, points Planes) (bits []uint32) {
	t.Helper()
	require.LessOrEqual(t, p.Scratch(), MaxScratch)
	n := len(points.X)
	out := Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
	require.NoError(t, p.Evaluate(points, out, Env{Time: 0.5}, make([]float32, p.Scratch())))
	for _, plane := range [][]float32{out.X, out.Y, out.Z} {
		for _, f := range plane {
			require.False(t, f != f, "NaN in the output")
			bits = append(bits, math.Float32bits(f))
		}
	}
	return bits
}

// FuzzCompile: no text makes the compiler panic; compiled programs pass the verifier,
// agree with the oracle, and satisfy F6.
func FuzzCompile(f *testing.F) {
	f.Add("direction = sub position, (2,4,0,0)\nlensqr = dot direction, direction\ndirection = normalize direction\n" +
		"direction = mul direction, (50,50,50,50)\ndirection = select_lt lensqr, (25,25,25,25), direction, (0,0,0,0)\noutput = add output, direction\n")
	f.Add("effect a\nparam p = 1e-3\nbox (-1,-1,-1), (1,1,1)\n# comment\nv = smooth position\nv.y = sin time\noutput.x = nmad v.y, p, output.x\r\n")
	for seed := range uint64(6) {
		f.Add(randomText(rand.New(rand.NewPCG(seed, 1)), 12))
	}
	for _, name := range ShippedNames() {
		text, _ := Shipped(name)
		f.Add(text)
	}
	f.Add("param p = (1,2,3) in -5..5\ndef f(a, b) = select(a < b, -a.x, 1 / b)\nlet v = f(position, p.y) * (1, time, 2)\nw = mul v, 3\noutput -= w * noise3(w)\noutput.y += 2*pi")
	f.Add(crowded(rand.New(rand.NewPCG(1, 31))))
	f.Add("output += curl_noise2(position) * noise3(position)")
	points := fuzzPoints()
	f.Fuzz(func(t *testing.T, source string) {
		p, err := Compile(source)
		if err != nil {
			var wrong *SyntaxError
			require.True(t, errors.As(err, &wrong))
			require.Positive(t, wrong.Line)
			require.Positive(t, wrong.Column)
			require.LessOrEqual(t, wrong.Column, len(wrong.Source)+1)
			require.NotEmpty(t, wrong.Error())
			return
		}
		require.NoError(t, p.verify())
		requireRoundTrip(t, p)
		evaluateAt(t, p, points)
		text := parse(source)
		isExpression := func(s statement) bool { return s.form != formOperation }
		if len(text.statements) < 50 && !slices.ContainsFunc(text.statements, isExpression) {
			requireOracle(t, plainText(text, Env{}), p, rand.New(rand.NewPCG(8, 9)), 9, Env{Time: 0.5})
		}
	})
}

// FuzzLoad: no bytes make Load panic. Loaded programs can be evaluated and have only one
// form. If their text compiles, it gives the same results, unless isLiteral is false.
func FuzzLoad(f *testing.F) {
	f.Add(small().encode())
	for seed := range uint64(6) {
		p := must.Get(Compile(randomText(rand.New(rand.NewPCG(seed, 1)), 12)))
		f.Add(p.encode())
	}
	points := fuzzPoints()
	f.Fuzz(func(t *testing.T, b []byte) { requireLoad(t, b, points) })
}

func requireLoad(t *testing.T, b []byte, points Planes) (loaded bool) {
	t.Helper()
	p, err := Load(b)
	if err != nil {
		var wrong *VerifyError
		require.True(t, errors.As(err, &wrong))
		require.NotEmpty(t, wrong.Reason)
		return false
	}
	require.Equal(t, b, p.encode())
	want := evaluateAt(t, p, points)
	if again, err := Compile(p.String()); err == nil {
		requireRoundTrip(t, again)
		if isLiteral(p) {
			require.Equal(t, want, evaluateAt(t, again, points), "%s\n%s", p, again)
		}
	}
	return true
}

// isLiteral reports whether a program's text means the same as its instructions: it
// contains no literal 0, written or computed, and no operation from which the compiler
// takes time out.
func isLiteral(p *Program) bool {
	var written, onTime [planeCount]bool
	for _, in := range p.code {
		reads := in.op == opLoad && in.uniform == uniformTime
		for _, o := range in.operands[:in.op.operands()] {
			reads = reads || onTime[o]
		}
		onTime[in.to] = reads && in.to < MaxRegisters
		if reads {
			switch in.op {
			case opMad, opNmad, opSin, opHash:
				return false
			}
		}
		known := in.op == opLoad && int(in.uniform) >= uniformParams+4*len(p.params)
		if known && p.literals[int(in.uniform)-uniformParams-4*len(p.params)] == 0 {
			return false
		}
		if in.op != opLoad && in.op != opEnd {
			known = true
			for _, o := range in.operands[:in.op.operands()] {
				known = known && written[o]
			}
			if known {
				return false
			}
		}
		written[in.to] = known
	}
	return true
}

// TestMutations is FuzzLoad on nearly valid programs.
func TestMutations(t *testing.T) {
	programs, mutations := shorttest.Pick(100, 12), 300
	points, accepted, literal := fuzzPoints(), 0, 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		p := must.Get(Compile(randomText(r, 10)))
		if isLiteral(p) {
			literal++
		}
		good := p.encode()
		for range mutations {
			b := append([]byte(nil), good...)
			for range 1 + r.IntN(3) {
				at := len(b) - 1 - r.IntN(min(len(b), 1+instructionBytes*len(p.code))) // mostly in the code
				switch r.IntN(3) {
				case 0:
					b[at] = byte(r.Uint32())
				case 1:
					b[at] ^= 1 << r.IntN(8)
				default:
					b[at] = byte(r.IntN(40))
				}
			}
			if requireLoad(t, b, points) {
				accepted++
			}
		}
	}
	require.Greater(t, accepted, programs*mutations/100, "some mutants must be programs too")
	require.Greater(t, literal, programs/6, "some texts must be read to the letter")
}
