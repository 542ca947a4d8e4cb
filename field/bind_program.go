//go:build amd64 && !purego

package field

import (
	"math"

	"github.com/worldd/worldd/internal/cpu"
)

// A bound program is the code that assembly runs: instructions that name their handler
// by address, with planes and constants as offsets into a call's scratch and pool. It
// is generated once, when a Program is sealed, is read-only, and gives the same bits as
// the portable instructions (F1).
//
// The memory of a call, in float32s:
//
//	scratch  6 spare planes │ planes of the code
//	pool     origin 3 │ box 6 │ 0 │ uniforms and literals │ values computed from them │ copies
type bound struct {
	kernels cpu.Kernels
	code    []boundInstruction
	planes  int // number of planes that the code uses

	literals []float32     // initial pool, with the box; a call fills in the rest
	uniforms []poolUniform // inputs of a call
	time     uint16        // pool index of time; 0 if the program does not read it
	hoisted  []hoisted     // computed once per call, for all points
	copies   []poolCopy    // copies that make constants adjacent

	blocks int // blocks per call of assembly, to bound its duration
}

// A boundInstruction is read by handlers: 32 bytes, with operands from byte 8.
type boundInstruction struct {
	handler  uintptr
	operands [boundOperands]uint16 // byte offsets into scratch or pool
}

const boundOperands = 12

// callNanoseconds bounds one call of assembly. Assembly cannot be preempted, so a stop of
// all goroutines (for garbage collection) waits for it.
const callNanoseconds = 20_000

// A poolUniform is a pool index and the number of the uniform stored there.
type poolUniform struct{ at, number uint16 }

// A hoisted value is an operation on constants of the pool.
type hoisted struct {
	op       Opcode
	timed    uint8 // bitmap of the timed operands; if any is timed, the result is timed
	to       uint16
	operands [4]uint16
}

// timedFloats is the number of float32s of a timed constant in the pool: its value for
// handlers, then the bits of the float64.
const timedFloats = 3

func setTimed(pool []float32, at uint16, v float64) {
	bits := math.Float64bits(v)
	pool[at], pool[at+1], pool[at+2] = float32(v), math.Float32frombits(uint32(bits)), math.Float32frombits(uint32(bits>>32))
}

func timedAt(pool []float32, at uint16) float64 {
	low, high := math.Float32bits(pool[at+1]), math.Float32bits(pool[at+2])
	return math.Float64frombits(uint64(low) | uint64(high)<<32)
}

// runTimed computes a hoisted value that is timed.
func (h *hoisted) runTimed(pool []float32) {
	var v [4]float64
	for i, at := range h.operands {
		if h.timed>>i&1 != 0 {
			v[i] = timedAt(pool, at)
		} else {
			v[i] = float64(pool[at])
		}
	}
	setTimed(pool, h.to, evaluateTimed(h.op, v[0], v[1], v[2], v[3]))
}

// A poolCopy copies a constant next to others, where an operand expects it.
type poolCopy struct{ from, to uint16 }

// The start of every pool.
const (
	poolOrigin   = 0
	poolBox      = 3 // minimum of each lane, then the maximum
	poolZero     = 9
	poolUniforms = 10
)

// fill writes a call's constants into its pool.
func (b *bound) fill(pool []float32, p *Program, env *Env) {
	copy(pool, b.literals)
	*(*[3]float32)(pool[poolOrigin:]) = env.Origin
	for _, u := range b.uniforms {
		pool[u.at] = p.uniform(u.number, env)
	}
	if b.time != 0 {
		setTimed(pool, b.time, env.Time)
	}
	for i := range b.hoisted {
		h := &b.hoisted[i]
		if h.timed != 0 {
			h.runTimed(pool)
			continue
		}
		o := &h.operands
		pool[h.to] = evaluateBound(h.op, pool[o[0]], pool[o[1]], pool[o[2]], pool[o[3]])
	}
	for _, c := range b.copies {
		pool[c.to] = pool[c.from]
	}
}

// copyLiterals performs the copies of literals, which are the same for all calls.
func (b *bound) copyLiterals() {
	perCall := make([]bool, len(b.literals))
	for at := range poolBox {
		perCall[at] = true
	}
	perCall[b.time] = true // index 0 is a lane of the origin
	for _, u := range b.uniforms {
		perCall[u.at] = true
	}
	for i := range b.hoisted {
		perCall[b.hoisted[i].to] = true
	}
	kept := b.copies[:0]
	for _, c := range b.copies {
		if perCall[c.from] {
			perCall[c.to] = true
			kept = append(kept, c)
		} else {
			b.literals[c.to] = b.literals[c.from]
		}
	}
	b.copies = kept
}

func (b *bound) steps() int { return len(b.code) }

// blockNanoseconds estimates the duration of a block, rather too high.
func (b *bound) blockNanoseconds() int { return callNanoseconds / b.blocks }
