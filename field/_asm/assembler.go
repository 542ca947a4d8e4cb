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

// A path is a set of instructions that handlers are made for.
type path struct {
	name  string // as in the names of Go
	lanes int    // of a vector register
}

var (
	avx512 = path{"AVX512", 16} // with DQ and VL
	avx2   = path{"AVX2", 8}    // with FMA
)

func (p path) vectorBytes() int { return 4 * p.lanes }
func (p path) vectors() int     { return blockPoints / p.lanes } // of a block

// General registers that all handlers share. AVX-512 keeps the output in Z20 to
// Z31 and the accumulator, one vector of three lanes, in Z8 to Z19; Z0 to Z7 are
// the handler's own. With 16 registers AVX2 keeps nothing.
var (
	instructionAt = reg.RSI
	scratchAt     = reg.RDI
	poolAt        = reg.R8
	frameAt       = reg.R9
	positionsAt   = [3]reg.GPPhysical{reg.R11, reg.R12, reg.R13}
	blockAt       = reg.R10 // AVX-512: the block's distance from the first one, in a plane
)

// Offsets in type frame of the Go side.
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

// An assembler writes one handler.
type assembler struct {
	*build.Context
	path
	operands int // given out so far
	returns  int // written so far

	nothing, fourth reg.VecVirtual // registers of 0 and 0.25, if they are in use
}

// masks say which points of a masked call get their output (AVX-512).
var masks = [4]reg.OpmaskPhysical{reg.K4, reg.K5, reg.K6, reg.K7}

func (a *assembler) wide() bool { return a.lanes == avx512.lanes }

func (a *assembler) vector() reg.VecVirtual {
	if a.wide() {
		return a.ZMM()
	}
	return a.YMM()
}

func (a *assembler) pinned(number int) reg.VecPhysical {
	return []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}[number]
}

// output is the register of a lane of the output (AVX-512).
func (a *assembler) output(lane, i int) reg.VecPhysical { return a.pinned(20 + lane*a.vectors() + i) }

// accumulator is the register of a lane of the accumulator (AVX-512).
func (a *assembler) accumulator(lane, i int) reg.VecPhysical {
	return a.pinned(8 + lane*a.vectors() + i)
}

// A source is an operand of the instruction: a plane, or one of the constants that
// begin at its place.
type source struct {
	*slot
	constant bool
	lane     int
}

// A slot is where the operand stands in the instruction. It is read when it is
// first used: there are few registers.
type slot struct {
	number int
	base   reg.GPPhysical
	offset reg.Register    // from base
	at     reg.Register    // the sum
	held   [5]reg.Register // AVX2: the constants, in all lanes
}

// A broadcast is a number in memory that stands for all lanes (AVX-512).
type broadcast struct{ operand.Mem }

// plane takes the next operand of the instruction as the offset of a plane.
func (a *assembler) plane() source { return source{slot: a.next(scratchAt)} }

// constant takes it as the offset of a constant.
func (a *assembler) constant() source { return a.constants(1)[0] }

// constants takes it as the offset of several, one after another.
func (a *assembler) constants(n int) (all []source) {
	s := a.next(poolAt)
	for lane := range n {
		all = append(all, source{slot: s, constant: true, lane: lane})
	}
	return all
}

// operand takes it as either, by the letter of its kind.
func (a *assembler) operand(kind byte) source {
	if kind == 'C' {
		return a.constant()
	}
	return a.plane()
}

func (a *assembler) next(base reg.GPPhysical) *slot {
	a.operands++
	return &slot{number: a.operands - 1, base: base}
}

// distance brings the offset of an operand into a register.
func (a *assembler) distance(s *slot) reg.Register {
	if s.offset == nil {
		p := a.GP64()
		a.MOVWLZX(operand.Mem{Base: instructionAt, Disp: operandsAt + operandBytes*s.number}, p.As32())
		s.offset = p
	}
	return s.offset
}

// place brings its address there.
func (a *assembler) place(s *slot) reg.Register {
	if s.at == nil {
		p := a.distance(s)
		a.ADDQ(s.base, p)
		s.at, s.offset = p, p
	}
	return s.at
}

// moved is vector i of a plane, for a load or a store by itself: those add up an
// address at no cost, which arithmetic on memory does not.
func (a *assembler) moved(s source, i int) operand.Op {
	if s.constant || s.at != nil {
		return a.at(s, i)
	}
	return operand.Mem{Base: s.base, Index: a.distance(s.slot), Scale: 1, Disp: i * a.vectorBytes()}
}

// at is vector i of an operand.
func (a *assembler) at(s source, i int) operand.Op {
	switch {
	case !s.constant:
		return operand.Mem{Base: a.place(s.slot), Disp: i * a.vectorBytes()}
	case a.wide():
		return broadcast{operand.Mem{Base: a.place(s.slot), Disp: 4 * s.lane}}
	}
	if s.held[s.lane] == nil {
		v := a.vector()
		a.VBROADCASTSS(operand.Mem{Base: a.place(s.slot), Disp: 4 * s.lane}, v)
		s.held[s.lane] = v
	}
	return s.held[s.lane]
}

// each writes the body for all vectors of a block.
func (a *assembler) each(body func(i int)) {
	for i := range a.vectors() {
		body(i)
	}
}

// load brings a vector into a register.
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

func (a *assembler) store(v operand.Op, to source, i int) { a.VMOVUPS(v, a.moved(to, i)) }

// take loads a vector of an operand.
func (a *assembler) take(s source, i int) reg.VecVirtual { return a.load(a.moved(s, i)) }

// step ends a handler: on to the next instruction. avo knows no indirect jump; the
// inputs keep it from using what the next handler relies on.
func (a *assembler) step() {
	a.ADDQ(operand.U8(instructionBytes), instructionAt)
	a.jump()
}

func (a *assembler) jump() {
	to := operand.Mem{Base: instructionAt}
	live := []operand.Op{to, scratchAt, poolAt, frameAt, reg.RBP}
	for _, p := range positionsAt {
		live = append(live, p)
	}
	if a.wide() {
		live = append(live, blockAt)
		for n := 8; n < 32; n++ {
			live = append(live, a.pinned(n))
		}
		for _, k := range masks {
			live = append(live, k)
		}
	}
	a.Instruction(&ir.Instruction{Opcode: "JMP", Operands: []operand.Op{to}, Inputs: live, IsTerminal: true})
}

// Literals are numbers of the arithmetic, by their bits.
var literals = []uint32{
	0,
	0x3f800000, // 1
	0x80000000, // the sign
	0x7fffffff, // all but the sign
	0x2b8cbccc, // 1e-12
	0x5f370000, // the seed of rsqrt
	math.Float32bits(0.5023863), math.Float32bits(1.5016537), math.Float32bits(1.5023831),
	math.Float32bits(12582912), math.Float32bits(0.25),
	math.Float32bits(39.53671), math.Float32bits(-76.54978), math.Float32bits(81.601006), math.Float32bits(-41.341656), math.Float32bits(6.283185),
	math.Float32bits(128), math.Float32bits(-126), // the bounds of exp2
	math.Float32bits(0.0013264727), math.Float32bits(0.009671513), math.Float32bits(0.055507336), math.Float32bits(0.24022242), math.Float32bits(0.693147),
	minusInfinity, 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x85ebca6b, 0xc2b2ae35, math.Float32bits(1.0 / (1 << 24)), // of hash
	0x88, // for VFIXUPIMMPS: both kinds of NaN become +0, all else stays
}

const (
	literalOne, literalSign, literalMagnitude = 0x3f800000, 0x80000000, 0x7fffffff
	minusInfinity                             = 0xff800000
	literalNoNaN                              = 0x88
)

// literal is a number of the arithmetic as an operand.
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

// literals writes them down: once each where an instruction can repeat them, a
// vector of each where it can't.
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
