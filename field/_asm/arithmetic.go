package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The arithmetic of arith.go on vectors. Operands are in the order of the effect's text,
// then the result. The second of two operands may be memory or a broadcast.

type instruction func(...operand.Op)

// emit emits plain, or bcst if the source is a broadcast.
func (a *assembler) emit(plain, bcst instruction, source operand.Op, rest ...operand.Op) {
	if b, ok := source.(broadcast); ok {
		bcst(append([]operand.Op{b.Mem}, rest...)...)
		return
	}
	plain(append([]operand.Op{source}, rest...)...)
}

func (a *assembler) add(x, y, to operand.Op) { a.emit(a.VADDPS, a.VADDPS_BCST, y, x, to) }
func (a *assembler) sub(x, y, to operand.Op) { a.emit(a.VSUBPS, a.VSUBPS_BCST, y, x, to) }
func (a *assembler) mul(x, y, to operand.Op) { a.emit(a.VMULPS, a.VMULPS_BCST, y, x, to) }
func (a *assembler) div(x, y, to operand.Op) { a.emit(a.VDIVPS, a.VDIVPS_BCST, y, x, to) }
func (a *assembler) min(x, y, to operand.Op) { a.emit(a.VMINPS, a.VMINPS_BCST, y, x, to) }
func (a *assembler) max(x, y, to operand.Op) { a.emit(a.VMAXPS, a.VMAXPS_BCST, y, x, to) }

// mad does to = x*y + to, nmad to = to - x*y.
func (a *assembler) mad(x, y, to operand.Op) { a.emit(a.VFMADD231PS, a.VFMADD231PS_BCST, y, x, to) }

func (a *assembler) nmad(x, y, to operand.Op) { a.emit(a.VFNMADD231PS, a.VFNMADD231PS_BCST, y, x, to) }

// madInto does x = x*y + z, nmadInto x = z - x*y.
func (a *assembler) madInto(x, y, z operand.Op) { a.emit(a.VFMADD213PS, a.VFMADD213PS_BCST, z, y, x) }

func (a *assembler) nmadInto(x, y, z operand.Op) {
	a.emit(a.VFNMADD213PS, a.VFNMADD213PS_BCST, z, y, x)
}

func (a *assembler) and(x, y, to operand.Op) {
	if a.wide() {
		a.emit(a.VPANDD, a.VPANDD_BCST, y, x, to)
		return
	}
	a.VANDPS(y, x, to)
}

func (a *assembler) xor(x, y, to operand.Op) {
	if a.wide() {
		a.emit(a.VPXORD, a.VPXORD_BCST, y, x, to)
		return
	}
	a.VXORPS(y, x, to)
}

// newZero returns a register of 0 that the caller may change.
func (a *assembler) newZero() reg.VecVirtual {
	z := a.vector()
	a.xor(z, z, z)
	return z
}

// zero returns the handler's constant register of 0.
func (a *assembler) zero() reg.VecVirtual {
	if a.zeros == nil {
		a.zeros = a.newZero()
	}
	return a.zeros
}

// quarter returns the handler's constant register of 0.25.
func (a *assembler) quarter() reg.VecVirtual {
	if a.quarters == nil {
		a.quarters = a.load(a.number(0.25))
	}
	return a.quarters
}

const (
	xorOfAnd  = 0x78 // VPTERNLOGD: third ^ (second & first)
	roundDown = 9    // VROUNDPS, VRNDSCALEPS: floor, without exceptions
	// Quiet comparisons. On NaN they are false, except isUnordered and isNotLess.
	isUnordered = 3
	isNotLess   = 21
	isOrdered   = 7
	isLess      = 17
	isAtMost    = 18
	isAtLeast   = 29
)

func (a *assembler) floor(x operand.Op) {
	if a.wide() {
		a.VRNDSCALEPS(operand.U8(roundDown), x, x)
		return
	}
	a.VROUNDPS(operand.U8(roundDown), x, x)
}

func (a *assembler) rsqrt(x operand.Op) reg.VecVirtual {
	h, y, t := a.vector(), a.vector(), a.vector()
	c := a.vector()
	a.max(x, a.literal(0x2b8cbccc), c)
	a.mul(c, a.number(0.5023863), h)
	a.VPSRLD(operand.U8(1), c, c)
	a.move(a.literal(0x5f370000), y)
	a.VPSUBD(c, y, y)
	for _, k := range []float32{1.5016537, 1.5023831} {
		a.mul(y, y, t)
		a.nmadInto(t, h, a.number(k))
		a.mul(y, t, y)
	}
	return y
}

func (a *assembler) sin(t operand.Op) reg.VecVirtual {
	q, v := a.vector(), a.vector()
	a.add(t, a.number(12582912), q)
	a.sub(q, a.number(12582912), q)
	a.sub(t, q, q)
	a.and(q, a.literal(literalMagnitude), v)
	a.sub(v, a.quarter(), v)
	a.and(v, a.literal(literalMagnitude), v)
	a.sub(a.quarter(), v, v)
	a.max(a.zero(), v, v)
	w := a.vector()
	a.mul(v, v, w)
	p := a.load(a.number(39.53671))
	for _, k := range []float32{-76.54978, 81.601006, -41.341656, 6.283185} {
		a.madInto(p, w, a.number(k))
	}
	a.mul(p, v, p)
	if a.wide() {
		a.VPTERNLOGD_BCST(operand.U8(xorOfAnd), a.literal(literalSign).(broadcast).Mem, q, p)
		return p
	}
	a.and(q, a.literal(literalSign), q)
	a.xor(p, q, p)
	return p
}

// exp2 gives 0 below -126 and for NaN.
func (a *assembler) exp2(x operand.Op) operand.Op {
	t, f := a.vector(), a.vector()
	a.min(x, a.number(128), f)
	a.add(f, a.number(12582912), t)
	n := a.vector()
	a.sub(t, a.number(12582912), n)
	a.sub(f, n, f)
	p := a.load(a.number(0.0013264727))
	for _, k := range []float32{0.009671513, 0.055507336, 0.24022242, 0.693147, 1} {
		a.madInto(p, f, a.number(k))
	}
	a.VPSLLD(operand.U8(23), t, t)
	a.VPADDD(t, p, p)
	if a.wide() {
		k := a.K()
		a.compare(isAtLeast, x, a.number(-126), k)
		a.VMOVAPS_Z(p, k, p)
		return p
	}
	a.VCMPPS(operand.U8(isAtLeast), a.number(-126), x, t)
	a.VANDPS(t, p, p)
	return p
}

// Many hashes share numbers, so a hash has two steps: it mixes each number once, and then
// mixes the sum of three mixed numbers. Between the steps the numbers are integers.

// hashPart mixes a number's bits.
func (a *assembler) hashPart(x operand.Op, factor uint32) operand.Op {
	u := a.load(x)
	a.max(u, a.literal(minusInfinity), u)
	a.add(u, a.literal(0), u)
	a.mix(u, 15)
	a.multiply(u, factor)
	return u
}

// hashSum mixes the sum of three parts.
func (a *assembler) hashSum(x [3]operand.Op) operand.Op {
	h := a.load(x[0])
	a.emit(a.VPADDD, a.VPADDD_BCST, x[1], h, h)
	a.emit(a.VPADDD, a.VPADDD_BCST, x[2], h, h)
	a.mix(h, 16)
	a.multiply(h, 0x85ebca6b)
	a.mix(h, 13)
	a.multiply(h, 0xc2b2ae35)
	a.mix(h, 16)
	a.VPSRLD(operand.U8(8), h, h)
	a.VCVTDQ2PS(h, h)
	a.mul(h, a.number(1.0/(1<<24)), h)
	return h
}

// mix emits u ^= u >> shift.
func (a *assembler) mix(u operand.Op, shift uint8) {
	t := a.vector()
	a.VPSRLD(operand.U8(shift), u, t)
	a.xor(u, t, u)
}

// multiply multiplies 32-bit integers.
func (a *assembler) multiply(u operand.Op, factor uint32) {
	a.emit(a.VPMULLD, a.VPMULLD_BCST, a.literal(factor), u, u)
}

func (a *assembler) saturate(x operand.Op) {
	a.max(x, a.zero(), x)
	a.min(x, a.literal(literalOne), x)
}

// selectOperands gives x where p compares with q, and y elsewhere.
func (a *assembler) selectOperands(compare uint8, p, q, x, y operand.Op) reg.VecVirtual {
	pv := a.load(p)
	if a.wide() {
		k := a.K()
		a.compare(compare, pv, q, k)
		v := a.load(y)
		if b, ok := x.(broadcast); ok {
			a.VBROADCASTSS(b.Mem, k, v)
		} else {
			a.VMOVUPS(x, k, v)
		}
		return v
	}
	a.VCMPPS(operand.U8(compare), q, pv, pv)
	v := a.load(y)
	a.VBLENDVPS(pv, x, v, v)
	return v
}

// mulIfLess gives x*y where p < q, and 0 elsewhere.
func (a *assembler) mulIfLess(p, q, x, y operand.Op) operand.Op {
	v := a.vector()
	if a.wide() {
		k := a.K()
		a.compare(isLess, p, q, k)
		a.emit(func(o ...operand.Op) { a.VMULPS_Z(o[0], o[1], o[2], o[3]) }, func(o ...operand.Op) { a.VMULPS_BCST_Z(o[0], o[1], o[2], o[3]) }, y, x, k, v)
		return v
	}
	below := a.vector()
	a.VCMPPS(operand.U8(isLess), q, p, below)
	a.mul(x, y, v)
	a.VANDPS(below, v, v)
	return v
}

// selectRegisters is selectOperands with p and x in registers.
func (a *assembler) selectRegisters(compare uint8, p, q, x, y operand.Op) operand.Op {
	v := a.vector()
	if a.wide() {
		k := a.K()
		a.compare(compare, p, q, k)
		a.move(y, v)
		a.VMOVAPS(x, k, v)
		return v
	}
	a.VCMPPS(operand.U8(compare), q, p, v)
	a.VBLENDVPS(v, x, y, v)
	return v
}

// compare sets k's bits for the lanes where x compares with y.
func (a *assembler) compare(predicate uint8, x, y, k operand.Op) {
	a.emit(func(o ...operand.Op) { a.VCMPPS(append([]operand.Op{operand.U8(predicate)}, o...)...) },
		func(o ...operand.Op) { a.VCMPPS_BCST(append([]operand.Op{operand.U8(predicate)}, o...)...) }, y, x, k)
}
