//go:build amd64 && !purego

package field

import "github.com/worldd/worldd/internal/cpu"

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
	planes  int // used by the code

	literals []float32     // the pool before a call fills in the rest, with the box
	uniforms []poolUniform // inputs of a call
	hoisted  []hoisted     // computed once per call, for all points
	copies   []poolCopy    // copies that make constants adjacent

	blocks int // per call of assembly, to bound its duration
}

// A boundInstruction is read by handlers: 32 bytes, with operands from byte 8.
type boundInstruction struct {
	handler  uintptr
	operands [boundOperands]uint16 // byte offsets into scratch or pool
}

const boundOperands = 12

// callNanoseconds bounds one call of assembly. It cannot be preempted, so a stop of all
// goroutines, as for garbage collection, waits for it.
const callNanoseconds = 20_000

// A poolUniform is a pool index and the number of the uniform stored there.
type poolUniform struct{ at, number uint16 }

// A hoisted value is an operation on constants of the pool.
type hoisted struct {
	op       Opcode
	to       uint16
	operands [4]uint16
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
	for i := range b.hoisted {
		h := &b.hoisted[i]
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

// blockNanoseconds estimates the duration of a block, generously.
func (b *bound) blockNanoseconds() int { return callNanoseconds / b.blocks }
