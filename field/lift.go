//go:build amd64 && !purego

package field

import "math"

// Binding begins by lifting the instructions back to values: each computed once,
// registers and loads gone. What depends on no point is hoisted into the pool.

// A ref is an operand: a value, or a constant of the pool as ^its place.
type ref int16

func constantRef(at int) ref { return ^ref(at) }

func (r ref) constant() bool { return r < 0 }
func (r ref) place() uint16  { return uint16(^r) }

// A lifted value is an operation over others. One with a sum is none: it changes
// a lane of the output.
type lifted struct {
	op       Opcode // opNone for a lane of the position
	sum      bool
	lane     uint8 // of the position or the output
	uses     uint16
	operands [4]ref // without the output, if it is a sum
}

// operandCount is how many operands a lifted value has.
func (v *lifted) operandCount() int {
	if v.sum {
		return v.op.operands() - 1
	}
	return boundOperandCount(v.op)
}

// A lifter turns the instructions of a program into values.
type lifter struct {
	program   *Program
	bound     *bound
	values    []lifted
	registers [planeCount]ref
	places    []uint16 // by uniform: its place in the pool, 0 if it has none yet
	hashParts map[hashPart]ref
	one       ref // the constant 1; a value if there is none
}

// lift gives the values of a program, in the order of its instructions. If placed,
// positions are what is left of them after the origin is taken away. It also gives
// the constant 1, or a value if there is none.
func lift(p *Program, b *bound, placed bool) (values []lifted, one ref) {
	l := lifter{
		program: p, bound: b,
		values: make([]lifted, 0, len(p.code)+6),
		places: make([]uint16, uniformParams+4*len(p.params)+len(p.literals)),
	}
	b.literals = make([]float32, poolUniforms, poolUniforms+len(l.places))
	for lane := range 3 {
		l.registers[planePosition+lane] = l.add(lifted{lane: uint8(lane)})
	}
	if placed {
		for lane := range 3 {
			from := [4]ref{l.registers[planePosition+lane], constantRef(poolOrigin + lane)}
			l.registers[planePosition+lane] = l.add(lifted{op: opSub, operands: from})
		}
	}
	for i := range p.code {
		l.instruction(&p.code[i])
	}
	return countUses(l.values), l.one
}

func (l *lifter) add(v lifted) ref {
	l.values = append(l.values, v)
	return ref(len(l.values) - 1)
}

func (l *lifter) instruction(in *instruction) {
	switch {
	case in.op == opEnd:
		return
	case in.op == opLoad:
		l.registers[in.to] = constantRef(int(l.uniform(in.uniform)))
		return
	}
	v := lifted{op: in.op}
	if v.sum = in.to >= planeOutput; v.sum {
		v.lane = in.to - planeOutput
	}
	n, fixed := 0, true
	for i, plane := range in.operands[:in.op.operands()] {
		if v.sum && i == in.op.accumulator() {
			continue
		}
		r := l.registers[plane]
		v.operands[n], fixed = r, fixed && r.constant()
		n++
	}
	switch {
	case v.sum:
		l.add(v)
	case fixed:
		l.registers[in.to] = constantRef(int(l.hoist(&v, n)))
	case v.op == opHash:
		l.registers[in.to] = l.add(l.hash(v.operands))
	default:
		l.registers[in.to] = l.add(v)
	}
}

// uniform gives the place of a uniform in the pool.
func (l *lifter) uniform(number uint16) uint16 {
	if at := l.places[number]; at != 0 {
		return at
	}
	b, at := l.bound, uint16(len(l.bound.literals))
	i := int(number) - uniformParams - 4*len(l.program.params)
	switch {
	case i < 0:
		b.literals = append(b.literals, 0)
		b.uniforms = append(b.uniforms, poolUniform{at: at, number: number})
	case math.Float32bits(l.program.literals[i]) == 0:
		at = poolZero
	default:
		b.literals = append(b.literals, l.program.literals[i])
		if l.program.literals[i] == 1 {
			l.one = constantRef(int(at))
		}
	}
	l.places[number] = at
	return at
}

// hoist gives the place of a value that only constants go into.
func (l *lifter) hoist(v *lifted, operands int) uint16 {
	h := hoisted{op: v.op, to: uint16(len(l.bound.literals))}
	for i := range operands {
		h.operands[i] = v.operands[i].place()
	}
	l.bound.literals = append(l.bound.literals, 0)
	l.bound.hoisted = append(l.bound.hoisted, h)
	return h.to
}

// countUses counts for each value how many operands it is. What no sum needs has
// none, and is not counted as a user either.
func countUses(values []lifted) []lifted {
	for i := len(values) - 1; i >= 0; i-- {
		v := &values[i]
		if !v.sum && v.uses == 0 {
			continue
		}
		for _, o := range v.operands[:v.operandCount()] {
			if !o.constant() {
				values[o].uses++
			}
		}
	}
	return values
}
