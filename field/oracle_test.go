package field

import (
	"math"
	"strconv"
	"strings"

	"github.com/worldd/worldd/internal/must"
)

// An oracle interprets an effect's text line by line at one point, with four
// numbers per name, following LANGUAGE.md. It shares nothing with the compiler
// or the machine.
type oracle struct {
	names map[string]oracleTerm
	out   [3]float32
	added [3]bool // lanes of out to which an effect has added
}

// oracle adds the effect at one point to out.
func oracleAt(text string, point [3]float32, time float64, out [3]float32) [3]float32 {
	o := oracle{names: map[string]oracleTerm{
		"position": {lanes: [4]float32{point[0], point[1], point[2], 0}, fixed: [4]bool{3: true}, size: oracleGiven},
		"time":     oracleSingle(oracleTimed(time), oracleGiven),
	}, out: out}
	of := &oracleNode{point: true}
	at := o.names["position"]
	at.nodes = [4]*oracleNode{of, of, of, nil}
	o.names["position"] = at
	for row := range strings.SplitSeq(text, "\n") {
		target, right, assigns := strings.Cut(row, " = ")
		name, isParam := strings.CutPrefix(target, "param ")
		switch {
		case isParam:
			o.names[name] = oracleTerm{lanes: o.operand(right).lanes, size: oracleGiven}
			if right[0] != '(' {
				o.names[name] = oracleSingle(oracleScalar{f: o.operand(right).lanes[0]}, oracleGiven)
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

func (o *oracle) assign(target, right string) {
	operation, rest, _ := strings.Cut(right, " ")
	var v [4]oracleTerm
	at := -1 // index of the operand that is the output
	for i, s := range oracleSplit(rest) {
		if s == target && strings.HasPrefix(s, "output") {
			at = i
			v[i].lanes = [4]float32{o.out[0], o.out[1], o.out[2], 0}
			continue
		}
		v[i] = o.operand(s)
	}
	base, lane := oraclePick(target)
	if at < 0 {
		result := oracleApply(operation, v)
		if old := o.names[base]; lane >= 0 {
			old.setLane(lane, result.lane(lane))
			result = oracleTerm{lanes: old.lanes, fixed: old.fixed, nodes: old.nodes, size: math.Max(old.size, result.size)}
		}
		o.names[base] = result
		return
	}
	result, added := oracleAdd(operation, v)
	for i := range o.out {
		if (lane < 0 || lane == i) && added[i] {
			o.out[i], o.added[i] = result[i], true
		}
	}
}

// oracleSplit splits at commas outside of vectors.
func oracleSplit(s string) []string {
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

func oraclePick(name string) (base string, lane int) {
	base, after, found := strings.Cut(name, ".")
	if !found {
		return base, -1
	}
	return base, strings.Index("xyzw", after)
}

func (o *oracle) operand(s string) oracleTerm {
	number := func(s string) float32 {
		f := must.Get(strconv.ParseFloat(strings.TrimSpace(s), 32))
		return float32(f)
	}
	switch c := s[0]; {
	case c == '(':
		var v [4]float32
		for i, part := range strings.Split(strings.Trim(s, "()"), ",") {
			v[i] = number(part)
		}
		return oracleWritten(v)
	case strings.IndexByte("+-.0123456789", c) >= 0:
		f := number(s)
		return oracleWritten([4]float32{f, f, f, f})
	}
	base, lane := oraclePick(s)
	v, ok := o.names[base]
	if !ok {
		panic("the test made a text that does not know " + base)
	}
	if lane >= 0 {
		v = oracleSingle(v.lane(lane), v.size)
	}
	return v
}

func oracleNumber(operation string, a, b, c, d float32) float32 {
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
		return oracleOnceFMA(a, b, c)
	case "nmad":
		return oracleOnceFMA(-a, b, c)
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
		return oracleInverseRoot(a)
	case "sin":
		return oracleSine(a)
	case "saturate":
		return oracleClamp(a)
	case "smooth":
		s := oracleClamp(a)
		return float32(float32(s*s) * oracleOnceFMA(-s, 2, 3))
	case "exp2":
		return oraclePower(a)
	case "hash":
		return oracleHash(a, b, c)
	case "select_lt":
		return choose(a < b, c, d)
	case "select_ge":
		return choose(a >= b, c, d)
	}
	panic("the test made a text with the operation " + operation)
}

func oracleClamp(a float32) float32 {
	switch {
	case a >= 1:
		return 1
	case a > 0:
		return a
	}
	return 0 // NaN too
}

// oracleOnceFMA rounds once: if the neighbourhood of the float64 sum rounds to one
// float32, that is the result; otherwise exactFMA decides.
func oracleOnceFMA(a, b, c float32) float32 {
	s := math.FMA(float64(a), float64(b), float64(c))
	below, above := float32(math.Nextafter(s, math.Inf(-1))), float32(math.Nextafter(s, math.Inf(1)))
	if s != 0 && below == above {
		return below
	}
	return exactFMA(a, b, c)
}

func oracleInverseRoot(a float32) float32 {
	x := float32(1e-12)
	if a > x {
		x = a
	}
	h := float32(x * 0.5023863)
	y := math.Float32frombits(0x5f370000 - math.Float32bits(x)/2)
	for _, k := range []float32{1.5016537, 1.5023831} {
		y = float32(y * oracleOnceFMA(-h, float32(y*y), k))
	}
	return y
}

func oracleSine(t float32) float32 {
	q := t - ((t + 12582912) - 12582912)
	v := 0.25 - float32(math.Abs(float64(float32(math.Abs(float64(q)))-0.25)))
	if !(v > 0) && v == v {
		v = 0
	} else if v != v {
		return v
	}
	p := float32(39.53671)
	for _, k := range []float32{-76.54978, 81.601006, -41.341656, 6.283185} {
		p = oracleOnceFMA(p, float32(v*v), k)
	}
	p = float32(p * v)
	if math.Signbit(float64(q)) {
		return -p
	}
	return p
}

// oraclePower is 2^a, with the integer part by doubling and halving.
func oraclePower(a float32) float32 {
	if a != a || a < -126 {
		return 0
	}
	if a > 128 {
		a = 128
	}
	whole := math.RoundToEven(float64(a))
	rest, p := float32(float64(a)-whole), float32(0.0013264727)
	for _, k := range []float32{0.009671513, 0.055507336, 0.24022242, 0.693147, 1} {
		p = oracleOnceFMA(p, rest, k)
	}
	for ; whole > 0; whole-- {
		p *= 2
	}
	for ; whole < 0; whole++ {
		p /= 2
	}
	return p
}

func oracleHash(numbers ...float32) float32 {
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

var oracleOperandCounts = map[string]int{
	"mov": 1, "add": 2, "sub": 2, "mul": 2, "div": 2, "mad": 3, "nmad": 3, "min": 2, "max": 2, "abs": 1, "neg": 1, "floor": 1,
	"sqrt": 1, "rsqrt": 1, "sin": 1, "exp2": 1, "hash": 3, "saturate": 1, "smooth": 1, "dot": 2, "cross": 2, "length": 1, "normalize": 1,
	"select_lt": 4, "select_ge": 4,
}
