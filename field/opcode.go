package field

import "fmt"

// Opcode is one operation of the machine, over all lanes of a block.
type Opcode uint8

// The operations. Their numbers are part of the portable form.
const (
	opEnd Opcode = iota
	opMov
	opAdd
	opSub
	opMul
	opDiv
	opMad
	opNmad
	opMin
	opMax
	opAbs
	opNeg
	opFloor
	opSqrt
	opRsqrt
	opSin
	opSelectLT
	opSelectGE
	opOutX
	opOutY
	opOutZ
	opcodes // how many there are
)

// opInfo describes an operation for the compiler, the verifier and the reader.
type opInfo struct {
	name     string
	operands int
	writes   bool // has a destination register
}

func (o Opcode) info() opInfo {
	switch o {
	case opEnd:
		return opInfo{"end", 0, false}
	case opMov:
		return opInfo{"mov", 1, true}
	case opAdd:
		return opInfo{"add", 2, true}
	case opSub:
		return opInfo{"sub", 2, true}
	case opMul:
		return opInfo{"mul", 2, true}
	case opDiv:
		return opInfo{"div", 2, true}
	case opMad:
		return opInfo{"mad", 3, true}
	case opNmad:
		return opInfo{"nmad", 3, true}
	case opMin:
		return opInfo{"min", 2, true}
	case opMax:
		return opInfo{"max", 2, true}
	case opAbs:
		return opInfo{"abs", 1, true}
	case opNeg:
		return opInfo{"neg", 1, true}
	case opFloor:
		return opInfo{"floor", 1, true}
	case opSqrt:
		return opInfo{"sqrt", 1, true}
	case opRsqrt:
		return opInfo{"rsqrt", 1, true}
	case opSin:
		return opInfo{"sin", 1, true}
	case opSelectLT:
		return opInfo{"select_lt", 4, true}
	case opSelectGE:
		return opInfo{"select_ge", 4, true}
	case opOutX:
		return opInfo{"out.x", 1, false}
	case opOutY:
		return opInfo{"out.y", 1, false}
	case opOutZ:
		return opInfo{"out.z", 1, false}
	}
	return opInfo{name: fmt.Sprintf("opcode(%d)", uint8(o))}
}

// String is the operation's name.
func (o Opcode) String() string { return o.info().name }

// op is one operation in its portable form of 8 bytes.
type op struct {
	code Opcode
	dst  uint8    // register
	args [4]uint8 // operands; unused ones are 0
}

const opBytes = 8

// Operands: registers, the planes of the position, and constants share one
// space of numbers.
const (
	operandX        = MaxRegisters     // position.x, and then y and z
	operandConstant = MaxRegisters + 3 // constant 0
)

// scalar is the operation on one lane: the definition that every kernel must
// match bit for bit. Selects take all four operands.
func scalar(o Opcode, a, b, c, d float32) float32 {
	switch o {
	case opMov:
		return a
	case opAdd:
		return float32(a + b)
	case opSub:
		return float32(a - b)
	case opMul:
		return float32(a * b)
	case opDiv:
		return float32(a / b)
	case opMad:
		return fma32(a, b, c)
	case opNmad:
		return fma32(-a, b, c)
	case opMin:
		return min32(a, b)
	case opMax:
		return max32(a, b)
	case opAbs:
		return abs32(a)
	case opNeg:
		return neg32(a)
	case opFloor:
		return floor32(a)
	case opSqrt:
		return sqrt32(a)
	case opRsqrt:
		return rsqrt32(a)
	case opSin:
		return sin32(a)
	case opSelectLT:
		if a < b {
			return c
		}
		return d
	case opSelectGE:
		if a >= b {
			return c
		}
		return d
	}
	panic("field: " + o.String() + " has no value")
}
