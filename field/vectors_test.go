package field

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// The vectors test implementations in other languages.
const (
	vectorsFile  = "testdata/vectors.jsonl"
	rejectedFile = "testdata/rejected.jsonl"
)

var vectorsUpdate = flag.Bool("vectors.update", false, "write "+vectorsFile+" and "+rejectedFile)

// vectorOfField is a line of vectorsFile; testdata/README.md has the format.
type vectorOfField struct {
	Name    string
	Program string // portable form
	Time    string // bits of the float64
	Params  string `json:",omitempty"` // bits of four lanes of each parameter; none for the defaults
	Numbers string
	Seed    uint32
	Points  int
	Sum     string
	First   []string
	Changes bool `json:",omitempty"`
}

var hardNumbers = [16]uint32{
	0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
	0xff800000, 0x7fc00000, 0xffc12345, 0x3f800000, 0xbf800000, 0x4b400000, 0x42fe0000, 0x2b8cbccc,
}

var tieExponents = [16]int{-12, -12, -12, -12, -11, -13, -25, -36, -37, -24, -48, -65, -90, -138, -149, 20}

// numbers returns the first n numbers of the stream.
func (v *vectorOfField) numbers(n int) []float32 {
	all, w := make([]float32, n), v.Seed
	for i := range all {
		w ^= w << 13
		w ^= w >> 17
		w ^= w << 5
		switch grid := float32(int32(w)>>8) / 65536; {
		case v.Numbers == "bits":
			all[i] = math.Float32frombits(w)
		case v.Numbers == "ties":
			all[i] = float32(math.Ldexp(float64(4096+w&4095), tieExponents[w>>12&15]))
			if w>>31 != 0 {
				all[i] = -all[i]
			}
		case v.Numbers == "hard" && w&3 != 0:
			all[i] = math.Float32frombits(hardNumbers[w>>8&15])
		default:
			all[i] = grid
		}
	}
	return all
}

func hexBits(f ...float32) (text string) {
	for _, x := range f {
		text += fmt.Sprintf("%08x", math.Float32bits(x))
	}
	return text
}

// evaluate sets the results of p.
func (v *vectorOfField) evaluate(t testing.TB, p *Program, env Env) {
	code := must.Get(p.MarshalBinary())
	v.Program, v.Time, v.Changes = hex.EncodeToString(code), fmt.Sprintf("%016x", math.Float64bits(env.Time)), p.ChangesWithTime(env.Params)
	for _, q := range env.Params {
		v.Params += hexBits(q[:]...)
	}
	v.sum(t, p, env)
}

// sum sets Sum and First to the results of p.
func (v *vectorOfField) sum(t testing.TB, p *Program, env Env) {
	var points, out Planes
	for i, x := range v.numbers(3 * v.Points) {
		to, sum := []*[]float32{&points.X, &points.Y, &points.Z}[i%3], []*[]float32{&out.X, &out.Y, &out.Z}[i%3]
		*to, *sum = append(*to, x), append(*sum, neg32(0))
	}
	require.NoError(t, p.Evaluate(points, out, env, make([]float32, p.Scratch())))
	h := fnv.New64a()
	for i := range out.X {
		x, y, z := math.Float32bits(out.X[i]), math.Float32bits(out.Y[i]), math.Float32bits(out.Z[i])
		for _, u := range []uint32{x, y, z} {
			h.Write([]byte{byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)})
		}
		if i < 3 {
			v.First = append(v.First, fmt.Sprintf("%08x%08x%08x", x, y, z))
		}
	}
	v.Sum = fmt.Sprintf("%016x", h.Sum64())
}

// ofOperation returns a program that outputs the result r of an operation on the lanes of
// the position, a hash of r (which distinguishes NaN), and a product of r.
func ofOperation(o Opcode) *Program {
	const x, y, z = planePosition, planePosition + 1, planePosition + 2
	in := instruction{op: o}
	copy(in.operands[:o.operands()], []uint8{x, y, z, x})
	return (&Program{code: []instruction{
		in,
		{op: opAdd, to: planeOutput, operands: [4]uint8{planeOutput, 0}},
		{op: opHash, to: 1, operands: [4]uint8{0, 0, 0}},
		{op: opAdd, to: planeOutput + 1, operands: [4]uint8{planeOutput + 1, 1}},
		{op: opMad, to: planeOutput + 2, operands: [4]uint8{0, y, planeOutput + 2}},
		{op: opEnd},
	}}).seal()
}

// ofTimedOperation returns a program that applies an operation to time: it shows the result r,
// its fraction, and a product of it with the point.
func ofTimedOperation(o Opcode) *Program {
	const time, seventh, r, rest = 0, 1, 2, 3
	in := instruction{op: o, to: r}
	copy(in.operands[:o.operands()], []uint8{time, seventh, time, seventh})
	return (&Program{literals: []float32{1.0 / 7}, code: []instruction{
		{op: opLoad, to: time},
		{op: opLoad, to: seventh, uniform: uniformParams},
		in,
		{op: opAdd, to: planeOutput, operands: [4]uint8{planeOutput, r}},
		{op: opFloor, to: rest, operands: [4]uint8{r}},
		{op: opSub, to: rest, operands: [4]uint8{r, rest}},
		{op: opAdd, to: planeOutput + 1, operands: [4]uint8{planeOutput + 1, rest}},
		{op: opMad, to: planeOutput + 2, operands: [4]uint8{r, planePosition, planeOutput + 2}},
		{op: opEnd},
	}}).seal()
}

// timedRounding returns a program that takes products of time, rounded, from mad and nmad of the
// same factors: the output is 0, unless these are fused.
func timedRounding() *Program {
	const time, seventh, product, minus = 0, 1, 2, 3
	return (&Program{literals: []float32{1.0 / 7}, code: []instruction{
		{op: opLoad, to: time},
		{op: opLoad, to: seventh, uniform: uniformParams},
		{op: opMul, to: product, operands: [4]uint8{time, seventh}},
		{op: opNeg, to: minus, operands: [4]uint8{product}},
		{op: opMad, to: minus, operands: [4]uint8{time, seventh, minus}},
		{op: opNmad, to: product, operands: [4]uint8{time, seventh, product}},
		{op: opAdd, to: planeOutput, operands: [4]uint8{planeOutput, minus}},
		{op: opAdd, to: planeOutput + 1, operands: [4]uint8{planeOutput + 1, product}},
		{op: opEnd},
	}}).seal()
}

func vectorsOfField(t testing.TB) (all []*vectorOfField) {
	add := func(p *Program, env Env, v vectorOfField) {
		require.NoError(t, p.verify())
		v.Seed = 0x9e3779b1 * uint32(len(all)+1)
		v.evaluate(t, p, env)
		all = append(all, &v)
	}
	for o := opAdd; o < opcodes; o++ {
		for _, numbers := range []string{"bits", "grid", "hard", "ties"} {
			n := 1024
			if o == opMad || o == opNmad {
				n = 8192
			}
			add(ofOperation(o), Env{}, vectorOfField{Name: o.String(), Numbers: numbers, Points: n})
		}
	}
	const year = 365 * 24 * 3600
	for o := opAdd; o < opcodes; o++ {
		for _, time := range []float64{0.7, year + 17.0/60, -year - 1e-4} {
			add(ofTimedOperation(o), Env{Time: time}, vectorOfField{Name: "timed " + o.String(), Numbers: "grid", Points: 4})
		}
	}
	for _, name := range ShippedNames() {
		text, _ := Shipped(name)
		p := must.Get(Compile(text))
		add(p, Env{Time: 1.375}, vectorOfField{Name: name, Numbers: "grid", Points: 4096})
		add(p, Env{Time: year + 1.0/3}, vectorOfField{Name: name, Numbers: "grid", Points: 512})
		add(p, Env{Time: 0.25}, vectorOfField{Name: name, Numbers: "hard", Points: 512})
	}
	for seed := range uint64(24) {
		p := must.Get(Compile(randomText(rand.New(rand.NewPCG(seed, 41)), 14)))
		env := Env{Time: float64(seed) * 0.37, Params: []Vec4{{float32(seed) / 3, -1, 1e-40, 2}, {5, 5, 5, 5}}}
		if seed%3 == 0 {
			env.Params = nil
		}
		add(p, env, vectorOfField{Name: fmt.Sprintf("random %d", seed), Numbers: []string{"grid", "hard", "bits"}[seed/8], Points: 600})
	}
	for i, c := range changeCases {
		p := must.Get(Compile(c.text + "\n"))
		add(p, Env{Time: 0.5, Params: c.params}, vectorOfField{Name: fmt.Sprintf("change %d", i), Numbers: "grid", Points: 8})
	}
	add(timedRounding(), Env{Time: year + 1.0/3}, vectorOfField{Name: "timed rounding", Numbers: "grid", Points: 1})
	return all
}

// rejection is a line of rejectedFile.
type rejection struct {
	Base  string `json:",omitempty"`
	At    int    `json:",omitempty"`
	Byte  byte   `json:",omitempty"`
	Cut   int    `json:",omitempty"`
	Error string
}

func rejections() (all []rejection) {
	boxed, idle := small(), small()
	boxed.boxed, boxed.box = true, Box{[3]float32{-1, -2, -3}, [3]float32{1, 2, 3}}
	idle.code[2].to, idle.code[2].operands[0] = 2, 1
	two := small2()
	two.params[0].Name = "r"
	for _, p := range []*Program{small(), boxed, idle, two} {
		good := p.encode()
		load := func(r rejection, b []byte) {
			if _, err := Load(b); err != nil {
				r.Error = err.Error()
			}
			all = append(all, r)
		}
		load(rejection{Base: hex.EncodeToString(good)}, good)
		for at, was := range good {
			for _, value := range []byte{0, 1, 2, 3, 5, 20, 22, 33, 36, 38, 'r', 0x7f, 0xff, was ^ 0x80, was + 1} {
				if value != was && (at+int(value))%3 == 0 {
					b := bytes.Clone(good)
					b[at] = value
					load(rejection{At: at, Byte: value}, b)
				}
			}
			if at > 0 && at%5 == 0 {
				load(rejection{Cut: at}, good[:at])
			}
		}
		load(rejection{Base: hex.EncodeToString(append(good, 0))}, append(good, 0))
	}
	return all
}

func lines[T any](values []T) []byte {
	var file bytes.Buffer
	for _, v := range values {
		line := must.Get(json.Marshal(v))
		file.Write(append(line, '\n'))
	}
	return file.Bytes()
}

// The vectors in testdata agree with this package.
func TestVectorsAreCurrent(t *testing.T) {
	for name, want := range map[string][]byte{vectorsFile: lines(vectorsOfField(t)), rejectedFile: lines(rejections())} {
		if *vectorsUpdate {
			require.NoError(t, os.WriteFile(name, want, 0o644))
		}
		have := must.Get(os.ReadFile(name))
		require.True(t, bytes.Equal(have, want), "%s: write it with -vectors.update", name)
		require.Less(t, len(have), 200_000, name)
	}
}

// The vectors have each operation, and enough points.
func TestVectorsSuffice(t *testing.T) {
	points, seen := 0, map[Opcode]bool{}
	for _, v := range vectorsOfField(t) {
		code := must.Get(hex.DecodeString(v.Program))
		p := must.Get(Load(code))
		for _, in := range p.code {
			seen[in.op] = true
		}
		points += v.Points
	}
	require.Len(t, seen, int(opcodes)-1)
	require.GreaterOrEqual(t, points, 100_000)
	reasons := map[string]bool{}
	for _, r := range rejections() {
		reasons[r.Error] = true
	}
	require.Greater(t, len(reasons), 100)
}
