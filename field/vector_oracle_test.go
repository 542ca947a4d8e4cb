package field_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// A vectorOracle interprets an effect's text line by line at one point, with four
// numbers per name, following LANGUAGE.md. It shares nothing with the compiler
// or the machine.
type vectorOracle struct {
	names map[string]vectorTerm
	out   [3]float32
	added [3]bool // lanes of out to which an effect has added
}

// vectorInterpret adds the effect at one point to out.
func vectorInterpret(text string, point [3]float32, time float64, out [3]float32) [3]float32 {
	o := vectorOracle{names: map[string]vectorTerm{
		"position": {lanes: [4]float32{point[0], point[1], point[2], 0}, fixed: [4]bool{3: true}, size: vectorGiven},
		"time":     vectorSingle(vectorTimed(time), vectorGiven),
	}, out: out}
	of := &vectorNode{point: true}
	at := o.names["position"]
	at.nodes = [4]*vectorNode{of, of, of, nil}
	o.names["position"] = at
	for row := range strings.SplitSeq(text, "\n") {
		target, right, assigns := strings.Cut(row, " = ")
		name, isParam := strings.CutPrefix(target, "param ")
		switch {
		case isParam:
			o.names[name] = vectorTerm{lanes: o.operand(right).lanes, size: vectorGiven}
			if right[0] != '(' {
				o.names[name] = vectorSingle(vectorScalar{f: o.operand(right).lanes[0]}, vectorGiven)
			}
		case assigns:
			o.assign(target, right)
		}
	}
	if o.added == [3]bool{} {
		o.added[0] = true
	}
	for i, v := range o.out {
		if v != v && o.added[i] {
			o.out[i] = 0
		}
	}
	return o.out
}

func (o *vectorOracle) assign(target, right string) {
	operation, rest, _ := strings.Cut(right, " ")
	var v [4]vectorTerm
	at := -1 // index of the operand that is the output
	for i, s := range vectorSplit(rest) {
		if s == target && strings.HasPrefix(s, "output") {
			at = i
			v[i].lanes = [4]float32{o.out[0], o.out[1], o.out[2], 0}
			continue
		}
		v[i] = o.operand(s)
	}
	base, lane := vectorPick(target)
	if at < 0 {
		result := vectorApply(operation, v)
		if old := o.names[base]; lane >= 0 {
			old.setLane(lane, result.lane(lane))
			result = vectorTerm{lanes: old.lanes, fixed: old.fixed, nodes: old.nodes, size: math.Max(old.size, result.size)}
		}
		o.names[base] = result
		return
	}
	result, added := vectorAdd(operation, v)
	for i := range o.out {
		if (lane < 0 || lane == i) && added[i] {
			o.out[i], o.added[i] = result[i], true
		}
	}
}

// vectorSplit splits at commas outside of vectors.
func vectorSplit(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[from:]))
}

func vectorPick(name string) (base string, lane int) {
	base, after, found := strings.Cut(name, ".")
	if !found {
		return base, -1
	}
	return base, strings.Index("xyzw", after)
}

func (o *vectorOracle) operand(s string) vectorTerm {
	number := func(s string) float32 {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 32)
		if err != nil {
			panic(err)
		}
		return float32(f)
	}
	switch c := s[0]; {
	case c == '(':
		var v [4]float32
		for i, part := range strings.Split(strings.Trim(s, "()"), ",") {
			v[i] = number(part)
		}
		return vectorWritten(v)
	case strings.IndexByte("+-.0123456789", c) >= 0:
		f := number(s)
		return vectorWritten([4]float32{f, f, f, f})
	}
	base, lane := vectorPick(s)
	v, ok := o.names[base]
	if !ok {
		panic("the test made a text that does not know " + base)
	}
	if lane >= 0 {
		v = vectorSingle(v.lane(lane), v.size)
	}
	return v
}

func vectorNumber(operation string, a, b, c, d float32) float32 {
	choose := func(first bool, a, b float32) float32 {
		if first {
			return a
		}
		return b
	}
	switch operation {
	case "mov":
		return a
	case "add":
		return a + b
	case "sub":
		return a - b
	case "mul":
		return float32(a * b)
	case "div":
		return a / b
	case "mad":
		return vectorOnceFMA(a, b, c)
	case "nmad":
		return vectorOnceFMA(-a, b, c)
	case "min":
		return choose(a < b, a, b)
	case "max":
		return choose(a > b, a, b)
	case "abs":
		return float32(math.Abs(float64(a)))
	case "neg":
		return -a
	case "floor":
		return float32(math.Floor(float64(a)))
	case "sqrt":
		return float32(math.Sqrt(float64(a)))
	case "rsqrt":
		return vectorInverseRoot(a)
	case "sin":
		return vectorSine(a)
	case "saturate":
		return vectorClamp(a)
	case "smooth":
		s := vectorClamp(a)
		return float32(float32(s*s) * vectorOnceFMA(-s, 2, 3))
	case "exp2":
		return vectorPower(a)
	case "hash":
		return vectorHash(a, b, c)
	case "select_lt":
		return choose(a < b, c, d)
	case "select_ge":
		return choose(a >= b, c, d)
	}
	panic("the test made a text with the operation " + operation)
}

func vectorClamp(a float32) float32 {
	switch {
	case a >= 1:
		return 1
	case a > 0:
		return a
	}
	return 0 // NaN too
}

// vectorOnceFMA rounds once: if the neighbourhood of the float64 sum rounds to one
// float32, that is the result; otherwise article_test's exact fma decides.
func vectorOnceFMA(a, b, c float32) float32 {
	s := math.FMA(float64(a), float64(b), float64(c))
	below, above := float32(math.Nextafter(s, math.Inf(-1))), float32(math.Nextafter(s, math.Inf(1)))
	if s != 0 && below == above {
		return below
	}
	return fma(a, b, c)
}

func vectorInverseRoot(a float32) float32 {
	x := float32(1e-12)
	if a > x {
		x = a
	}
	h := float32(x * 0.5023863)
	y := math.Float32frombits(0x5f370000 - math.Float32bits(x)/2)
	for _, k := range []float32{1.5016537, 1.5023831} {
		y = float32(y * vectorOnceFMA(-h, float32(y*y), k))
	}
	return y
}

func vectorSine(t float32) float32 {
	q := t - ((t + 12582912) - 12582912)
	v := 0.25 - float32(math.Abs(float64(float32(math.Abs(float64(q)))-0.25)))
	if !(v > 0) && v == v {
		v = 0
	} else if v != v {
		return v
	}
	p := float32(39.53671)
	for _, k := range []float32{-76.54978, 81.601006, -41.341656, 6.283185} {
		p = vectorOnceFMA(p, float32(v*v), k)
	}
	p = float32(p * v)
	if math.Signbit(float64(q)) {
		return -p
	}
	return p
}

// vectorPower is 2^a, with the integer part by doubling and halving.
func vectorPower(a float32) float32 {
	if a != a || a < -126 {
		return 0
	}
	if a > 128 {
		a = 128
	}
	whole := math.RoundToEven(float64(a))
	rest, p := float32(float64(a)-whole), float32(0.0013264727)
	for _, k := range []float32{0.009671513, 0.055507336, 0.24022242, 0.693147, 1} {
		p = vectorOnceFMA(p, rest, k)
	}
	for ; whole > 0; whole-- {
		p *= 2
	}
	for ; whole < 0; whole++ {
		p /= 2
	}
	return p
}

func vectorHash(numbers ...float32) float32 {
	factors, h := []uint32{0x9e3779b1, 0x85ebca77, 0xc2b2ae3d}, uint32(0)
	for i, f := range numbers {
		if f == 0 {
			f = 0 // +0
		} else if f != f {
			f = float32(math.Inf(-1))
		}
		u := math.Float32bits(f)
		h += factors[i] * (u ^ u>>15)
	}
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	h ^= h >> 16
	return float32(float64(h>>8) / 16777216)
}

// A vectorGenerator writes random effects.
type vectorGenerator struct {
	rng    *rand.Rand
	prefix string // of all names
	names  []string
	header strings.Builder
	body   strings.Builder
}

var vectorOperandCounts = map[string]int{
	"mov": 1, "add": 2, "sub": 2, "mul": 2, "div": 2, "mad": 3, "nmad": 3, "min": 2, "max": 2, "abs": 1, "neg": 1, "floor": 1,
	"sqrt": 1, "rsqrt": 1, "sin": 1, "exp2": 1, "hash": 3, "saturate": 1, "smooth": 1, "dot": 2, "cross": 2, "length": 1, "normalize": 1,
	"select_lt": 4, "select_ge": 4,
}

var vectorOperations = strings.Fields("mov add sub mul div mad nmad min max abs neg floor sqrt rsqrt sin exp2 hash saturate smooth " +
	"dot cross length normalize select_lt select_ge")

func newVectorGenerator(seed uint64, prefix string) *vectorGenerator {
	a := &vectorGenerator{rng: rand.New(rand.NewPCG(seed, 99)), prefix: prefix, names: []string{"position", "position", "time"}}
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

func (a *vectorGenerator) text() string { return a.header.String() + a.body.String() }

func (a *vectorGenerator) number() string {
	odd := []string{"0", "-0", "1", "-1", "0.5", "2", "3", "25", "1e-45", "1.1754942e-38", "3e38", "-3e38", "16777216", "1e-12", "0.33333334"}
	if a.rng.IntN(2) == 0 {
		return odd[a.rng.IntN(len(odd))]
	}
	return strconv.FormatFloat(float64(float32(a.rng.Float32()*20)-10), 'g', -1, 32)
}

func (a *vectorGenerator) literal() string {
	if a.rng.IntN(2) == 0 {
		return a.number()
	}
	parts := []string{a.number(), a.number(), a.number(), a.number()}
	return "(" + strings.Join(parts[:3+a.rng.IntN(2)], ", ") + ")"
}

func (a *vectorGenerator) operand() string {
	if a.rng.IntN(4) == 0 {
		return a.literal()
	}
	name := a.names[max(a.rng.IntN(len(a.names)), a.rng.IntN(len(a.names)))] // prefer recent names
	if a.rng.IntN(5) == 0 {
		name += "." + string("xyzw"[a.rng.IntN(4)])
	}
	return name
}

func (a *vectorGenerator) operands(n int) []string {
	var parts []string
	for range n {
		parts = append(parts, a.operand())
	}
	return parts
}

func (a *vectorGenerator) line() {
	if a.rng.IntN(8) == 0 {
		a.sum()
		return
	}
	operation := vectorOperations[a.rng.IntN(len(vectorOperations))]
	target := fmt.Sprintf("%sv%d", a.prefix, a.rng.IntN(8))
	known := false
	for _, name := range a.names {
		known = known || name == target
	}
	operands := strings.Join(a.operands(vectorOperandCounts[operation]), ", ")
	if known && a.rng.IntN(4) == 0 {
		fmt.Fprintf(&a.body, "%s.%c = %s %s\n", target, "xyzw"[a.rng.IntN(4)], operation, operands)
		return
	}
	fmt.Fprintf(&a.body, "%s = %s %s\n", target, operation, operands)
	a.names = append(a.names, target)
}

func (a *vectorGenerator) sum() {
	out := "output"
	if a.rng.IntN(4) == 0 {
		out += "." + string("xyz"[a.rng.IntN(3)])
	}
	v := a.operands(2)
	forms := []string{"add " + out + ", " + v[0], "sub " + out + ", " + v[0], "mad " + v[0] + ", " + v[1] + ", " + out, "nmad " + v[0] + ", " + v[1] + ", " + out}
	fmt.Fprintf(&a.body, "%s = %s\n", out, forms[a.rng.IntN(len(forms))])
}

// guardedPlanes are planes and scratch in one slice, separated by guard values.
type guardedPlanes struct {
	points, out field.Planes
	scratch     []float32
	memory      []float32
	guard       []bool // by index of memory
	before      []float32
}

const guardLen, guardValue = 19, 12345.5

func newGuardedPlanes(n, scratch int) *guardedPlanes {
	h := &guardedPlanes{memory: make([]float32, 6*n+scratch+8*guardLen)}
	for i := range h.memory {
		h.memory[i] = guardValue
	}
	h.guard = make([]bool, len(h.memory))
	at := 0
	allocate := func(size int) []float32 {
		for i := range guardLen {
			h.guard[at+i] = true
		}
		at += guardLen + size
		return h.memory[at-size : at : at]
	}
	h.points = field.Planes{X: allocate(n), Y: allocate(n), Z: allocate(n)}
	h.out = field.Planes{X: allocate(n), Y: allocate(n), Z: allocate(n)}
	h.scratch = allocate(scratch)
	allocate(0)
	return h
}

// fill writes points and an earlier sum to the planes.
func (h *guardedPlanes) fill(rng *rand.Rand, values []float32) {
	for _, plane := range [][]float32{h.points.X, h.points.Y, h.points.Z, h.out.X, h.out.Y, h.out.Z} {
		for i := range plane {
			plane[i] = float32(rng.Float32()*16) - 6
			if rng.IntN(4) == 0 {
				plane[i] = values[rng.IntN(len(values))]
			}
		}
	}
	for i := range h.scratch {
		h.scratch[i] = float32(math.NaN())
	}
	h.before = append([]float32(nil), h.memory...)
}

// requireGuards checks that only out and scratch have changed.
func (h *guardedPlanes) requireGuards(t *testing.T) {
	n := len(h.points.X)
	for i, v := range h.memory {
		isPoint := i < 4*guardLen+3*n
		if (h.guard[i] || isPoint) && math.Float32bits(v) != math.Float32bits(h.before[i]) {
			require.Failf(t, "memory outside of out and scratch has changed", "float %d", i)
		}
	}
}

// vectorTooLarge reports whether the text was rejected for its size alone.
func vectorTooLarge(err error) bool {
	return strings.Contains(err.Error(), "numbers to remember") || strings.Contains(err.Error(), "instructions")
}

// TestVectorOracle: random effects over all lengths of the last block and the worst
// float values.
func TestVectorOracle(t *testing.T) {
	racetest.SkipSequential(t)
	seeds := uint64(1_500)
	if testing.Short() {
		seeds = 200
	}
	compiled := 0
	for seed := range seeds {
		text := newVectorGenerator(seed, "").text()
		p, err := field.Compile(text)
		if err != nil {
			require.True(t, vectorTooLarge(err), "%v\n%s", err, text)
			continue
		}
		compiled++
		n := int(seed % 131)
		h := newGuardedPlanes(n, p.Scratch())
		h.fill(rand.New(rand.NewPCG(seed, 1)), awkward())
		first := field.Planes{X: append([]float32(nil), h.out.X...), Y: append([]float32(nil), h.out.Y...), Z: append([]float32(nil), h.out.Z...)}
		time := 1.25
		if seed%2 == 1 {
			time += 365 * 24 * 3600
		}
		require.NoError(t, p.Evaluate(h.points, h.out, field.Env{Time: time}, h.scratch))
		h.requireGuards(t)
		for i := range n {
			point := [3]float32{h.points.X[i], h.points.Y[i], h.points.Z[i]}
			before := [3]float32{first.X[i], first.Y[i], first.Z[i]}
			want := vectorInterpret(text, point, time, before)
			got := [3]float32{h.out.X[i], h.out.Y[i], h.out.Z[i]}
			for lane := range 3 {
				if math.Float32bits(want[lane]) != math.Float32bits(got[lane]) {
					require.Failf(t, "the machine is not the oracle", "seed %d, point %d of %d, %v onto %v: want %v, got %v\n%s\n%v", seed, i, n, point, before, want, got, text, p)
				}
			}
		}
	}
	require.Greater(t, compiled, int(seeds)*3/4)
}

// TestVectorNeutral: omitting an operation changes no bit. Dividing by the result
// distinguishes the zeros.
func TestVectorNeutral(t *testing.T) {
	for _, operation := range []string{"add", "sub", "mul", "div", "min", "max"} {
		for _, literal := range []string{"0", "-0", "1", "-1"} {
			for _, operands := range []string{"position, " + literal, literal + ", position"} {
				text := "a = " + operation + " " + operands + "\na = div 1, a\noutput = add output, a\n"
				p := must.Get(field.Compile(text))
				values := awkward()
				points, out := field.Planes{X: values, Y: values, Z: values}, planes(len(values))
				require.NoError(t, p.Evaluate(points, out, field.Env{}, make([]float32, p.Scratch())))
				for i, v := range values {
					want := vectorInterpret(text, [3]float32{v, v, v}, 0, [3]float32{})
					require.Equal(t, math.Float32bits(want[0]), math.Float32bits(out.X[i]), "%v\n%s", v, text)
				}
			}
		}
	}
}

// TestVectorSum: consecutive effects equal their concatenated texts unless an
// intermediate sum is NaN, which an effect's end turns into 0.
func TestVectorSum(t *testing.T) {
	racetest.SkipSequential(t)
	compared := 0
	for seed := range uint64(300) {
		a, b := newVectorGenerator(2*seed, "a"), newVectorGenerator(2*seed+1, "b")
		both, err := field.Compile(a.header.String() + b.header.String() + a.body.String() + b.body.String())
		if err != nil {
			require.True(t, vectorTooLarge(err), "%v", err)
			continue
		}
		one := must.Get(field.Compile(a.text()))
		two := must.Get(field.Compile(b.text()))
		points, first, together, apart := somePoints(70), planes(70), planes(70), planes(70)
		scratch := make([]float32, field.MaxScratch)
		for _, e := range []struct {
			p   *field.Program
			out field.Planes
		}{{one, first}, {one, apart}, {two, apart}, {both, together}} {
			require.NoError(t, e.p.Evaluate(points, e.out, field.Env{Time: -3}, scratch))
		}
		lanes := func(p field.Planes, i int) []uint32 {
			return []uint32{math.Float32bits(p.X[i]), math.Float32bits(p.Y[i]), math.Float32bits(p.Z[i])}
		}
		for i := range 70 {
			point := [3]float32{points.X[i], points.Y[i], points.Z[i]}
			if raw := vectorRawSum(a.text(), point, -3); raw[0] != raw[0] || raw[1] != raw[1] || raw[2] != raw[2] {
				continue
			}
			compared++
			require.Equal(t, lanes(apart, i), lanes(together, i), "seed %d, point %v", seed, point)
		}
	}
	require.Greater(t, compared, 5_000)
}

// vectorRawSum is the effect's sum, including NaN.
func vectorRawSum(text string, point [3]float32, time float64) [3]float32 {
	marked := vectorInterpret(text, point, time, [3]float32{})
	again := vectorInterpret(text, point, time, [3]float32{1, 1, 1})
	for i := range marked {
		if marked[i] == 0 && again[i] == 0 { // 1 + 0 would be 1
			marked[i] = float32(math.NaN())
		}
	}
	return marked
}
