package field

import "fmt"

// An Opcode is an operation of the machine on one lane of many points.
type Opcode uint8

// The operations. Their numbers are part of the portable form and never change.
const (
	opNone Opcode = iota // not an operation
	opEnd                // end of an effect: NaN becomes +0 in the lanes to which the effect added
	opLoad               // loads a uniform into a register
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
	opSaturate
	opSelectLT
	opSelectGE
	opExp2 // this and later operations exist since version 2 of the portable form
	opHash
	opcodes // number of opcodes
)

// opcodeTable has each operation's name, number of operand planes, definition on one
// lane (arith.go), and kernel.
var opcodeTable = [opcodes]struct {
	name     string
	operands int
	lane     func(a, b, c, d float32) float32
	kernel   func(to, a, b, c, d []float32)
}{
	opNone:     {name: "none"},
	opEnd:      {name: "end"},
	opLoad:     {name: "load"},
	opAdd:      {"add", 2, func(a, b, _, _ float32) float32 { return a + b }, add},
	opSub:      {"sub", 2, func(a, b, _, _ float32) float32 { return a - b }, sub},
	opMul:      {"mul", 2, func(a, b, _, _ float32) float32 { return float32(a * b) }, mul},
	opDiv:      {"div", 2, func(a, b, _, _ float32) float32 { return a / b }, div},
	opMad:      {"mad", 3, func(a, b, c, _ float32) float32 { return fma32(a, b, c) }, mad},
	opNmad:     {"nmad", 3, func(a, b, c, _ float32) float32 { return fma32(-a, b, c) }, nmad},
	opMin:      {"min", 2, func(a, b, _, _ float32) float32 { return min32(a, b) }, minimum},
	opMax:      {"max", 2, func(a, b, _, _ float32) float32 { return max32(a, b) }, maximum},
	opAbs:      {"abs", 1, first(abs32), absolute},
	opNeg:      {"neg", 1, first(neg32), negate},
	opFloor:    {"floor", 1, first(floor32), floor},
	opSqrt:     {"sqrt", 1, first(sqrt32), sqrt},
	opRsqrt:    {"rsqrt", 1, first(rsqrt32), each(rsqrt32)},
	opSin:      {"sin", 1, first(sin32), each(sin32)},
	opSaturate: {"saturate", 1, first(saturate32), saturate},
	opSelectLT: {"select_lt", 4, selectLT32, selectLT},
	opSelectGE: {"select_ge", 4, selectGE32, selectGE},
	opExp2:     {"exp2", 1, first(exp232), each(exp232)},
	opHash:     {"hash", 3, func(a, b, c, _ float32) float32 { return hash32(a, b, c) }, hash},
}

// String returns the operation's name, as in texts if the operation occurs in texts.
func (o Opcode) String() string {
	if o >= opcodes {
		return fmt.Sprintf("opcode %d", uint8(o))
	}
	return opcodeTable[o].name
}

// since returns the version of the portable form that introduced the operation.
func (o Opcode) since() byte {
	if o >= opExp2 {
		return 2
	}
	return 1
}

func (o Opcode) operands() int { return opcodeTable[o].operands }

// accumulator returns the index of the operand that may be the output, or -1. If that
// operand is the output, the destination is the output too: the operation adds to the
// field.
func (o Opcode) accumulator() int {
	switch o {
	case opAdd, opSub:
		return 0
	case opMad, opNmad:
		return 2
	}
	return -1
}

// An instruction is one operation over planes: 8 bytes in the portable form.
type instruction struct {
	op       Opcode
	to       uint8    // plane written
	operands [4]uint8 // planes read; unused ones are 0
	uniform  uint16   // of a load
}

const instructionBytes = 8

// Plane numbers: registers, then lanes of the position, then of the output.
const (
	planePosition = MaxRegisters
	planeOutput   = MaxRegisters + 3
	planeCount    = MaxRegisters + 6
)

// Uniform numbers: time, then four lanes per parameter, then literals.
const (
	uniformTime   = 0
	uniformParams = 1
)
