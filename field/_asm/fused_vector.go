package main

import "github.com/mmcloughlin/avo/operand"

// vectorHandlers returns the handlers that give a vector.
func vectorHandlers() (all []handler) {
	add := func(more []handler) { all = append(all, more...) }
	add(vectorVariants("offset", 1, func(a *assembler, kinds string) { // position - c
		to, c := a.triple(kinds[0]), a.triple('T')
		a.each(func(i int) {
			for lane := range 3 {
				d := a.target(to, lane, i)
				a.sub(a.load(a.position(lane, i)), a.laneAt(c, lane, i), d)
				a.storeTarget(d, to, lane, i)
			}
		})
	}))
	add(vectorVariants("subC", 2, func(a *assembler, kinds string) { // v - c
		to, v, c := a.triple(kinds[0]), a.triple(kinds[1]), a.triple('T')
		a.lanewise(to, v, func(lane, i int, x, d operand.Op) { a.sub(x, a.laneAt(c, lane, i), d) })
	}))
	add(vectorVariants("mulC", 2, func(a *assembler, kinds string) { // v * c, lane by lane
		to, v, c := a.triple(kinds[0]), a.triple(kinds[1]), a.triple('T')
		a.lanewise(to, v, func(lane, i int, x, d operand.Op) { a.mul(x, a.laneAt(c, lane, i), d) })
	}))
	add(vectorVariants("scale", 2, func(a *assembler, kinds string) { // v * s
		to, v, s := a.triple(kinds[0]), a.triple(kinds[1]), a.plane()
		a.lanewise(to, v, func(_, i int, x, d operand.Op) { a.mul(x, a.at(s, i), d) })
	}))
	add(vectorVariants("scaleRsqrt", 2, func(a *assembler, kinds string) { // v * rsqrt(s)
		to, s := a.triple(kinds[0]), a.plane()
		var k []operand.Op
		a.each(func(i int) { k = append(k, a.rsqrt(a.loadAt(s, i))) })
		v := a.triple(kinds[1])
		a.lanewise(to, v, func(_, i int, x, d operand.Op) { a.mul(x, k[i], d) })
	}))
	add(vectorVariants("scaleShift", 2, func(a *assembler, kinds string) { // v*s + c
		to, s := a.triple(kinds[0]), a.plane()
		var k []operand.Op
		a.each(func(i int) { k = append(k, a.loadAt(s, i)) })
		v, c := a.triple(kinds[1]), a.triple('T')
		for lane := range 3 {
			a.each(func(i int) {
				d := a.load(a.laneAt(v, lane, i))
				a.madInto(d, k[i], a.laneAt(c, lane, i))
				a.storeLane(d, to, lane, i)
			})
		}
	}))
	add(vectorVariants("axis", 2, func(a *assembler, kinds string) { // v - c*s
		to, s := a.triple(kinds[0]), a.plane()
		var k []operand.Op
		a.each(func(i int) { k = append(k, a.loadAt(s, i)) }) // first, to free the register of its address
		v, c := a.triple(kinds[1]), a.triple('T')
		for lane := range 3 {
			a.each(func(i int) {
				d := a.load(a.laneAt(v, lane, i))
				a.nmad(k[i], a.laneAt(c, lane, i), d)
				a.storeLane(d, to, lane, i)
			})
		}
	}))
	add(vectorVariants("below", 2, func(a *assembler, kinds string) { // s < limit ? v : c
		to, s, v, limit, c := a.triple(kinds[0]), a.plane(), a.triple(kinds[1]), a.constant(), a.triple('T')
		if to.accumulator && v.accumulator { // otherwise there are too few registers for addresses
			a.each(func(i int) {
				k := a.K()
				a.compare(isNotLess, a.loadAt(s, i), a.at(limit, i), k)
				for lane := range 3 {
					d := a.target(to, lane, i)
					a.VBLENDMPS_BCST(a.laneAt(c, lane, i).(broadcast).Mem, a.loadLane(v, lane, i), k, d)
					a.storeTarget(d, to, lane, i)
				}
			})
			return
		}
		for lane := range 3 {
			a.each(func(i int) {
				x := a.loadAt(s, i)
				d := a.selectRegisters(isLess, x, a.at(limit, i), a.loadLane(v, lane, i), a.laneAt(c, lane, i))
				a.storeLane(d, to, lane, i)
			})
		}
	}))
	add(vectorVariants("cross", 2, func(a *assembler, kinds string) { // c x v
		to, v, c := a.triple(kinds[0]), a.triple(kinds[1]), a.triple('T')
		if !to.accumulator { // its planes differ from the operand's
			for lane := range 3 {
				a.each(func(i int) { a.storeLane(a.cross(c, v, lane, i), to, lane, i) })
			}
			return
		}
		a.each(func(i int) {
			var t [3]operand.Op
			for lane := range 3 {
				t[lane] = a.cross(c, v, lane, i)
			}
			for lane := range 3 {
				a.storeLane(t[lane], to, lane, i)
			}
		})
	}))
	return all
}

// lanewise computes each lane of a result from the same lane of an operand.
func (a *assembler) lanewise(to, v triple, f func(lane, i int, x, d operand.Op)) {
	for lane := range 3 {
		a.each(func(i int) {
			x := a.loadLane(v, lane, i)
			d := a.target(to, lane, i)
			f(lane, i, x, d)
			a.storeTarget(d, to, lane, i)
		})
	}
}

// cross gives a lane of c x v.
func (a *assembler) cross(c, v triple, lane, i int) operand.Op {
	j, k := (lane+1)%3, (lane+2)%3
	t := a.vector()
	x := a.loadLane(v, k, i)
	a.mul(x, a.laneAt(c, j, i), t)
	y := a.loadLane(v, j, i)
	a.nmad(y, a.laneAt(c, k, i), t)
	return t
}

// sumSquares returns a register with the sum of the squares of d.
func (a *assembler) sumSquares(d ...operand.Op) operand.Op {
	t := a.vector()
	a.mul(d[0], d[0], t)
	for _, x := range d[1:] {
		a.mad(x, x, t)
	}
	return t
}
