package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The arithmetic of arith.go on vectors. Operands are in the order of the text;
// the last one is where the result goes. Of two operands the second may be
// memory or a broadcast.

type instruction func(...operand.Op)

func (a *assembler) emit(plain, repeated instruction, source operand.Op, rest ...operand.Op) {
	if b, ok := source.(broadcast); ok {
		repeated(append([]operand.Op{b.Mem}, rest...)...)
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

// cleared is a register that begins as 0.
func (a *assembler) cleared() reg.VecVirtual {
	z := a.vector()
	a.xor(z, z, z)
	return z
}

// zero is a register of 0 that stays so, one for all vectors of a handler.
func (a *assembler) zero() reg.VecVirtual {
	if a.nothing == nil {
		a.nothing = a.cleared()
	}
	return a.nothing
}

// quarter is one of 0.25.
func (a *assembler) quarter() reg.VecVirtual {
	if a.fourth == nil {
		a.fourth = a.load(a.number(0.25))
	}
	return a.fourth
}

const (
	xorOfAnd  = 0x78 // of the bits of three: the third xor (the second and the first)
	roundDown = 9    // to the next integer below, quietly
	// Comparisons, quiet ones. Except for isUnordered and isNotLess a NaN makes them false.
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

// exp2 is 0 for what is below -126, and for NaN.
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

// A hash is made in two steps, since many hashes have numbers in common: each
// number is mixed by itself, once, and the sum of three is mixed again. What is
// between the steps are integers.

// hashPart mixes the bits of a number.
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

// mix does u ^= u >> shift.
func (a *assembler) mix(u operand.Op, shift uint8) {
	t := a.vector()
	a.VPSRLD(operand.U8(shift), u, t)
	a.xor(u, t, u)
}

// multiply is that of integers of 32 bits.
func (a *assembler) multiply(u operand.Op, factor uint32) {
	a.emit(a.VPMULLD, a.VPMULLD_BCST, a.literal(factor), u, u)
}

func (a *assembler) saturate(x operand.Op) {
	a.max(x, a.zero(), x)
	a.min(x, a.literal(literalOne), x)
}

// choose gives x where the comparison of p with q holds, and y elsewhere.
func (a *assembler) choose(compare uint8, p, q, x, y operand.Op) reg.VecVirtual {
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

// scaledBelow gives x*y where p is less than q, and 0 elsewhere.
func (a *assembler) scaledBelow(p, q, x, y operand.Op) operand.Op {
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

// chooseIn is choose where the compared and the first of the choices are in
// registers.
func (a *assembler) chooseIn(how uint8, p, q, x, y operand.Op) operand.Op {
	v := a.vector()
	if a.wide() {
		k := a.K()
		a.compare(how, p, q, k)
		a.move(y, v)
		a.VMOVAPS(x, k, v)
		return v
	}
	a.VCMPPS(operand.U8(how), q, p, v)
	a.VBLENDVPS(v, x, y, v)
	return v
}

// compare sets the bits of k for the lanes where x compares with y.
func (a *assembler) compare(how uint8, x, y, k operand.Op) {
	a.emit(func(o ...operand.Op) { a.VCMPPS(append([]operand.Op{operand.U8(how)}, o...)...) },
		func(o ...operand.Op) { a.VCMPPS_BCST(append([]operand.Op{operand.U8(how)}, o...)...) }, y, x, k)
}
