package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A path is an instruction set for which handlers are generated.
type path struct {
	name  string // suffix of Go names
	lanes int    // lanes of a vector register
}

var (
	avx512 = path{"AVX512", 16} // with DQ and VL
	avx2   = path{"AVX2", 8}    // with FMA
)

func (p path) vectorBytes() int  { return 4 * p.lanes }
func (p path) blockVectors() int { return blockPoints / p.lanes } // vectors per block

// Registers shared by all handlers. AVX-512 keeps the output in Z20 to Z31 and the
// accumulator, one vector of three lanes, in Z8 to Z19; handlers are free to use Z0 to
// Z7. AVX2 has too few registers to keep either.
var (
	instructionAt = reg.RSI
	scratchAt     = reg.RDI
	poolAt        = reg.R8
	frameAt       = reg.R9
	positionsAt   = [3]reg.GPPhysical{reg.R11, reg.R12, reg.R13}
	blockAt       = reg.R10 // AVX-512: the block's byte offset in a plane
)

// Offsets in Go's type frame.
const (
	framePoints = 0
	frameOut    = 24
	frameCode   = 48
	frameBytes  = 72
	frameMasked = 80
	frameTarget = 88
	frameClip   = 112
	frameLanes  = 120
	frameTail   = 128
)

// An assembler generates one handler.
type assembler struct {
	*build.Context
	path
	operands int // taken so far
	returns  int // emitted so far

	zeros, quarters reg.VecVirtual // constant registers of 0 and 0.25; nil until used
}

// masks select the points of a masked block whose output is stored (AVX-512).
var masks = [4]reg.OpmaskPhysical{reg.K4, reg.K5, reg.K6, reg.K7}

func (a *assembler) wide() bool { return a.lanes == avx512.lanes }

func (a *assembler) vector() reg.VecVirtual {
	if a.wide() {
		return a.ZMM()
	}
	return a.YMM()
}

func (a *assembler) register(number int) reg.VecPhysical {
	return []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}[number]
}

// output returns the register of an output lane's vector i (AVX-512).
func (a *assembler) output(lane, i int) reg.VecPhysical {
	return a.register(20 + lane*a.blockVectors() + i)
}

// accumulator returns the register of an accumulator lane's vector i (AVX-512).
func (a *assembler) accumulator(lane, i int) reg.VecPhysical {
	return a.register(8 + lane*a.blockVectors() + i)
}

// A source is an operand of the instruction: a plane, or one of the adjacent constants
// that start at its offset.
type source struct {
	*slot
	constant bool
	lane     int
}

// A slot is an operand's field of the instruction. The code that loads it is emitted at its
// first use, because registers are few.
type slot struct {
	number    int
	base      reg.GPPhysical
	offset    reg.Register    // from base; nil until loaded
	address   reg.Register    // base + offset; nil until loaded
	constants [5]reg.Register // AVX2: the constants, in all lanes; nil until loaded
}

// A broadcast is a number in memory that instructions repeat in all lanes (AVX-512).
type broadcast struct{ operand.Mem }

// plane takes the next operand of the instruction as the offset of a plane.
func (a *assembler) plane() source { return source{slot: a.nextOperand(scratchAt)} }

// constant takes the next operand as the offset of a constant.
func (a *assembler) constant() source { return a.constants(1)[0] }

// constants takes the next operand as the offset of n adjacent constants.
func (a *assembler) constants(n int) (all []source) {
	s := a.nextOperand(poolAt)
	for lane := range n {
		all = append(all, source{slot: s, constant: true, lane: lane})
	}
	return all
}

// operand takes the next operand as a plane or a constant, by the letter of its kind.
func (a *assembler) operand(kind byte) source {
	if kind == 'C' {
		return a.constant()
	}
	return a.plane()
}

func (a *assembler) nextOperand(base reg.GPPhysical) *slot {
	a.operands++
	return &slot{number: a.operands - 1, base: base}
}

// loadOffset loads an operand's offset into a register.
func (a *assembler) loadOffset(s *slot) reg.Register {
	if s.offset == nil {
		p := a.GP64()
		a.MOVWLZX(operand.Mem{Base: instructionAt, Disp: operandsAt + operandBytes*s.number}, p.As32())
		s.offset = p
	}
	return s.offset
}

// loadAddress loads an operand's address into a register.
func (a *assembler) loadAddress(s *slot) reg.Register {
	if s.address == nil {
		p := a.loadOffset(s)
		a.ADDQ(s.base, p)
		s.address, s.offset = p, p
	}
	return s.address
}

// indexed returns vector i of an operand for a plain load or store. Loads and stores add
// base and offset at no cost, unlike arithmetic on memory.
func (a *assembler) indexed(s source, i int) operand.Op {
	if s.constant || s.address != nil {
		return a.at(s, i)
	}
	return operand.Mem{Base: s.base, Index: a.loadOffset(s.slot), Scale: 1, Disp: i * a.vectorBytes()}
}

// at returns vector i of an operand.
func (a *assembler) at(s source, i int) operand.Op {
	switch {
	case !s.constant:
		return operand.Mem{Base: a.loadAddress(s.slot), Disp: i * a.vectorBytes()}
	case a.wide():
		return broadcast{operand.Mem{Base: a.loadAddress(s.slot), Disp: 4 * s.lane}}
	}
	if s.constants[s.lane] == nil {
		v := a.vector()
		a.VBROADCASTSS(operand.Mem{Base: a.loadAddress(s.slot), Disp: 4 * s.lane}, v)
		s.constants[s.lane] = v
	}
	return s.constants[s.lane]
}

// each emits the body for each vector of a block.
func (a *assembler) each(body func(i int)) {
	for i := range a.blockVectors() {
		body(i)
	}
}

// load loads a vector into a register.
func (a *assembler) load(o operand.Op) reg.VecVirtual {
	v := a.vector()
	a.move(o, v)
	return v
}

func (a *assembler) move(o, to operand.Op) {
	if b, ok := o.(broadcast); ok {
		a.VBROADCASTSS(b.Mem, to)
		return
	}
	a.VMOVUPS(o, to)
}

func (a *assembler) store(v operand.Op, to source, i int) { a.VMOVUPS(v, a.indexed(to, i)) }

// loadAt loads vector i of an operand.
func (a *assembler) loadAt(s source, i int) reg.VecVirtual { return a.load(a.indexed(s, i)) }

// next ends a handler: it advances to the next instruction and dispatches it.
func (a *assembler) next() {
	a.ADDQ(operand.U8(instructionBytes), instructionAt)
	a.dispatch()
}

// dispatch jumps to the current instruction's handler. avo has no indirect jumps. The
// inputs of the jump keep avo from allocating registers that the next handler needs.
func (a *assembler) dispatch() {
	to := operand.Mem{Base: instructionAt}
	live := []operand.Op{to, scratchAt, poolAt, frameAt, reg.RBP}
	for _, p := range positionsAt {
		live = append(live, p)
	}
	if a.wide() {
		live = append(live, blockAt)
		for n := 8; n < 32; n++ {
			live = append(live, a.register(n))
		}
		for _, k := range masks {
			live = append(live, k)
		}
	}
	a.Instruction(&ir.Instruction{Opcode: "JMP", Operands: []operand.Op{to}, Inputs: live, IsTerminal: true})
}

// literals are the constants of the arithmetic, as bits.
var literals = []uint32{
	0,
	0x3f800000, // 1
	0x80000000, // sign bit
	0x7fffffff, // all but the sign bit
	0x2b8cbccc, // 1e-12
	0x5f370000, // seed of rsqrt
	math.Float32bits(0.5023863), math.Float32bits(1.5016537), math.Float32bits(1.5023831),
	math.Float32bits(12582912), math.Float32bits(0.25),
	math.Float32bits(39.53671), math.Float32bits(-76.54978), math.Float32bits(81.601006), math.Float32bits(-41.341656), math.Float32bits(6.283185),
	math.Float32bits(128), math.Float32bits(-126), // bounds of exp2
	math.Float32bits(0.0013264727), math.Float32bits(0.009671513), math.Float32bits(0.055507336), math.Float32bits(0.24022242), math.Float32bits(0.693147),
	minusInfinity, 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x85ebca6b, 0xc2b2ae35, math.Float32bits(1.0 / (1 << 24)), // constants of hash
	0x88, // VFIXUPIMMPS: both kinds of NaN become +0, others stay
}

const (
	literalOne, literalSign, literalMagnitude = 0x3f800000, 0x80000000, 0x7fffffff
	minusInfinity                             = 0xff800000
	literalNoNaN                              = 0x88
)

// literal returns a constant of the arithmetic as an operand.
func (a *assembler) literal(bits uint32) operand.Op {
	for i, l := range literals {
		if l != bits {
			continue
		}
		m := operand.Mem{Symbol: operand.Symbol{Name: "literals" + a.name, Static: true}, Base: reg.StaticBase, Disp: 4 * i}
		if a.wide() {
			return broadcast{m}
		}
		m.Disp = a.vectorBytes() * i
		return m
	}
	panic(fmt.Sprintf("no literal %#x", bits))
}

func (a *assembler) number(f float32) operand.Op { return a.literal(math.Float32bits(f)) }

// literals emits the constants: one number each for AVX-512, which broadcasts them, and a
// whole vector each for AVX2.
func (p path) literals(c *build.Context) {
	repeat := 1
	if p.lanes == avx2.lanes {
		repeat = p.lanes
	}
	c.StaticGlobal("literals" + p.name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, l := range literals {
		for j := range repeat {
			c.AddDatum(4*(i*repeat+j), operand.U32(l))
		}
	}
}
