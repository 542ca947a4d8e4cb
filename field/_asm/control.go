package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Pool indexes of the origin and of the clipping box.
const (
	poolOrigin = 0
	poolMin    = 3
	poolMax    = 6
)

// controlHandlers returns the handlers that begin and end a block or fill a plane.
func controlHandlers() []handler {
	all := []handler{{"none", func(*assembler) bool { return false }}}
	all = append(all, laneVariants("prefetch", (*assembler).prefetch, (*assembler).prefetch)...)
	all = append(all, laneVariants("begin", (*assembler).beginWide, (*assembler).begin)...)
	all = append(all, laneVariants("end", (*assembler).endWide, (*assembler).end)...)
	return append(all, []handler{
		{"fill", func(a *assembler) bool {
			to, c := a.plane(), a.constant()
			v := a.load(a.at(c, 0))
			a.each(func(i int) { a.store(v, to, i) })
			a.next()
			return true
		}},
		{"positionX", position(0)},
		{"positionY", position(1)},
		{"positionZ", position(2)},
		{"offsetX", offsetLane(0)},
		{"offsetY", offsetLane(1)},
		{"offsetZ", offsetLane(2)},
	}...)
}

// laneVariants returns a handler for each subset of the output's lanes, in the order of
// Program.sums. Lanes outside the subset keep their bits (F7).
func laneVariants(name string, wide, narrow func(a *assembler, lanes []int)) (all []handler) {
	for sums := 1; sums < 1<<3; sums++ {
		var lanes []int
		suffix := ""
		for lane, name := range laneNames {
			if sums>>lane&1 != 0 {
				lanes, suffix = append(lanes, lane), suffix+name
			}
		}
		all = append(all, handler{name + suffix, func(a *assembler) bool {
			if a.wide() {
				wide(a, lanes)
			} else {
				narrow(a, lanes)
			}
			return true
		}})
	}
	return all
}

// prefetch prefetches the points and the output of the next block, for code so long that
// the CPU's own prefetcher is late. Prefetching past the last block is harmless.
func (a *assembler) prefetch(lanes []int) {
	for line := 0; line < planeBytes; line += cacheLineBytes {
		for _, p := range positionsAt {
			a.PREFETCHT0(a.inBlock(p, planeBytes+line))
		}
	}
	for _, lane := range lanes {
		p := a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), p)
		for line := 0; line < planeBytes; line += cacheLineBytes {
			a.PREFETCHT0(a.inBlock(p, planeBytes+line))
		}
	}
	a.next()
}

// position copies a lane of the points to a plane.
func position(lane int) func(a *assembler) bool {
	return func(a *assembler) bool {
		to := a.plane()
		a.each(func(i int) { a.store(a.load(a.position(lane, i)), to, i) })
		a.next()
		return true
	}
}

// offsetLane subtracts a constant from a lane of the points.
func offsetLane(lane int) func(a *assembler) bool {
	return func(a *assembler) bool {
		to, c := a.plane(), a.constant()
		a.each(func(i int) {
			v := a.load(a.position(lane, i))
			a.sub(v, a.at(c, i), v)
			a.store(v, to, i)
		})
		a.next()
		return true
	}
}

func (a *assembler) position(lane, i int) operand.Mem {
	return a.inBlock(positionsAt[lane], i*a.vectorBytes())
}

// inBlock returns the address of a byte of the current block in one of the caller's
// planes. AVX2 advances the pointers themselves: in a masked call, the output is a copy
// in scratch and does not advance with the points.
func (a *assembler) inBlock(plane reg.Register, bytes int) operand.Mem {
	m := operand.Mem{Base: plane, Disp: bytes}
	if a.wide() {
		m.Index, m.Scale = blockAt, 1
	}
	return m
}

func (a *assembler) pool(number int) operand.Mem { return operand.Mem{Base: poolAt, Disp: 4 * number} }

func (a *assembler) frame(offset int) operand.Mem { return operand.Mem{Base: frameAt, Disp: offset} }

// beginWide loads the output into registers. In a masked call, K4 to K7 select the points
// whose output is stored: the points in the frame's lanes and, if the call clips, inside
// the box. A block without selected points is skipped before its output is read. Most
// blocks of a set have none.
func (a *assembler) beginWide(lanes []int) {
	a.CMPQ(a.frame(frameMasked), operand.U8(0))
	a.JNE(operand.LabelRef("masked"))
	a.Label("load")
	for _, lane := range lanes {
		p := a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), p)
		a.each(func(i int) { a.VMOVUPS(a.inBlock(p, i*a.vectorBytes()), a.output(lane, i)) })
	}
	a.next()

	a.Label("masked")
	a.each(func(i int) { a.KMOVW(a.frame(frameLanes+2*i), masks[i]) })
	a.CMPQ(a.frame(frameClip), operand.U8(0))
	a.JEQ(operand.LabelRef("selected"))
	for lane := range 3 {
		origin, low, high := a.vector(), a.vector(), a.vector()
		a.VBROADCASTSS(a.pool(poolOrigin+lane), origin)
		a.VBROADCASTSS(a.pool(poolMin+lane), low)
		a.VBROADCASTSS(a.pool(poolMax+lane), high)
		a.each(func(i int) {
			k := masks[i]
			v := a.load(a.position(lane, i))
			a.sub(v, origin, v)
			a.VCMPPS(operand.U8(isAtLeast), low, v, k, k)
			a.VCMPPS(operand.U8(isAtMost), high, v, k, k)
		})
	}
	a.Label("selected")
	x, y := a.K(), a.K()
	a.KORW(masks[0], masks[1], x)
	a.KORW(masks[2], masks[3], y)
	a.KORTESTW(x, y)
	a.JNE(operand.LabelRef("load"))
	a.nextBlockMasked(lanes)
}

// endWide stores the output, with +0 for NaN.
func (a *assembler) endWide(lanes []int) {
	k := a.K()
	v := a.blockVectors()
	for n := 0; n < len(lanes)*v; n += 2 {
		x, y := a.output(lanes[n/v], n%v), a.output(lanes[(n+1)/v], (n+1)%v)
		if n == 0 {
			a.VCMPPS(operand.U8(isOrdered), x, y, k)
		} else {
			a.VCMPPS(operand.U8(isOrdered), x, y, k, k)
		}
	}
	a.KORTESTW(k, k)
	a.JCC(operand.LabelRef("nan"))
	a.Label("numbers")
	a.CMPQ(a.frame(frameMasked), operand.U8(0))
	a.JNE(operand.LabelRef("masked"))
	a.storeOutput(lanes, func(lane, i int, to operand.Mem) { a.VMOVUPS(a.output(lane, i), to) })
	a.nextBlock(frameOut, lanes)

	a.Label("masked")
	a.storeOutput(lanes, func(lane, i int, to operand.Mem) { a.VMOVUPS(a.output(lane, i), masks[i], to) })
	a.nextBlockMasked(lanes)

	a.Label("nan")
	for _, lane := range lanes {
		a.each(func(i int) {
			o := a.output(lane, i)
			a.VFIXUPIMMPS_BCST(operand.U8(0), a.literal(literalNoNaN).(broadcast).Mem, o, o)
		})
	}
	a.JMP(operand.LabelRef("numbers"))
}

func (a *assembler) storeOutput(lanes []int, store func(lane, i int, to operand.Mem)) {
	for _, lane := range lanes {
		p := a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), p)
		a.each(func(i int) { store(lane, i, a.inBlock(p, i*a.vectorBytes())) })
	}
}

// begin does nothing unless the call is masked: handlers add to the output in place. In a
// masked call handlers add to a copy in scratch, and end stores the selected points. The
// second plane of scratch holds the mask of the frame's lanes. In the first, begin stores
// the mask of the selected points: the points in the frame's lanes and, if the call clips,
// inside the box.
func (a *assembler) begin(lanes []int) {
	a.CMPQ(a.frame(frameMasked), operand.U8(0))
	a.JNE(operand.LabelRef("masked"))
	a.next()

	a.Label("masked")
	a.CMPQ(a.frame(frameClip), operand.U8(0))
	a.JNE(operand.LabelRef("clip"))
	a.each(func(i int) { a.VMOVUPS(a.load(a.spare(1, i)), a.spare(0, i)) })
	a.JMP(operand.LabelRef("selected"))

	a.Label("clip")
	covered := a.newZero()
	a.each(func(i int) {
		inside := a.load(a.spare(1, i))
		for lane := range 3 {
			v, face := a.vector(), a.vector()
			a.VBROADCASTSS(a.pool(poolOrigin+lane), face)
			a.move(a.position(lane, i), v)
			a.sub(v, face, v)
			for f, predicate := range [2]uint8{isAtLeast, isAtMost} {
				a.VBROADCASTSS(a.pool(poolMin+3*f+lane), face)
				a.VCMPPS(operand.U8(predicate), face, v, face)
				a.VANDPS(face, inside, inside)
			}
		}
		a.VMOVUPS(inside, a.spare(0, i))
		a.VORPS(inside, covered, covered)
	})
	a.VTESTPS(covered, covered)
	a.JEQ(operand.LabelRef("outside"))
	a.Label("selected")
	for _, lane := range lanes {
		from, to := a.GP64(), a.GP64()
		a.MOVQ(a.frame(frameTarget+8*lane), from)
		a.MOVQ(a.frame(frameOut+8*lane), to)
		a.each(func(i int) {
			a.VMOVUPS(a.load(operand.Mem{Base: from, Disp: i * a.vectorBytes()}), operand.Mem{Base: to, Disp: i * a.vectorBytes()})
		})
	}
	a.next()

	a.Label("outside")
	a.nextBlock(frameTarget, lanes)
}

// spare returns a vector of one of the planes at the beginning of scratch.
func (a *assembler) spare(plane, i int) operand.Mem {
	return operand.Mem{Base: scratchAt, Disp: plane*planeBytes + i*a.vectorBytes()}
}

// end replaces NaN by +0. In a masked call it stores the selected points' output.
func (a *assembler) end(lanes []int) {
	covered := a.newZero()
	for _, lane := range lanes {
		p := a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), p)
		for i := 0; i < a.blockVectors(); i += 2 {
			v := a.load(operand.Mem{Base: p, Disp: i * a.vectorBytes()})
			a.VCMPPS(operand.U8(isUnordered), operand.Mem{Base: p, Disp: (i + 1) * a.vectorBytes()}, v, v)
			a.VORPS(v, covered, covered)
		}
	}
	a.VTESTPS(covered, covered)
	a.JNE(operand.LabelRef("nan"))
	a.Label("numbers")
	a.CMPQ(a.frame(frameMasked), operand.U8(0))
	a.JNE(operand.LabelRef("masked"))
	a.nextBlock(frameOut, lanes)

	a.Label("masked")
	for _, lane := range lanes {
		from, to := a.GP64(), a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), from)
		a.MOVQ(a.frame(frameTarget+8*lane), to)
		a.each(func(i int) {
			inside := a.load(a.spare(0, i))
			m := operand.Mem{Base: to, Disp: i * a.vectorBytes()}
			v := a.load(m)
			a.VBLENDVPS(inside, operand.Mem{Base: from, Disp: i * a.vectorBytes()}, v, v)
			a.VMOVUPS(v, m)
		})
	}
	a.nextBlock(frameTarget, lanes)

	a.Label("nan")
	for _, lane := range lanes {
		p := a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), p)
		a.each(func(i int) {
			m := operand.Mem{Base: p, Disp: i * a.vectorBytes()}
			v, ordered := a.load(m), a.vector()
			a.VCMPPS(operand.U8(isOrdered), v, v, ordered)
			a.VANDPS(v, ordered, v)
			a.VMOVUPS(v, m)
		})
	}
	a.JMP(operand.LabelRef("numbers"))
}

// nextBlockMasked is nextBlock after a masked block (AVX-512). The partial last block of
// a call runs first; the other blocks follow from the first one on.
func (a *assembler) nextBlockMasked(lanes []int) {
	next := fmt.Sprintf("next%d", a.returns)
	a.CMPQ(a.frame(frameTail), operand.U8(0))
	a.JEQ(operand.LabelRef(next))
	clip := a.GP64()
	a.MOVQ(a.frame(frameClip), clip)
	a.MOVQ(clip, a.frame(frameMasked))
	a.MOVQ(operand.I32(-1), a.frame(frameLanes))
	a.MOVQ(operand.U32(0), a.frame(frameTail))
	a.XORL(blockAt.As32(), blockAt.As32())
	a.MOVQ(a.frame(frameCode), instructionAt)
	a.dispatch()
	a.Label(next)
	a.nextBlock(frameOut, lanes)
}

// nextBlock starts the next block, or returns to the caller after the last.
func (a *assembler) nextBlock(out int, lanes []int) {
	done := fmt.Sprintf("done%d", a.returns)
	a.returns++
	if a.wide() {
		a.ADDQ(operand.U32(planeBytes), blockAt)
		a.CMPQ(blockAt, a.frame(frameBytes))
		a.JEQ(operand.LabelRef(done))
	} else {
		a.SUBQ(operand.U32(planeBytes), a.frame(frameBytes))
		a.JEQ(operand.LabelRef(done))
		for _, p := range positionsAt {
			a.ADDQ(operand.U32(planeBytes), p)
		}
		for _, lane := range lanes {
			a.ADDQ(operand.U32(planeBytes), a.frame(out+8*lane))
		}
	}
	a.MOVQ(a.frame(frameCode), instructionAt)
	a.dispatch()
	a.Label(done)
	a.VZEROUPPER()
	a.RET()
}
