package field

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
)

// The corpus is a set of random programs and adversarial points, with the bits that every
// machine and kernel must compute (F1). It depends only on the generator below, which no Go
// release can change.

const (
	corpusPrograms = 10_000
	corpusFile     = "testdata/corpus.golden"
	corpusRow      = 20 // programs per line
)

var corpusUpdate = flag.Bool("corpus.update", false, "write what this machine's Go path gives to "+corpusFile)

// splitMix is the generator SplitMix64 (Steele, Lea, Flood 2014).
type splitMix struct{ state uint64 }

func (d *splitMix) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number below n; slight bias does not matter.
func (d *splitMix) below(n int) int { return int(d.next() >> 33 % uint64(n)) }

func (d *splitMix) one(of int) bool { return d.below(of) == 0 }

// number returns any float32: an ordinary number, an edge case, or random bits.
func (d *splitMix) number() float32 {
	switch d.below(8) {
	case 0:
		return math.Float32frombits(uint32(d.next()))
	case 1, 2:
		return math.Float32frombits([]uint32{
			0, 1 << 31, 1, 1<<31 | 1, 0x007fffff, 0x00800000, 0x807fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
			0x7f800001, 0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000, 0x3f000000, 0x4b000000, 0xcb800001, 0x2b8cbccc, 0x42fe0000, 0xc2fc0000,
		}[d.below(22)])
	}
	return float32(d.below(1<<22))/(1<<17) - 16
}

// finite returns a number that a program may contain.
func (d *splitMix) finite() float32 {
	for {
		if f := d.number(); isFinite(f) {
			return f
		}
	}
}

func (d *splitMix) vector() Vec4 { return Vec4{d.number(), d.number(), d.number(), d.number()} }

// corpusOpcodes are the opcodes of versions 1 and 2. Later versions need their own corpus:
// this corpus must not change.
var corpusOpcodes = []Opcode{
	opAdd, opSub, opMul, opDiv, opMad, opNmad, opMin, opMax, opAbs, opNeg, opFloor, opSqrt, opRsqrt, opSin, opSaturate, opSelectLT, opSelectGE,
	opExp2, opHash,
}

// A corpusGenerator generates one program.
type corpusGenerator struct {
	*splitMix
	p        *Program
	written  []uint8 // registers
	resident uint8   // registers below this number are preloaded
	most     int     // registers
	opcodes  []Opcode
}

// corpusProgram returns the n-th program, unverified.
func corpusProgram(d *splitMix) *Program {
	a := &corpusGenerator{splitMix: d, p: &Program{}, most: 3 + d.below(MaxRegisters-2), opcodes: corpusOpcodes}
	if d.one(2) {
		a.opcodes = corpusOpcodes[:len(corpusOpcodes)-2] // version 1
	}
	for i := range d.below(3) {
		a.p.params = append(a.p.params, Param{Name: "p" + strconv.Itoa(i), Default: Vec4{d.finite(), d.finite(), d.finite(), d.finite()}})
	}
	for range d.below(6) {
		a.p.literals = append(a.p.literals, d.finite())
	}
	if d.one(4) {
		a.p.boxed, a.p.box = true, Box{[3]float32{-7, -8, -5}, [3]float32{6, 9, 12}}
	}
	length := 1 + d.below(40)
	if d.one(100) {
		length = MaxInstructions - 60
	}
	for range d.below(min(a.most-1, 5)) {
		a.load(a.resident)
		a.resident++
	}
	a.p.preloads = len(a.p.code)
	for range length {
		a.instruction()
	}
	for range 3 {
		a.witness()
	}
	a.p.code = append(a.p.code, instruction{op: opEnd})
	return a.p
}

func (a *corpusGenerator) load(to uint8) {
	a.p.code = append(a.p.code, instruction{op: opLoad, to: to, uniform: uint16(a.below(uniformParams + 4*len(a.p.params) + len(a.p.literals)))})
	a.wrote(to)
}

func (a *corpusGenerator) wrote(to uint8) {
	for _, r := range a.written {
		if r == to {
			return
		}
	}
	a.written = append(a.written, to)
}

// readable returns a plane that may be read, preferring recently written registers.
func (a *corpusGenerator) readable() uint8 {
	if len(a.written) == 0 || a.one(4) {
		return planePosition + uint8(a.below(3))
	}
	return a.written[max(a.below(len(a.written)), a.below(len(a.written)))]
}

func (a *corpusGenerator) instruction() {
	to := a.resident + uint8(a.below(a.most-int(a.resident)))
	if a.one(12) {
		a.load(to)
		return
	}
	in := instruction{op: a.opcodes[a.below(len(a.opcodes))], to: to}
	for i := range in.op.operands() {
		in.operands[i] = a.readable()
	}
	if at := in.op.accumulator(); at >= 0 && a.one(4) {
		in.to = planeOutput + uint8(a.below(3))
		in.operands[at] = in.to
	} else {
		defer a.wrote(to)
	}
	a.p.code = append(a.p.code, in)
}

// witness maps a register to [0, 1] and adds it to the output, so that the register stays
// visible beside an infinity or NaN.
func (a *corpusGenerator) witness() {
	to := a.resident + uint8(a.below(a.most-int(a.resident)))
	in := instruction{op: opSaturate, to: to, operands: [4]uint8{a.readable()}}
	if len(a.opcodes) == len(corpusOpcodes) {
		in = instruction{op: opHash, to: to, operands: [4]uint8{a.readable(), a.readable(), a.readable()}}
	}
	sum := planeOutput + uint8(a.below(3))
	a.p.code = append(a.p.code, in, instruction{op: opAdd, to: sum, operands: [4]uint8{sum, to}})
	a.wrote(to)
}

// A corpusCase is a program and its inputs.
type corpusCase struct {
	program     *Program
	points, out Planes
	env         Env
	clip        bool
}

func newCorpusCase(t testing.TB, number int) *corpusCase {
	d := &splitMix{uint64(number) * 0x632be59bd9b4e019}
	p := corpusProgram(d)
	loaded, err := Load(p.encode())
	require.NoError(t, err, "program %d", number)
	c := &corpusCase{program: loaded, env: Env{Time: float64(d.number())}, clip: d.one(2)}
	if len(p.params) > 0 && d.one(2) {
		for range p.params {
			c.env.Params = append(c.env.Params, d.vector())
		}
	}
	if d.one(4) {
		c.env.Origin = [3]float32{d.number(), d.number(), d.finite()}
	}
	n := 1 + d.below(200)
	for _, plane := range []*[]float32{&c.points.X, &c.points.Y, &c.points.Z, &c.out.X, &c.out.Y, &c.out.Z} {
		for range n {
			*plane = append(*plane, d.number())
		}
	}
	return c
}

// on runs the case on some kernels and returns a hash of the results' bits.
func (c *corpusCase) on(k cpu.Kernels) uint32 {
	p := c.program.with(k)
	out := Planes{X: append([]float32(nil), c.out.X...), Y: append([]float32(nil), c.out.Y...), Z: append([]float32(nil), c.out.Z...)}
	var prepared call
	prepared.prepare(p, &c.env, make([]float32, p.pool))
	prepared.run(&c.points, &out, 0, len(out.X), make([]float32, p.work), c.clip && p.boxed)
	h := uint32(2166136261) // FNV-1a over words
	for _, plane := range out.lanes() {
		for _, f := range plane {
			h = (h ^ math.Float32bits(f)) * 16777619
			h ^= h >> 15
		}
	}
	return h
}

// corpusGolden reads the hashes. The first line hashes the programs themselves.
func corpusGolden(t *testing.T) (programs string, results []string) {
	b := must.Get(os.ReadFile(corpusFile))
	first, rest, _ := strings.Cut(string(b), "\n")
	for line := range strings.Lines(rest) {
		results = append(results, strings.Fields(line)[1:]...)
	}
	require.Len(t, results, corpusPrograms)
	return first, results
}

// TestCorpus: every path of this processor gives the golden results.
func TestCorpus(t *testing.T) {
	racetest.SkipSequential(t)
	if *corpusUpdate {
		writeCorpus(t)
	}
	_, golden := corpusGolden(t)
	programs := shorttest.Pick(corpusPrograms, corpusPrograms/10)
	for number, want := range golden[:programs] {
		c := newCorpusCase(t, number)
		for k := cpu.Go; k <= cpu.Best(); k++ {
			if got := fmt.Sprintf("%08x", c.on(k)); got != want {
				t.Errorf("program %d on %v: %s, not %s", number, k, got, want)
			}
		}
		if t.Failed() {
			t.Fatalf("at %d points, %+v, clip %v:\n%s", len(c.points.X), c.env, c.clip, c.program)
		}
	}
}

// TestCorpusPrograms: the programs are the golden ones, and cover each opcode, each
// length of a last block, and the limits.
func TestCorpusPrograms(t *testing.T) {
	racetest.SkipSequential(t)
	want, _ := corpusGolden(t)
	require.Equal(t, want, corpusHead(), "the generator changed, so these are other programs")
	opcodes, tails, registers, longest, boxed, preloads := [opcodes]int{}, [BlockPoints]int{}, 0, 0, 0, 0
	for number := range 2000 {
		c := newCorpusCase(t, number)
		p := c.program
		for _, in := range p.code {
			opcodes[in.op]++
		}
		tails[len(c.points.X)%BlockPoints]++
		registers, longest = max(registers, p.registers), max(longest, len(p.code))
		preloads = max(preloads, p.preloads)
		if p.boxed && c.clip {
			boxed++
		}
	}
	for o, n := range opcodes[opEnd:] {
		require.Positive(t, n, "%v", Opcode(o)+opEnd)
	}
	for tail, n := range tails {
		require.Positive(t, n, "%d points in the last block", tail)
	}
	require.Equal(t, MaxRegisters, registers)
	require.Greater(t, longest, MaxInstructions-80)
	require.Positive(t, preloads)
	require.Positive(t, boxed)
}

func corpusHead() string {
	h := fnv.New64a()
	for number := range corpusPrograms {
		d := &splitMix{uint64(number) * 0x632be59bd9b4e019}
		h.Write(corpusProgram(d).encode())
	}
	return fmt.Sprintf("programs %016x", h.Sum64())
}

func writeCorpus(t *testing.T) {
	var b strings.Builder
	b.WriteString(corpusHead())
	for number := range corpusPrograms {
		if number%corpusRow == 0 {
			fmt.Fprintf(&b, "\n%04d", number)
		}
		fmt.Fprintf(&b, " %08x", newCorpusCase(t, number).on(cpu.Go))
	}
	b.WriteByte('\n')
	require.NoError(t, os.WriteFile(corpusFile, []byte(b.String()), 0o666))
}
