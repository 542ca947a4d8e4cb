package field

import "fmt"

// An Opcode is an operation of the machine. It works on one lane of many points.
type Opcode uint8

// The operations. The numbers are part of the portable form and never change.
const (
	opNone Opcode = iota // not an operation
	opEnd                // the effect is over: NaN in the lanes that it added to becomes +0
	opLoad               // a register gets a uniform, the same for all points
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
	opExp2 // from here on since version 2 of the portable form
	opHash
	opcodes // how many there are
)

// opcodeTable says what an operation is called and how many planes it reads.
var opcodeTable = [opcodes]struct {
	name     string
	operands int
}{
	opNone:     {"none", 0},
	opEnd:      {"end", 0},
	opLoad:     {"load", 0},
	opAdd:      {"add", 2},
	opSub:      {"sub", 2},
	opMul:      {"mul", 2},
	opDiv:      {"div", 2},
	opMad:      {"mad", 3},
	opNmad:     {"nmad", 3},
	opMin:      {"min", 2},
	opMax:      {"max", 2},
	opAbs:      {"abs", 1},
	opNeg:      {"neg", 1},
	opFloor:    {"floor", 1},
	opSqrt:     {"sqrt", 1},
	opRsqrt:    {"rsqrt", 1},
	opSin:      {"sin", 1},
	opSaturate: {"saturate", 1},
	opSelectLT: {"select_lt", 4},
	opSelectGE: {"select_ge", 4},
	opExp2:     {"exp2", 1},
	opHash:     {"hash", 3},
}

// String is the name of the operation, as in the text if it is there.
func (o Opcode) String() string {
	if o >= opcodes {
		return fmt.Sprintf("opcode %d", uint8(o))
	}
	return opcodeTable[o].name
}

// since is the version of the portable form that the operation came with.
func (o Opcode) since() byte {
	if o >= opExp2 {
		return 2
	}
	return 1
}

func (o Opcode) operands() int { return opcodeTable[o].operands }

// accumulator says which operand of the operation may be the output: then its
// destination is the output too, and the operation adds to the field. -1 if it
// can't.
func (o Opcode) accumulator() int {
	switch o {
	case opAdd, opSub:
		return 0
	case opMad, opNmad:
		return 2
	}
	return -1
}

// An instruction is one operation over planes, 8 bytes in the portable form.
type instruction struct {
	op       Opcode
	to       uint8    // plane that is written
	operands [4]uint8 // planes that are read; 0 where the operation has none
	uniform  uint16   // of a load
}

const instructionBytes = 8

// Planes by number: registers, then the lanes of the position, then those of
// the output.
const (
	planePosition = MaxRegisters
	planeOutput   = MaxRegisters + 3
	planeCount    = MaxRegisters + 6
)

// Uniforms by number: time, then four lanes of each parameter, then literals.
const (
	uniformTime   = 0
	uniformParams = 1
)
