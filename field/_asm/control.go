package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The first constants of the pool, in float32s: the origin, and the faces of the
// box that clips.
const (
	poolOrigin = 0
	poolMin    = 3
	poolMax    = 6
)

// control is what stands before and after the operations of a block.
func control() []handler {
	all := []handler{{"none", func(*assembler) bool { return false }}}
	all = append(all, forLanes("ahead", (*assembler).ahead, (*assembler).ahead)...)
	all = append(all, forLanes("begin", (*assembler).beginWide, (*assembler).begin)...)
	all = append(all, forLanes("end", (*assembler).endWide, (*assembler).end)...)
	return append(all, []handler{
		{"fill", func(a *assembler) bool {
			to, c := a.plane(), a.constant()
			v := a.load(a.at(c, 0))
			a.each(func(i int) { a.store(v, to, i) })
			a.step()
			return true
		}},
		{"positionX", position(0)},
		{"positionY", position(1)},
		{"positionZ", position(2)},
		{"towardsX", towardsLane(0)},
		{"towardsY", towardsLane(1)},
		{"towardsZ", towardsLane(2)},
	}...)
}

// forLanes makes a handler for each choice of lanes of the output, in the order of the
// bits of Program.sums: lanes that no instruction adds to are not touched (F7).
func forLanes(name string, wide, narrow func(a *assembler, lanes []int)) (all []handler) {
	for sums := 1; sums < 1<<3; sums++ {
		var lanes []int
		which := ""
		for lane, of := range laneNames {
			if sums>>lane&1 != 0 {
				lanes, which = append(lanes, lane), which+of
			}
		}
		all = append(all, handler{name + which, func(a *assembler) bool {
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

// ahead fetches the points and the output of the next block, for code that takes so
// long for one that the machine does not see the next in time. What is beyond the
// last block is not touched by it.
func (a *assembler) ahead(lanes []int) {
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
	a.step()
}

// position copies a lane of the position to a plane.
func position(lane int) func(a *assembler) bool {
	return func(a *assembler) bool {
		to := a.plane()
		a.each(func(i int) { a.store(a.load(a.position(lane, i)), to, i) })
		a.step()
		return true
	}
}

// towardsLane takes a constant away from it.
func towardsLane(lane int) func(a *assembler) bool {
	return func(a *assembler) bool {
		to, c := a.plane(), a.constant()
		a.each(func(i int) {
			v := a.load(a.position(lane, i))
			a.sub(v, a.at(c, i), v)
			a.store(v, to, i)
		})
		a.step()
		return true
	}
}

func (a *assembler) position(lane, i int) operand.Mem {
	return a.inBlock(positionsAt[lane], i*a.vectorBytes())
}

// inBlock is a place in a plane of the caller's at the block at hand. AVX2 moves the
// pointers themselves, as it has the output of a masked call elsewhere.
func (a *assembler) inBlock(plane reg.Register, bytes int) operand.Mem {
	m := operand.Mem{Base: plane, Disp: bytes}
	if a.wide() {
		m.Index, m.Scale = blockAt, 1
	}
	return m
}

func (a *assembler) pool(number int) operand.Mem { return operand.Mem{Base: poolAt, Disp: 4 * number} }

func (a *assembler) frame(offset int) operand.Mem { return operand.Mem{Base: frameAt, Disp: offset} }

// beginWide takes the output into registers. In a masked call K4 to K7 say which
// points get theirs: those that the call names, and if it clips, only those inside
// of the box. A block that has none is done already, before its output is read: of
// the blocks that a set looks at, most are such.
func (a *assembler) beginWide(lanes []int) {
	a.CMPQ(a.frame(frameMasked), operand.U8(0))
	a.JNE(operand.LabelRef("masked"))
	a.Label("some")
	for _, lane := range lanes {
		p := a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), p)
		a.each(func(i int) { a.VMOVUPS(a.inBlock(p, i*a.vectorBytes()), a.output(lane, i)) })
	}
	a.step()

	a.Label("masked")
	a.each(func(i int) { a.KMOVW(a.frame(frameLanes+2*i), masks[i]) })
	a.CMPQ(a.frame(frameClip), operand.U8(0))
	a.JEQ(operand.LabelRef("known"))
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
	a.Label("known")
	x, y := a.K(), a.K()
	a.KORW(masks[0], masks[1], x)
	a.KORW(masks[2], masks[3], y)
	a.KORTESTW(x, y)
	a.JNE(operand.LabelRef("some"))
	a.advanceMasked(lanes)
}

// endWide stores the output, NaN as +0.
func (a *assembler) endWide(lanes []int) {
	k := a.K()
	v := a.vectors()
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
	a.advance(frameOut, lanes)

	a.Label("masked")
	a.storeOutput(lanes, func(lane, i int, to operand.Mem) { a.VMOVUPS(a.output(lane, i), masks[i], to) })
	a.advanceMasked(lanes)

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

// begin does nothing unless the call is masked: the output is worked on where it
// is. A masked call works on a copy of it in scratch, so that the rest can stay. The
// second plane of scratch has the points that the call names; the first gets those
// of them that are inside of the box, if it clips.
func (a *assembler) begin(lanes []int) {
	a.CMPQ(a.frame(frameMasked), operand.U8(0))
	a.JNE(operand.LabelRef("masked"))
	a.step()

	a.Label("masked")
	a.CMPQ(a.frame(frameClip), operand.U8(0))
	a.JNE(operand.LabelRef("clip"))
	a.each(func(i int) { a.VMOVUPS(a.load(a.spare(1, i)), a.spare(0, i)) })
	a.JMP(operand.LabelRef("known"))

	a.Label("clip")
	any := a.cleared()
	a.each(func(i int) {
		inside := a.load(a.spare(1, i))
		for lane := range 3 {
			v, face := a.vector(), a.vector()
			a.VBROADCASTSS(a.pool(poolOrigin+lane), face)
			a.move(a.position(lane, i), v)
			a.sub(v, face, v)
			for f, how := range [2]uint8{isAtLeast, isAtMost} {
				a.VBROADCASTSS(a.pool(poolMin+3*f+lane), face)
				a.VCMPPS(operand.U8(how), face, v, face)
				a.VANDPS(face, inside, inside)
			}
		}
		a.VMOVUPS(inside, a.spare(0, i))
		a.VORPS(inside, any, any)
	})
	a.VTESTPS(any, any)
	a.JEQ(operand.LabelRef("outside"))
	a.Label("known")
	for _, lane := range lanes {
		from, to := a.GP64(), a.GP64()
		a.MOVQ(a.frame(frameTarget+8*lane), from)
		a.MOVQ(a.frame(frameOut+8*lane), to)
		a.each(func(i int) {
			a.VMOVUPS(a.load(operand.Mem{Base: from, Disp: i * a.vectorBytes()}), operand.Mem{Base: to, Disp: i * a.vectorBytes()})
		})
	}
	a.step()

	a.Label("outside")
	a.advance(frameTarget, lanes)
}

// spare is a vector of one of the planes that scratch begins with.
func (a *assembler) spare(plane, i int) operand.Mem {
	return operand.Mem{Base: scratchAt, Disp: plane*planeBytes + i*a.vectorBytes()}
}

// end makes NaN +0; a masked call copies what it may to where it belongs.
func (a *assembler) end(lanes []int) {
	any := a.cleared()
	for _, lane := range lanes {
		p := a.GP64()
		a.MOVQ(a.frame(frameOut+8*lane), p)
		for i := 0; i < a.vectors(); i += 2 {
			v := a.load(operand.Mem{Base: p, Disp: i * a.vectorBytes()})
			a.VCMPPS(operand.U8(isUnordered), operand.Mem{Base: p, Disp: (i + 1) * a.vectorBytes()}, v, v)
			a.VORPS(v, any, any)
		}
	}
	a.VTESTPS(any, any)
	a.JNE(operand.LabelRef("nan"))
	a.Label("numbers")
	a.CMPQ(a.frame(frameMasked), operand.U8(0))
	a.JNE(operand.LabelRef("masked"))
	a.advance(frameOut, lanes)

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
	a.advance(frameTarget, lanes)

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

// advanceMasked is advance behind a masked block (AVX-512). The block that a call may
// be masked for is the one at its end, and it comes first: the others follow, from the
// beginning.
func (a *assembler) advanceMasked(lanes []int) {
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
	a.jump()
	a.Label(next)
	a.advance(frameOut, lanes)
}

// advance goes on to the next block, or back to the caller.
func (a *assembler) advance(out int, lanes []int) {
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
	a.jump()
	a.Label(done)
	a.VZEROUPPER()
	a.RET()
}
