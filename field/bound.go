//go:build amd64 && !purego

package field

import "github.com/worldd/worldd/internal/cpu"

// A bound program is the code that assembly runs: instructions that name their
// handler by its address, with planes and constants at offsets into the scratch
// and the pool of a call. It is made once, when a Program is sealed, is
// read-only, and gives the same bits as the portable instructions (F1).
//
// The memory of a call, in float32s:
//
//	scratch  6 spare planes │ planes of the code
//	pool     origin 3 │ box 6 │ 0 │ uniforms and literals │ what is computed of them │ copies
type bound struct {
	kernels cpu.Kernels
	code    []boundInstruction
	planes  int // that the code uses

	literals []float32     // the pool as it is before a call fills in the rest, with the box
	uniforms []poolUniform // what a call is given
	hoisted  []hoisted     // what a call computes once, for all points
	copies   []poolCopy    // what it copies of all that, so that constants follow each other

	blocks int // that one call of assembly may take, so that it can't be long
}

// A boundInstruction is read by handlers: 32 bytes, the operands from the eighth.
type boundInstruction struct {
	handler  uintptr
	operands [boundOperands]uint16 // byte offsets into scratch or pool
}

const boundOperands = 12

// callNanoseconds bounds one call of assembly, which nothing can interrupt: what
// waits for all goroutines to stop, like the garbage collector, waits for it.
const callNanoseconds = 20_000

// A poolUniform is a place in the pool and the number of the uniform there.
type poolUniform struct{ at, number uint16 }

// A hoisted value is an operation over constants of the pool.
type hoisted struct {
	op       Opcode
	to       uint16
	operands [4]uint16
}

// A poolCopy brings a constant to where an operand wants it: beside others.
type poolCopy struct{ from, to uint16 }

// The beginning of every pool.
const (
	poolOrigin   = 0
	poolBox      = 3 // the least of each lane, then the greatest
	poolZero     = 9
	poolUniforms = 10
)

// fill writes the constants of a call into its pool.
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

// settle does those copies at once that are the same for all calls: of literals.
func (b *bound) settle() {
	given := make([]bool, len(b.literals))
	for at := range poolBox {
		given[at] = true
	}
	for _, u := range b.uniforms {
		given[u.at] = true
	}
	for i := range b.hoisted {
		given[b.hoisted[i].to] = true
	}
	left := b.copies[:0]
	for _, c := range b.copies {
		if given[c.from] {
			given[c.to] = true
			left = append(left, c)
		} else {
			b.literals[c.to] = b.literals[c.from]
		}
	}
	b.copies = left
}

func (b *bound) steps() int { return len(b.code) }

// blockNanoseconds estimates what a block takes, generously.
func (b *bound) blockNanoseconds() int { return callNanoseconds / b.blocks }
