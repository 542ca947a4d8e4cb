package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A family is the handlers of one opcode, by the kinds of their operands: P is a
// plane, C a constant. If operands commute, the constant is second.
type family struct {
	opcode, name string
	kinds        []string
	emit         func(a *assembler, o []source, i int) operand.Op // returns vector i of the result
}

var (
	unary    = []string{"P"}
	commutes = []string{"PP", "PC"}
	ordered  = []string{"PP", "PC", "CP"}
	products = []string{"PPP", "PCP", "PPC", "PCC", "CCP"}
)

var families = []family{
	{"opAdd", "add", commutes, binary((*assembler).add)},
	{"opSub", "sub", ordered, binary((*assembler).sub)},
	{"opMul", "mul", commutes, binary((*assembler).mul)},
	{"opDiv", "div", ordered, binary((*assembler).div)},
	{"opMad", "mad", products, product((*assembler).mad)},
	{"opNmad", "nmad", products, product((*assembler).nmad)},
	{"opMin", "min", ordered, binary((*assembler).min)},
	{"opMax", "max", ordered, binary((*assembler).max)},
	{"opAbs", "abs", unary, inPlace(func(a *assembler, x reg.VecVirtual) { a.and(x, a.literal(literalMagnitude), x) })},
	{"opNeg", "neg", unary, inPlace(func(a *assembler, x reg.VecVirtual) { a.xor(x, a.literal(literalSign), x) })},
	{"opFloor", "floor", unary, inPlace(func(a *assembler, x reg.VecVirtual) { a.floor(x) })},
	{"opSqrt", "sqrt", unary, inPlace(func(a *assembler, x reg.VecVirtual) { a.VSQRTPS(x, x) })},
	{"opRsqrt", "rsqrt", unary, func(a *assembler, o []source, i int) operand.Op { return a.rsqrt(a.loadAt(o[0], i)) }},
	{"opSin", "sin", unary, func(a *assembler, o []source, i int) operand.Op { return a.sin(a.loadAt(o[0], i)) }},
	{"opSaturate", "saturate", unary, inPlace(func(a *assembler, x reg.VecVirtual) { a.saturate(x) })},
	{"opExp2", "exp2", unary, func(a *assembler, o []source, i int) operand.Op { return a.exp2(a.loadAt(o[0], i)) }},
	{"opHashX", "hashX", unary, hashPart(0x9e3779b1)},
	{"opHashY", "hashY", unary, hashPart(0x85ebca77)},
	{"opHashZ", "hashZ", unary, hashPart(0xc2b2ae3d)},
	{"opHashSum", "hashSum", []string{"PPP", "PPC", "PCC"}, func(a *assembler, o []source, i int) operand.Op {
		return a.hashSum([3]operand.Op{a.at(o[0], i), a.at(o[1], i), a.at(o[2], i)})
	}},
	{"opSelectLT", "selectLT", selectKinds(), selection(isLess)},
	{"opSelectGE", "selectGE", selectKinds(), selection(isAtLeast)},
}

// selectKinds returns all kinds except those that compare two constants.
func selectKinds() (kinds []string) {
	for _, compared := range ordered {
		for _, chosen := range []string{"PP", "PC", "CP", "CC"} {
			kinds = append(kinds, compared+chosen)
		}
	}
	return kinds
}

func binary(f func(a *assembler, x, y, to operand.Op)) func(*assembler, []source, int) operand.Op {
	return func(a *assembler, o []source, i int) operand.Op {
		v := a.loadAt(o[0], i)
		f(a, v, a.at(o[1], i), v)
		return v
	}
}

func product(f func(a *assembler, x, y, to operand.Op)) func(*assembler, []source, int) operand.Op {
	return func(a *assembler, o []source, i int) operand.Op {
		v, sum := a.loadAt(o[0], i), a.loadAt(o[2], i)
		f(a, v, a.at(o[1], i), sum)
		return sum
	}
}

func inPlace(f func(a *assembler, x reg.VecVirtual)) func(*assembler, []source, int) operand.Op {
	return func(a *assembler, o []source, i int) operand.Op {
		v := a.loadAt(o[0], i)
		f(a, v)
		return v
	}
}

func selection(compare uint8) func(*assembler, []source, int) operand.Op {
	return func(a *assembler, o []source, i int) operand.Op {
		return a.selectOperands(compare, a.at(o[0], i), a.at(o[1], i), a.at(o[2], i), a.at(o[3], i))
	}
}

func hashPart(factor uint32) func(*assembler, []source, int) operand.Op {
	return func(a *assembler, o []source, i int) operand.Op { return a.hashPart(a.at(o[0], i), factor) }
}

func plainHandlers() (all []handler) {
	for _, f := range families {
		for _, kinds := range f.kinds {
			all = append(all, handler{f.name + kinds, func(a *assembler) bool {
				to := a.plane()
				var o []source
				for i := range len(kinds) {
					o = append(o, a.operand(kinds[i]))
				}
				a.each(func(i int) { a.store(f.emit(a, o, i), to, i) })
				a.next()
				return true
			}})
		}
	}
	return all
}

var laneNames = []string{"X", "Y", "Z"}

// sumFamilies add to a lane of the output.
var sumFamilies = []struct {
	opcode, name string
	kinds        []string
	emit         func(a *assembler, o []source, i int, to operand.Op)
}{
	{"opAdd", "outAdd", []string{"P", "C"}, func(a *assembler, o []source, i int, to operand.Op) { a.add(to, a.at(o[0], i), to) }},
	{"opSub", "outSub", []string{"P", "C"}, func(a *assembler, o []source, i int, to operand.Op) { a.sub(to, a.at(o[0], i), to) }},
	{"opMad", "outMad", commutes, func(a *assembler, o []source, i int, to operand.Op) {
		a.mad(a.loadAt(o[0], i), a.at(o[1], i), to)
	}},
	{"opNmad", "outNmad", commutes, func(a *assembler, o []source, i int, to operand.Op) {
		a.nmad(a.loadAt(o[0], i), a.at(o[1], i), to)
	}},
}

func sumHandlers() (all []handler) {
	for _, f := range sumFamilies {
		for lane, name := range laneNames {
			for _, kinds := range f.kinds {
				all = append(all, handler{f.name + name + kinds, func(a *assembler) bool {
					var o []source
					for i := range len(kinds) {
						o = append(o, a.operand(kinds[i]))
					}
					out := a.addressOutput(lane)
					a.each(func(i int) { out.update(i, func(to operand.Op) { f.emit(a, o, i, to) }) })
					a.next()
					return true
				}})
			}
		}
	}
	return all
}

// An outputLane is a lane of the output: in registers with AVX-512, otherwise in memory.
type outputLane struct {
	a       *assembler
	lane    int
	address reg.Register // AVX2
}

func (a *assembler) addressOutput(lane int) outputLane {
	o := outputLane{a: a, lane: lane}
	if !a.wide() {
		p := a.GP64()
		a.MOVQ(operand.Mem{Base: frameAt, Disp: frameOut + 8*lane}, p)
		o.address = p
	}
	return o
}

// update applies f to vector i of the lane in a register.
func (o outputLane) update(i int, f func(to operand.Op)) {
	if o.a.wide() {
		f(o.a.output(o.lane, i))
		return
	}
	m := operand.Mem{Base: o.address, Disp: i * o.a.vectorBytes()}
	v := o.a.load(m)
	f(v)
	o.a.VMOVUPS(v, m)
}
