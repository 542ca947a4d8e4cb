package field

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
)

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

// plainText returns the statements of a text as the oracle reads them, with the parameters of env.
func plainText(text *effectText, env Env) string {
	var b strings.Builder
	for i, p := range text.params {
		if env.Params != nil {
			p.Default = env.Params[i]
		}
		fmt.Fprintf(&b, "param %s = %s\n", p.Name, p.spellDefault())
	}
	word := func(t token) string {
		if t.lane == wholeVector {
			return t.text
		}
		return t.text + "." + laneNames[t.lane:][:1]
	}
	for _, s := range text.statements {
		var operands []string
		for _, o := range s.operands {
			if o.token.kind == tokenWord {
				operands = append(operands, word(o.token))
			} else {
				operands = append(operands, spellVector(o.value[:]))
			}
		}
		fmt.Fprintf(&b, "%s = %s %s\n", word(s.target), s.op.text, strings.Join(operands, ", "))
	}
	return b.String()
}

// requireOracle evaluates p at n points, onto earlier sums, and compares the sums with the oracle's.
// Nothing but the sums and the scratch memory changes.
func requireOracle(t testing.TB, plain string, p *Program, r *rand.Rand, n int, env Env) {
	t.Helper()
	points, out := newFenced(r, n), newFenced(r, n)
	before, start := points.clone(), out.clone()
	scratch := make([]float32, fence+p.Scratch()+fence)
	fill(scratch, float32(math.NaN()))
	require.NoError(t, p.Evaluate(points.Planes, out.Planes, env, scratch[fence:len(scratch)-fence:len(scratch)-fence]))
	for i := range n {
		point, sum := [3]float32{points.X[i], points.Y[i], points.Z[i]}, [3]float32{start.X[i], start.Y[i], start.Z[i]}
		want, got := oracleAt(plain, point, env.Time, sum), [3]float32{out.X[i], out.Y[i], out.Z[i]}
		for lane := range want {
			if math.Float32bits(want[lane]) != math.Float32bits(got[lane]) {
				t.Fatalf("point %d of %d, %v onto %v, lane %d: %g, not %g\n%s\n%s", i, n, point, sum, lane, got[lane], want[lane], plain, p)
			}
		}
	}
	for lane := range out.memory {
		copy(start.memory[lane][fence:][:n], out.memory[lane][fence:])
		require.NoError(t, firstDifference(start.memory[lane], out.memory[lane]))
		require.NoError(t, firstDifference(before.memory[lane], points.memory[lane]))
	}
	for i := range fence {
		require.True(t, scratch[i] != scratch[i] && scratch[len(scratch)-1-i] != scratch[len(scratch)-1-i], "beside the scratch memory")
	}
}

// TestRandomPrograms compares compiler and machine with the oracle (F1), verifier with compiler (F3),
// and text and bytes (F6), over all lengths of the last block.
func TestRandomPrograms(t *testing.T) {
	racetest.SkipSequential(t)
	programs, compiled := shorttest.Pick(3000, 350), 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		source, env := newEffectGenerator(uint64(seed), "").text(), Env{Time: float64(r.IntN(100)) / 8}
		if seed%2 == 0 {
			source = randomText(r, 1+r.IntN(24))
			if r.IntN(2) == 0 {
				env.Params = []Vec4{{1, float32(r.NormFloat64()), 0, neg32(0)}, {2, 3e38, 0.5, 1}}
			}
		}
		if seed%4 > 1 {
			env.Time = 3e7*r.Float64() - 1e5
		}
		plain := source // the oracle's own reading of the text
		if env.Params != nil {
			plain = plainText(parse(source), env)
		}
		p, err := Compile(source)
		if err != nil {
			require.True(t, seed%2 == 1 && isTooLarge(err), "seed %d: %v\n%s", seed, err, source)
			continue
		}
		compiled++
		require.NoError(t, p.verify(), "seed %d:\n%s", seed, source)
		requireOracle(t, plain, p, r, seed%131, env)
		requireRoundTrip(t, p)
	}
	require.Greater(t, compiled, programs*7/8)
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

// A effectGenerator writes random effects.
type effectGenerator struct {
	rng    *rand.Rand
	prefix string // of all names
	names  []string
	header strings.Builder
	body   strings.Builder
}

var oracleOperations = strings.Fields("mov add sub mul div mad nmad min max abs neg floor sqrt rsqrt sin exp2 hash saturate smooth " +
	"dot cross length normalize select_lt select_ge")

func newEffectGenerator(seed uint64, prefix string) *effectGenerator {
	a := &effectGenerator{rng: rand.New(rand.NewPCG(seed, 99)), prefix: prefix, names: []string{"position", "position", "time"}}
	for i := range a.rng.IntN(4) {
		name := fmt.Sprintf("%sp%d", prefix, i)
		fmt.Fprintf(&a.header, "param %s = %s\n", name, a.literal())
		a.names = append(a.names, name)
	}
	for range 1 + a.rng.IntN(24) {
		a.line()
	}
	a.sum()
	return a
}

func (a *effectGenerator) text() string { return a.header.String() + a.body.String() }

func (a *effectGenerator) number() string {
	odd := []string{"0", "-0", "1", "-1", "0.5", "2", "3", "25", "1e-45", "1.1754942e-38", "3e38", "-3e38", "16777216", "1e-12", "0.33333334"}
	if a.rng.IntN(2) == 0 {
		return odd[a.rng.IntN(len(odd))]
	}
	return strconv.FormatFloat(float64(float32(a.rng.Float32()*20)-10), 'g', -1, 32)
}

func (a *effectGenerator) literal() string {
	if a.rng.IntN(2) == 0 {
		return a.number()
	}
	parts := []string{a.number(), a.number(), a.number(), a.number()}
	return "(" + strings.Join(parts[:3+a.rng.IntN(2)], ", ") + ")"
}

func (a *effectGenerator) operand() string {
	if a.rng.IntN(4) == 0 {
		return a.literal()
	}
	name := a.names[max(a.rng.IntN(len(a.names)), a.rng.IntN(len(a.names)))] // prefer recent names
	if a.rng.IntN(5) == 0 {
		name += "." + string("xyzw"[a.rng.IntN(4)])
	}
	return name
}

func (a *effectGenerator) operands(n int) []string {
	var parts []string
	for range n {
		parts = append(parts, a.operand())
	}
	return parts
}

func (a *effectGenerator) line() {
	if a.rng.IntN(8) == 0 {
		a.sum()
		return
	}
	operation := oracleOperations[a.rng.IntN(len(oracleOperations))]
	target := fmt.Sprintf("%sv%d", a.prefix, a.rng.IntN(8))
	known := false
	for _, name := range a.names {
		known = known || name == target
	}
	operands := strings.Join(a.operands(oracleOperandCounts[operation]), ", ")
	if known && a.rng.IntN(4) == 0 {
		fmt.Fprintf(&a.body, "%s.%c = %s %s\n", target, "xyzw"[a.rng.IntN(4)], operation, operands)
		return
	}
	fmt.Fprintf(&a.body, "%s = %s %s\n", target, operation, operands)
	a.names = append(a.names, target)
}

func (a *effectGenerator) sum() {
	out := "output"
	if a.rng.IntN(4) == 0 {
		out += "." + string("xyz"[a.rng.IntN(3)])
	}
	v := a.operands(2)
	forms := []string{"add " + out + ", " + v[0], "sub " + out + ", " + v[0], "mad " + v[0] + ", " + v[1] + ", " + out, "nmad " + v[0] + ", " + v[1] + ", " + out}
	fmt.Fprintf(&a.body, "%s = %s\n", out, forms[a.rng.IntN(len(forms))])
}

// isTooLarge reports whether the text was rejected for its size alone.
func isTooLarge(err error) bool {
	return strings.Contains(err.Error(), "numbers to remember") || strings.Contains(err.Error(), "instructions")
}

// TestNeutralOperands: omitting an operation changes no bit. Dividing by the result
// distinguishes the zeros.
func TestNeutralOperands(t *testing.T) {
	for _, operation := range []string{"add", "sub", "mul", "div", "min", "max"} {
		for _, literal := range []string{"0", "-0", "1", "-1"} {
			for _, operands := range []string{"position, " + literal, literal + ", position"} {
				text := "a = " + operation + " " + operands + "\na = div 1, a\noutput = add output, a\n"
				p := must.Get(Compile(text))
				values := cornerValues()
				points, out := Planes{X: values, Y: values, Z: values}, planesOf(len(values))
				require.NoError(t, p.Evaluate(points, out, Env{}, make([]float32, p.Scratch())))
				for i, v := range values {
					want := oracleAt(text, [3]float32{v, v, v}, 0, [3]float32{})
					require.Equal(t, math.Float32bits(want[0]), math.Float32bits(out.X[i]), "%v\n%s", v, text)
				}
			}
		}
	}
}

// TestConsecutiveEffects: consecutive effects equal their concatenated texts unless an
// intermediate sum is NaN, which an effect's end turns into 0.
func TestConsecutiveEffects(t *testing.T) {
	racetest.SkipSequential(t)
	compared, seeds := 0, shorttest.Pick[uint64](300, 60)
	for seed := range seeds {
		a, b := newEffectGenerator(2*seed, "a"), newEffectGenerator(2*seed+1, "b")
		both, err := Compile(a.header.String() + b.header.String() + a.body.String() + b.body.String())
		if err != nil {
			require.True(t, isTooLarge(err), "%v", err)
			continue
		}
		one := must.Get(Compile(a.text()))
		two := must.Get(Compile(b.text()))
		points, first, together, apart := randomPoints(rand.New(rand.NewPCG(1, 2)), 70), planesOf(70), planesOf(70), planesOf(70)
		scratch := make([]float32, MaxScratch)
		for _, e := range []struct {
			p   *Program
			out Planes
		}{{one, first}, {one, apart}, {two, apart}, {both, together}} {
			require.NoError(t, e.p.Evaluate(points, e.out, Env{Time: -3}, scratch))
		}
		lanes := func(p Planes, i int) []uint32 {
			return []uint32{math.Float32bits(p.X[i]), math.Float32bits(p.Y[i]), math.Float32bits(p.Z[i])}
		}
		for i := range 70 {
			point := [3]float32{points.X[i], points.Y[i], points.Z[i]}
			if raw := oracleRawSum(a.text(), point, -3); raw[0] != raw[0] || raw[1] != raw[1] || raw[2] != raw[2] {
				continue
			}
			compared++
			require.Equal(t, lanes(apart, i), lanes(together, i), "seed %d, point %v", seed, point)
		}
	}
	require.Greater(t, compared, int(seeds)*16)
}

// oracleRawSum is the effect's sum, including NaN.
func oracleRawSum(text string, point [3]float32, time float64) [3]float32 {
	marked := oracleAt(text, point, time, [3]float32{})
	again := oracleAt(text, point, time, [3]float32{1, 1, 1})
	for i := range marked {
		if marked[i] == 0 && again[i] == 0 { // 1 + 0 would be 1
			marked[i] = float32(math.NaN())
		}
	}
	return marked
}
