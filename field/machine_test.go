package field

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// pageMachine runs a compiled effect as PROGRAM.md says, one point at a time. It is written from
// that page alone, and misreads the rule wrong.
type pageMachine struct {
	wrong    string
	params   []pageParam
	literals []float32
	code     [][]byte // instructions
	time     float64
	planes   [38]pageValue
	added    [3]bool // lanes of the output to which an instruction has added
}

type pageParam struct {
	number bool
	lanes  [4]float32
}

// pageValue is a float32, or a float64 if it is timed.
type pageValue struct {
	f              float64
	uniform, timed bool
}

func (m *pageMachine) is(wrong string) bool { return m.wrong == wrong }

func newPageMachine(wrong string, b []byte) *pageMachine {
	m := &pageMachine{wrong: wrong}
	take := func(n int) []byte {
		taken := b[:n]
		b = b[n:]
		return taken
	}
	float := func() float32 { return math.Float32frombits(binary.LittleEndian.Uint32(take(4))) }
	head := take(14)
	version, boxed, params := head[4], head[5]&1 == 1, int(head[7])
	counts := [3]int{}
	for i := range counts {
		counts[i] = int(binary.LittleEndian.Uint16(head[8+2*i:]))
	}
	take(int(head[6])) // name
	for range params {
		take(int(take(1)[0]))
		p, kind := pageParam{}, byte(0)
		if version >= 2 {
			kind = take(1)[0]
		}
		p.number = kind&1 == 1
		for i := range p.lanes {
			p.lanes[i] = float()
		}
		if kind&2 == 2 {
			take(8)
		}
		m.params = append(m.params, p)
	}
	if boxed {
		take(24)
	}
	for range counts[0] {
		m.literals = append(m.literals, float())
	}
	for range counts[2] {
		m.code = append(m.code, take(8))
	}
	return m
}

// run returns the output at a point, whose lanes begin as -0.
func (m *pageMachine) run(point [3]float32) (out [3]float32) {
	m.added = [3]bool{}
	for i, x := range point {
		m.planes[32+i] = pageValue{f: float64(x)}
		m.planes[35+i] = pageValue{f: math.Copysign(0, -1)}
	}
	for _, in := range m.code {
		if in[0] == 1 {
			break
		}
		m.execute(in)
	}
	for i := range out {
		if x := m.planes[35+i].f; x == x || !m.added[i] || m.is("NaN stays in the output") {
			out[i] = float32(x)
		}
	}
	return out
}

func (m *pageMachine) execute(in []byte) {
	to := in[1]
	if to >= 35 {
		m.added[to-35] = true
	}
	if in[0] == 2 {
		m.planes[to] = m.uniform(binary.LittleEndian.Uint16(in[6:]))
		return
	}
	result, operands := pageValue{uniform: true}, [4]float64{}
	count := pageOperands[in[0]]
	for i, plane := range in[2 : 2+count] {
		v := m.planes[plane]
		result.uniform, result.timed = result.uniform && v.uniform, result.timed || v.timed
		operands[i] = v.f
	}
	result.timed = result.timed && result.uniform && !m.is("timed values are rounded at once")
	if result.timed {
		result.f = m.timed(in[0], operands)
	} else {
		var f [4]float32
		for i, x := range operands {
			f[i] = float32(x)
		}
		result.f = float64(m.compute(in[0], f[0], f[1], f[2], f[3]))
	}
	m.planes[to] = result
}

// pageOperands is the number of operands by operation.
var pageOperands = [22]int{3: 2, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3, 9: 2, 10: 2, 11: 1, 12: 1, 13: 1, 14: 1, 15: 1, 16: 1, 17: 1, 18: 4, 19: 4, 20: 1, 21: 3}

func (m *pageMachine) uniform(n uint16) pageValue {
	switch k := int(n) - 1; {
	case k < 0 && m.is("time is a float32"):
		return pageValue{float64(float32(m.time)), true, true}
	case k < 0:
		return pageValue{m.time, true, true}
	case k < 4*len(m.params):
		return pageValue{float64(m.params[k/4].lanes[k%4]), true, false}
	default:
		return pageValue{float64(m.literals[k-4*len(m.params)]), true, false}
	}
}

// timed is an operation whose result is timed.
func (m *pageMachine) timed(op byte, v [4]float64) float64 {
	a, b, c := v[0], v[1], v[2]
	switch op {
	case 3:
		return a + b
	case 4:
		return a - b
	case 5:
		return a * b
	case 6:
		return a / b
	case 7:
		if m.is("mad of time is fused") {
			return math.FMA(a, b, c)
		}
		product := a * b
		return float64(product) + c
	case 8:
		if m.is("nmad of time is fused") {
			return math.FMA(-a, b, c)
		}
		product := a * b
		return c - float64(product)
	case 11:
		return math.Abs(a)
	case 12:
		return -a
	case 13:
		return math.Floor(a)
	case 14:
		return math.Sqrt(a)
	case 16:
		if !m.is("sin of time keeps whole turns") {
			a -= math.Floor(a + 0.5)
		}
	case 9, 10, 17, 18, 19:
		return choose(m, op, a, b, c, v[3])
	}
	return float64(m.compute(op, float32(a), float32(b), float32(c), float32(v[3])))
}

// compute is an operation on float32s.
func (m *pageMachine) compute(op byte, a, b, c, d float32) float32 {
	switch op {
	case 3:
		return m.rounded(a + b)
	case 4:
		return m.rounded(a - b)
	case 5:
		return m.rounded(a * b)
	case 6:
		if m.is("div is a product with the inverse") {
			inverse := 1 / b
			return a * inverse
		}
		return a / b
	case 7:
		return m.fused(a, b, c)
	case 8:
		if m.is("nmad is the product less c") {
			return m.fused(a, b, -c)
		}
		return m.fused(-a, b, c)
	case 11:
		return math.Float32frombits(math.Float32bits(a) &^ (1 << 31))
	case 12:
		if m.is("neg is 0 - a") {
			return 0 - a
		}
		return -a
	case 13:
		if m.is("floor cuts") {
			return float32(math.Trunc(float64(a)))
		}
		return float32(math.Floor(float64(a)))
	case 14:
		return float32(math.Sqrt(float64(a)))
	case 15:
		return m.rsqrt(a)
	case 16:
		return m.sin(a)
	case 20:
		return m.exp2(a)
	case 21:
		return m.hash(a, b, c)
	}
	return choose(m, op, a, b, c, d)
}

// choose is an operation that returns one of its operands.
func choose[F float32 | float64](m *pageMachine, op byte, a, b, c, d F) F {
	zeros := a == 0 && b == 0
	switch {
	case op == 9 && zeros && m.is("min gives -0 of both zeros"):
		return -max(-a, -b)
	case op == 10 && zeros && m.is("max gives +0 of both zeros"):
		return max(a, b)
	case op == 9 && (a != a || b != b) && m.is("min of NaN is NaN"), op == 10 && (a != a || b != b) && m.is("max of NaN is NaN"):
		return a + b
	case op == 9 && a < b, op == 10 && a > b:
		return a
	case op == 9, op == 10:
		return b
	case op == 17 && a != a && m.is("saturate of NaN is NaN"):
		return a
	case op == 17:
		return choose(m, 9, choose(m, 10, a, 0, 0, 0), 1, 0, 0)
	case op == 18 && (a < b || a == b && m.is("select_lt takes equal operands")), op == 19 && (a >= b || !(a < b) && m.is("select_ge is not less")):
		return c
	}
	return d
}

func (m *pageMachine) rounded(x float32) float32 {
	if m.is("subnormal numbers are 0") && math.Abs(float64(x)) < 0x1p-126 {
		return 0
	}
	return x
}

// fused is IEEE fusedMultiplyAdd: the product is exact in float64, and the sum is rounded to
// odd before it is rounded to float32.
func (m *pageMachine) fused(a, b, c float32) float32 {
	if m.is("mad is rounded twice") {
		product := a * b
		return float32(product) + c
	}
	p, x := float64(a)*float64(b), float64(c)
	s := p + x
	if m.is("mad is rounded to float64 first") || math.IsInf(s, 0) || s != s {
		return float32(s)
	}
	v := s - p
	rest := (p - (s - v)) + (x - v)
	bits := math.Float64bits(s)
	switch {
	case rest == 0 || bits&1 == 1:
	case (rest > 0) == (s > 0):
		bits++
	default:
		bits--
	}
	return m.rounded(float32(math.Float64frombits(bits)))
}

func (m *pageMachine) rsqrt(a float32) float32 {
	x := choose(m, 10, a, 1e-12, 0, 0)
	if m.is("rsqrt is exact") {
		return float32(1 / math.Sqrt(float64(x)))
	}
	h := x * 0.5023863
	y := math.Float32frombits(0x5f370000 - math.Float32bits(x)>>1)
	for _, k := range []float32{1.5016537, 1.5023831} {
		y *= m.fused(-h, y*y, k)
	}
	return y
}

func (m *pageMachine) sin(a float32) float32 {
	if m.is("sin is exact") {
		return float32(math.Sin(2 * math.Pi * float64(a)))
	}
	turns := a + 12582912
	turns -= 12582912
	q := a - turns
	v := choose(m, 10, 0, 0.25-m.compute(11, m.compute(11, q, 0, 0, 0)-0.25, 0, 0, 0), 0, 0)
	sum := polynomial(m, v*v, 39.53671, -76.54978, 81.601006, -41.341656, 6.283185) * v
	return math.Float32frombits(math.Float32bits(sum)&^(1<<31) | math.Float32bits(q)&(1<<31))
}

// polynomial returns a polynomial in x, by mad, whose first coefficient belongs to the highest power.
func polynomial(m *pageMachine, x float32, coefficients ...float32) (sum float32) {
	sum = coefficients[0]
	for _, c := range coefficients[1:] {
		sum = m.fused(sum, x, c)
	}
	return sum
}

func (m *pageMachine) exp2(a float32) float32 {
	switch {
	case m.is("exp2 is exact"):
		return float32(math.Exp2(float64(a)))
	case a >= 128:
		return float32(math.Inf(1))
	case a != a || a < -126 && !m.is("exp2 has subnormal results"):
		return 0
	}
	t := a + 12582912
	f := a - (t - 12582912)
	sum := polynomial(m, f, 0.0013264727, 0.009671513, 0.055507336, 0.24022242, 0.693147, 1)
	return math.Float32frombits(math.Float32bits(sum) + math.Float32bits(t)<<23)
}

func (m *pageMachine) hash(a, b, c float32) float32 {
	u := func(x float32) uint32 {
		if !m.is("hash tells NaNs apart") {
			x = choose(m, 10, x, float32(math.Inf(-1)), 0, 0)
		}
		if !m.is("hash tells zeros apart") {
			x += 0
		}
		bits := math.Float32bits(x)
		return bits ^ bits>>15
	}
	h := u(a)*0x9e3779b1 + u(b)*0x85ebca77 + u(c)*0xc2b2ae3d
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= h >> 16
	return float32(h>>8) / (1 << 24)
}

// changes reports whether the effect changes with time.
func (m *pageMachine) changes() bool {
	const steady, zero, changing = 0, 1, 2
	var flow [38]int
	product := func(a, b int) int {
		if (a == zero || b == zero) && !m.is("a factor of 0 does not rule time out") {
			return zero
		}
		return max(a, b) &^ 1
	}
	sum := func(a, b int) int {
		if a == zero && b == zero {
			return zero
		}
		return max(a, b) &^ 1
	}
	for _, in := range m.code {
		a, b, c, result := flow[in[2]], flow[in[3]], flow[in[4]], steady
		switch in[0] {
		case 1:
			return false
		case 2:
			v := m.uniform(binary.LittleEndian.Uint16(in[6:]))
			switch {
			case v.timed:
				result = changing
			case v.f == 0:
				result = zero
			}
		case 3, 4:
			result = sum(a, b)
		case 5:
			result = product(a, b)
		case 7, 8:
			result = sum(product(a, b), c)
		default:
			for _, plane := range in[2 : 2+pageOperands[in[0]]] {
				result = max(result, flow[plane]&^1)
			}
		}
		if in[1] >= 35 && result == changing {
			return true
		}
		if in[1] < 32 {
			flow[in[1]] = result
		}
	}
	return false
}

// read returns the results of a vector.
func (v *vectorOfField) read(wrong string) (sum string, changes bool) {
	m := newPageMachine(wrong, must.Get(hex.DecodeString(v.Program)))
	m.time = math.Float64frombits(must.Get(strconv.ParseUint(v.Time, 16, 64)))
	for i := 0; i < len(v.Params); i += 8 {
		bits := must.Get(strconv.ParseUint(v.Params[i:i+8], 16, 32))
		m.params[i/32].lanes[i/8%4] = math.Float32frombits(uint32(bits))
	}
	h, numbers := fnv.New64a(), v.numbers(3*v.Points)
	for ; len(numbers) > 0; numbers = numbers[3:] {
		for _, x := range m.run([3]float32(numbers)) {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
	}
	return fmt.Sprintf("%016x", h.Sum64()), m.changes()
}

// misreadings are the wrong machines that some vector must fail.
var misreadings = []string{
	"mad is rounded twice", "mad is rounded to float64 first", "mad of time is fused", "nmad of time is fused", "nmad is the product less c",
	"min gives -0 of both zeros", "max gives +0 of both zeros", "min of NaN is NaN", "max of NaN is NaN", "saturate of NaN is NaN",
	"select_lt takes equal operands", "select_ge is not less", "div is a product with the inverse", "neg is 0 - a", "floor cuts",
	"subnormal numbers are 0", "rsqrt is exact", "sin is exact", "exp2 is exact", "exp2 has subnormal results",
	"hash tells NaNs apart", "hash tells zeros apart", "time is a float32", "timed values are rounded at once",
	"sin of time keeps whole turns", "NaN stays in the output", "a factor of 0 does not rule time out",
}

// The machine of PROGRAM.md gets every vector right, and each misreading gets some wrong.
func TestVectorsRejectMisreadings(t *testing.T) {
	racetest.SkipSequential(t)
	var all []vectorOfField
	file := must.Get(os.ReadFile(vectorsFile))
	for line := range bytes.Lines(file) {
		var v vectorOfField
		require.NoError(t, json.Unmarshal(line, &v))
		all = append(all, v)
	}
	fails := func(v vectorOfField, wrong string) bool {
		sum, changes := v.read(wrong)
		return sum != v.Sum || changes != v.Changes
	}
	for _, v := range all {
		require.False(t, fails(v, ""), "%s, %s", v.Name, v.Numbers)
	}
	for _, wrong := range misreadings {
		i := slices.IndexFunc(all, func(v vectorOfField) bool { return fails(v, wrong) })
		if i < 0 {
			t.Errorf("no vector fails: %s", wrong)
			continue
		}
		t.Logf("%-40s %s, %s", wrong, all[i].Name, all[i].Numbers)
	}
}
