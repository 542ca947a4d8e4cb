//go:build amd64 && !purego

package field

import "math"

// Noise hashes the corners of a cube, which share coordinates. A hash is therefore lifted
// to a part for each of its three numbers, computed once, and a mixed sum of three parts.
// Parts are integers in the bits of planes and constants. The portable form has no parts.
const (
	opHashX = opcodes + iota
	opHashY
	opHashZ
	opHashSum
	boundOpcodes
)

// A hashPart is one of the three hashed numbers, with its position.
type hashPart struct {
	of ref
	op Opcode
}

// hash lifts a hash of three operands.
func (l *lifter) hash(operands [4]ref) lifted {
	v := lifted{op: opHashSum}
	n := 0
	for _, constants := range [2]bool{false, true} { // handlers expect constants last
		for i, r := range operands[:3] {
			if r.constant() == constants {
				v.operands[n] = l.hashPart(r, opHashX+Opcode(i))
				n++
			}
		}
	}
	return v
}

func (l *lifter) hashPart(r ref, op Opcode) ref {
	if part, ok := l.hashParts[hashPart{r, op}]; ok {
		return part
	}
	v := lifted{op: op, operands: [4]ref{r}}
	var part ref
	if r.constant() {
		part = constantRef(int(l.hoist(&v, 1)))
	} else {
		part = l.add(v)
	}
	if l.hashParts == nil {
		l.hashParts = map[hashPart]ref{}
	}
	l.hashParts[hashPart{r, op}] = part
	return part
}

// evaluateBound is evaluate, extended to the parts of a hash.
func evaluateBound(o Opcode, a, b, c, d float32) float32 {
	bits := math.Float32bits
	switch o {
	case opHashX:
		return math.Float32frombits(hashBits(a) * hashFactorX)
	case opHashY:
		return math.Float32frombits(hashBits(a) * hashFactorY)
	case opHashZ:
		return math.Float32frombits(hashBits(a) * hashFactorZ)
	case opHashSum:
		return hashSum(bits(a) + bits(b) + bits(c))
	}
	return evaluate(o, a, b, c, d)
}

// boundOperandCount is Opcode.operands, extended to the parts of a hash.
func boundOperandCount(o Opcode) int {
	switch {
	case o < opcodes:
		return o.operands()
	case o == opHashSum:
		return 3
	}
	return 1
}
