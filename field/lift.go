//go:build amd64 && !purego

package field

import "math"

// Binding first lifts the instructions back to values, which are computed once and need no
// registers and loads. Values that depend on no point are hoisted into the pool.

// A ref is an operand: a value's index, or ^index of a constant in the pool.
type ref int16

func constantRef(at int) ref { return ^ref(at) }

func (r ref) constant() bool    { return r < 0 }
func (r ref) poolIndex() uint16 { return uint16(^r) }

// A lifted value is an operation over others. A sum is not a value: it changes a lane
// of the output.
type lifted struct {
	op       Opcode // opNone: a lane of the position
	sum      bool
	lane     uint8 // of the position or the output
	uses     uint16
	operands [4]ref // without the output, for a sum
}

func (v *lifted) operandCount() int {
	if v.sum {
		return v.op.operands() - 1
	}
	return boundOperandCount(v.op)
}

// A lifter turns a program's instructions into values.
//
// Instructions between two runs of sums form a part: in a superposition, an effect. Cheap
// values are shared only within a part: a point's distance from a place along a lane, and
// its square. Their recomputation costs no more than a load, and an effect that shares no
// other value fuses as if it were alone.
type lifter struct {
	program     *Program
	bound       *bound
	withOrigin  bool
	values      []lifted // in the order of instructions; the first pointLanes are the points
	registers   [MaxRegisters]ref
	poolIndexes []uint16 // by uniform: index in the pool, 0 if unassigned
	timed       []bool   // by constant of the pool: whether it is timed; may be shorter than the pool
	hashParts   map[hashPart]ref
	one         ref // the constant 1; if the program has none, a value

	part      ref      // first value of the current part
	summed    bool     // the last instruction was a sum: the next non-sum begins a part
	positions []ref    // by part that reads the position: its first lane
	copies    [][2]ref // values of earlier parts, and this part's copies
}

// pointLanes is the number of leading values: the lanes of the points.
const pointLanes = 3

// lift lifts a program. If withOrigin, the position is points - origin.
func lift(p *Program, b *bound, withOrigin bool) *lifter {
	l := &lifter{
		program: p, bound: b, withOrigin: withOrigin,
		values:      make([]lifted, 0, len(p.code)+3*pointLanes),
		poolIndexes: make([]uint16, uniformParams+4*len(p.params)+len(p.literals)),
	}
	b.literals = make([]float32, poolUniforms, poolUniforms+len(l.poolIndexes))
	copy(b.literals[poolBox:], p.box.Min[:])
	copy(b.literals[poolBox+3:], p.box.Max[:])
	for lane := range pointLanes {
		l.add(lifted{lane: uint8(lane)})
	}
	for i := range p.code {
		l.lift(&p.code[i])
	}
	countUses(l.values)
	return l
}

func (l *lifter) add(v lifted) ref {
	l.values = append(l.values, v)
	return ref(len(l.values) - 1)
}

// difference adds a lane minus a constant.
func (l *lifter) difference(lane, c ref) ref {
	return l.add(lifted{op: opSub, operands: [4]ref{lane, c}})
}

func (l *lifter) lift(in *instruction) {
	switch {
	case in.op == opEnd:
		return
	case in.op == opLoad:
		l.registers[in.to] = constantRef(int(l.uniformIndex(in.uniform)))
		return
	}
	v := lifted{op: in.op}
	v.sum = in.to >= planeOutput
	if v.sum {
		v.lane = in.to - planeOutput
	} else if l.summed {
		l.part, l.copies = ref(len(l.values)), l.copies[:0]
	}
	l.summed = v.sum
	n, fixed := 0, true
	for i, plane := range in.operands[:in.op.operands()] {
		if v.sum && i == in.op.accumulator() {
			continue
		}
		r := l.operand(plane)
		v.operands[n], fixed = r, fixed && r.constant()
		n++
	}
	if from := in.operands[0]; in.op == opSub && from >= planePosition && !v.sum && !l.withOrigin && v.operands[1].constant() {
		v.operands[0] = ref(from - planePosition)
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

// operand returns the value that an instruction reads.
func (l *lifter) operand(plane uint8) ref {
	if plane >= planePosition {
		return l.position() + ref(plane-planePosition)
	}
	return l.localCopy(l.registers[plane])
}

// position returns the first lane of this part's position.
func (l *lifter) position() ref {
	if n := len(l.positions); n > 0 && l.positions[n-1] >= l.part {
		return l.positions[n-1]
	}
	first := ref(len(l.values))
	for lane := range ref(pointLanes) {
		c := constantRef(poolZero)
		if l.withOrigin {
			c = constantRef(poolOrigin + int(lane))
		}
		l.difference(lane, c)
	}
	l.positions = append(l.positions, first)
	return first
}

// localCopy returns a value, or this part's copy of it.
func (l *lifter) localCopy(r ref) ref {
	if r >= l.part || r.constant() {
		return r
	}
	for _, a := range l.copies {
		if a[0] == r {
			return a[1]
		}
	}
	v, local := l.values[r], r
	switch d := v.operands[0]; {
	case v.op == opSub && d >= 0 && d < pointLanes && v.operands[1].constant():
		local = l.difference(d, v.operands[1])
	case v.op == opSub && l.withOrigin && l.isPosition(d) && v.operands[1].constant():
		lane := l.values[d].operands[0]
		local = l.difference(l.position()+lane, v.operands[1])
	case v.op == opMul && d == v.operands[1]:
		d = l.localCopy(d)
		if d != v.operands[0] {
			local = l.add(lifted{op: opMul, operands: [4]ref{d, d}})
		}
	}
	l.copies = append(l.copies, [2]ref{r, local})
	return local
}

// isPosition reports whether a value is a lane of some part's position.
func (l *lifter) isPosition(r ref) bool {
	for _, first := range l.positions {
		if r >= first && r < first+pointLanes {
			return true
		}
	}
	return false
}

// uniformIndex returns the pool index of a uniform.
func (l *lifter) uniformIndex(number uint16) uint16 {
	if at := l.poolIndexes[number]; at != 0 {
		return at
	}
	b, at := l.bound, uint16(len(l.bound.literals))
	i := int(number) - uniformParams - 4*len(l.program.params)
	switch {
	case number == uniformTime:
		b.time = l.addTimed()
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
	l.poolIndexes[number] = at
	return at
}

// hoist returns the pool index of a value computed from constants.
func (l *lifter) hoist(v *lifted, operands int) uint16 {
	h := hoisted{op: v.op}
	for i := range operands {
		at := v.operands[i].poolIndex()
		h.operands[i] = at
		if int(at) < len(l.timed) && l.timed[at] {
			h.timed |= 1 << i
		}
	}
	if v.op >= opcodes { // part of a hash
		h.timed = 0
	}
	if h.timed != 0 {
		h.to = l.addTimed()
	} else {
		h.to = uint16(len(l.bound.literals))
		l.bound.literals = append(l.bound.literals, 0)
	}
	l.bound.hoisted = append(l.bound.hoisted, h)
	return h.to
}

// addTimed adds a timed constant to the pool.
func (l *lifter) addTimed() uint16 {
	at := len(l.bound.literals)
	l.bound.literals = append(l.bound.literals, make([]float32, timedFloats)...)
	l.timed = append(l.timed, make([]bool, at+1-len(l.timed))...)
	l.timed[at] = true
	return uint16(at)
}

// countUses counts each value's uses as an operand. A value that no sum needs has no uses,
// and does not count as a use of its operands.
func countUses(values []lifted) {
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
}
