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

var opTable = [opcodes]opInfo{
	opEnd:      {"end", 0, false},
	opMov:      {"mov", 1, true},
	opAdd:      {"add", 2, true},
	opSub:      {"sub", 2, true},
	opMul:      {"mul", 2, true},
	opDiv:      {"div", 2, true},
	opMad:      {"mad", 3, true},
	opNmad:     {"nmad", 3, true},
	opMin:      {"min", 2, true},
	opMax:      {"max", 2, true},
	opAbs:      {"abs", 1, true},
	opNeg:      {"neg", 1, true},
	opFloor:    {"floor", 1, true},
	opSqrt:     {"sqrt", 1, true},
	opRsqrt:    {"rsqrt", 1, true},
	opSin:      {"sin", 1, true},
	opSelectLT: {"select_lt", 4, true},
	opSelectGE: {"select_ge", 4, true},
	opOutX:     {"out.x", 1, false},
	opOutY:     {"out.y", 1, false},
	opOutZ:     {"out.z", 1, false},
}

func (o Opcode) info() opInfo {
	if o < opcodes {
		return opTable[o]
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
		return fma32(neg32(a), b, c)
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
		if a >= b { // not !(a < b): with a NaN neither holds
			return c
		}
		return d
	}
	panic("field: " + o.String() + " has no value")
}
