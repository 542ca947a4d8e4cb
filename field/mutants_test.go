package field

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
)

var mutantsFlag = flag.Int("mutants", 100_000, "how many mutated programs TestMutants makes")

// guardedMemory lends slices that end at one of its borders. The rest holds a guard value
// that must not change.
type guardedMemory struct {
	memory   []float32
	from, to int // the lent range
}

const guardValue = 1234.5

func newGuardedMemory(t testing.TB, floats int) *guardedMemory {
	c := &guardedMemory{memory: guarded(t, floats)}
	fill(c.memory, guardValue)
	return c
}

// lend returns n float32s at the upper or the lower end of the memory.
func (c *guardedMemory) lend(n int, upper bool) []float32 {
	fill(c.memory[c.from:c.to], guardValue)
	c.from, c.to = 0, n
	if upper {
		c.from, c.to = len(c.memory)-n, len(c.memory)
	}
	return c.memory[c.from:c.to:c.to]
}

func (c *guardedMemory) isWhole() bool {
	for i, f := range c.memory {
		if f != guardValue && (i < c.from || i >= c.to) {
			return false
		}
	}
	return true
}

// guardedCall is the guarded memory of a call: three planes of points, three of output,
// and scratch.
type guardedCall struct {
	planes  [6]*guardedMemory
	scratch *guardedMemory
	values  [6][]float32
}

const guardedPoints = 200

func newGuardedCall(t testing.TB) *guardedCall {
	p := &guardedCall{scratch: newGuardedMemory(t, MaxScratch)}
	d := &splitMix{17}
	for i := range p.planes {
		p.planes[i] = newGuardedMemory(t, guardedPoints)
		for range guardedPoints {
			p.values[i] = append(p.values[i], d.number())
		}
	}
	return p
}

// run evaluates a program at n points and returns the output. An error reports a fault
// or a changed border.
func (p *guardedCall) run(program *Program, n int, env Env, clip, upper bool) (out [3][]float32, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	var planes [6][]float32
	for i, c := range p.planes {
		planes[i] = c.lend(n, upper)
		copy(planes[i], p.values[i])
	}
	scratch := p.scratch.lend(program.Scratch(), upper)
	fill(scratch, float32(math.NaN()))
	points, sum := Planes{planes[0], planes[1], planes[2]}, Planes{planes[3], planes[4], planes[5]}
	if clip {
		var c call
		c.prepare(program, &env, scratch[program.work:])
		c.run(&points, &sum, 0, n, scratch[:program.work], program.boxed)
	} else if err := program.Evaluate(points, sum, env, scratch); err != nil {
		return out, err
	}
	for i, c := range append(p.planes[:], p.scratch) {
		if !c.isWhole() {
			return out, fmt.Errorf("memory beside plane %d was written to", i)
		}
	}
	for i := range 3 {
		if firstDifference(p.values[i][:n], planes[i]) != nil {
			return out, fmt.Errorf("plane %d of the points was written to", i)
		}
		out[i] = append(out[i], planes[3+i]...)
	}
	return out, nil
}

// TestGuardedMemory: border violations are detected.
func TestGuardedMemory(t *testing.T) {
	c := newGuardedMemory(t, 100)
	for _, upper := range []bool{true, false} {
		lent := c.lend(7, upper)
		fill(lent, 1)
		require.True(t, c.isWhole())
		beside := c.from - 1
		if !upper {
			beside = c.to
		}
		c.memory[beside] = 1
		require.False(t, c.isWhole())
		c.memory[beside] = guardValue
	}
}

// mutate changes sensitive parts of a program: fields of instructions, their order and
// number, and occasionally any byte of the portable form.
func mutate(d *splitMix, good *Program) []byte {
	p := *good
	p.literals = append([]float32(nil), p.literals...)
	p.code = append([]instruction(nil), p.code...)
	for range 1 + d.below(3) {
		at := d.below(len(p.code))
		in := &p.code[at]
		plane := uint8(d.below(p.registers))
		switch d.below(8) {
		case 0:
			plane = uint8(d.next())
		case 1, 2:
			plane = uint8(d.below(planeCount + 2))
		case 3:
			plane = planePosition + uint8(d.below(6))
		}
		switch d.below(9) {
		case 0:
			was := in.op
			in.op = Opcode(d.below(int(opcodes) + 2))
			if in.op < opcodes && was < opcodes && in.op.operands() < was.operands() {
				clear(in.operands[in.op.operands():])
			}
		case 1:
			in.to = plane
		case 2, 3, 4:
			in.operands[d.below(4)] = plane
			if in.op < opcodes && !d.one(8) {
				clear(in.operands[in.op.operands():])
			}
		case 5:
			if in.op == opLoad || d.one(8) {
				in.uniform = uint16(d.below(20))
			}
		case 6:
			other := d.below(len(p.code))
			p.code[at], p.code[other] = p.code[other], p.code[at]
		case 7:
			p.code = append(p.code[:at+1], p.code[at:]...)
		default:
			p.preloads = d.below(len(p.code) + 2)
		}
	}
	b := p.encode()
	if d.one(4) {
		b[d.below(len(b))] ^= 1 << d.below(8)
	}
	return b
}

// TestMutants checks F3 for bytecode: loaded programs stay within their memory on every
// path and give equal results, and each rejection has a reason.
func TestMutants(t *testing.T) {
	racetest.SkipSequential(t)
	mutants := shorttest.Pick(*mutantsFlag, *mutantsFlag/10)
	p, d, accepted := newGuardedCall(t), &splitMix{18}, 0
	var good *Program
	for i := range mutants {
		if i%100 == 0 {
			good = newCorpusCase(t, d.below(corpusPrograms)).program
			if len(good.code) > 200 {
				good = small()
			}
		}
		b := mutate(d, good)
		program, err := Load(b)
		if err != nil {
			requireReason(t, err, b)
			continue
		}
		accepted++
		n, env, clip, upper := d.below(guardedPoints), Env{Time: 3}, d.one(2), d.one(2)
		if d.one(3) {
			env.Origin = [3]float32{d.number(), 2, -1}
		}
		want, err := p.run(program.with(cpu.Go), n, env, clip, upper)
		require.NoError(t, err, "mutant %d\n%s", i, program)
		for k := cpu.AVX2; k <= cpu.Best(); k++ {
			got, err := p.run(program.with(k), n, env, clip, upper)
			require.NoError(t, err, "mutant %d on %v\n%s", i, k, program)
			for lane := range want {
				if err := firstDifference(want[lane], got[lane]); err != nil {
					t.Fatalf("mutant %d on %v, lane %d: %v\n%s", i, k, lane, err, program)
				}
			}
		}
	}
	t.Logf("%d of %d accepted", accepted, mutants)
	require.Greater(t, accepted, mutants/20)
}

// requireReason: a rejection names the instruction and its operation, or the header.
func requireReason(t *testing.T, err error, b []byte) {
	t.Helper()
	var wrong *VerifyError
	require.True(t, errors.As(err, &wrong), "%v", err)
	require.NotEmpty(t, wrong.Reason)
	require.GreaterOrEqual(t, wrong.PC, -1)
	if wrong.PC < 0 {
		return
	}
	instructions := int(b[12]) | int(b[13])<<8
	require.Less(t, wrong.PC, instructions)
	at := len(b) - instructionBytes*(instructions-wrong.PC)
	require.Equal(t, Opcode(b[at]), wrong.Opcode, "%v", err)
}
