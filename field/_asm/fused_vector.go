package main

import "github.com/mmcloughlin/avo/operand"

// vectors are those that give one.
func vectors() (all []handler) {
	add := func(more []handler) { all = append(all, more...) }
	add(accumulate("towards", 1, func(a *assembler, kinds string) { // position - c
		to, c := a.triple(kinds[0]), a.triple('T')
		a.each(func(i int) {
			for lane := range 3 {
				d := a.target(to, lane, i)
				a.sub(a.load(a.position(lane, i)), a.of(c, lane, i), d)
				a.settle(d, to, lane, i)
			}
		})
	}))
	add(accumulate("less", 2, func(a *assembler, kinds string) { // v - c
		to, v, c := a.triple(kinds[0]), a.triple(kinds[1]), a.triple('T')
		a.lanewise(to, v, func(lane, i int, x, d operand.Op) { a.sub(x, a.of(c, lane, i), d) })
	}))
	add(accumulate("stretch", 2, func(a *assembler, kinds string) { // v * c, lane by lane
		to, v, c := a.triple(kinds[0]), a.triple(kinds[1]), a.triple('T')
		a.lanewise(to, v, func(lane, i int, x, d operand.Op) { a.mul(x, a.of(c, lane, i), d) })
	}))
	add(accumulate("scale", 2, func(a *assembler, kinds string) { // v * s
		to, v, s := a.triple(kinds[0]), a.triple(kinds[1]), a.plane()
		a.lanewise(to, v, func(_, i int, x, d operand.Op) { a.mul(x, a.at(s, i), d) })
	}))
	add(accumulate("scaleRsqrt", 2, func(a *assembler, kinds string) { // v * rsqrt(s)
		to, s := a.triple(kinds[0]), a.plane()
		var k []operand.Op
		a.each(func(i int) { k = append(k, a.rsqrt(a.take(s, i))) })
		v := a.triple(kinds[1])
		a.lanewise(to, v, func(_, i int, x, d operand.Op) { a.mul(x, k[i], d) })
	}))
	add(accumulate("scaleShift", 2, func(a *assembler, kinds string) { // v*s + c
		to, s := a.triple(kinds[0]), a.plane()
		var k []operand.Op
		a.each(func(i int) { k = append(k, a.take(s, i)) })
		v, c := a.triple(kinds[1]), a.triple('T')
		for lane := range 3 {
			a.each(func(i int) {
				d := a.load(a.of(v, lane, i))
				a.madInto(d, k[i], a.of(c, lane, i))
				a.keep(d, to, lane, i)
			})
		}
	}))
	add(accumulate("axis", 2, func(a *assembler, kinds string) { // v - c*s
		to, s := a.triple(kinds[0]), a.plane()
		var k []operand.Op
		a.each(func(i int) { k = append(k, a.take(s, i)) }) // first, so that the register of its place is free again
		v, c := a.triple(kinds[1]), a.triple('T')
		for lane := range 3 {
			a.each(func(i int) {
				d := a.load(a.of(v, lane, i))
				a.nmad(k[i], a.of(c, lane, i), d)
				a.keep(d, to, lane, i)
			})
		}
	}))
	add(accumulate("below", 2, func(a *assembler, kinds string) { // s < limit ? v : c
		to, s, v, limit, c := a.triple(kinds[0]), a.plane(), a.triple(kinds[1]), a.constant(), a.triple('T')
		if to.accumulator && v.accumulator { // else there are too few registers for the places
			a.each(func(i int) {
				k := a.K()
				a.compare(isNotLess, a.take(s, i), a.at(limit, i), k)
				for lane := range 3 {
					d := a.target(to, lane, i)
					a.VBLENDMPS_BCST(a.of(c, lane, i).(broadcast).Mem, a.lane(v, lane, i), k, d)
					a.settle(d, to, lane, i)
				}
			})
			return
		}
		for lane := range 3 {
			a.each(func(i int) {
				x := a.take(s, i)
				d := a.chooseIn(isLess, x, a.at(limit, i), a.lane(v, lane, i), a.of(c, lane, i))
				a.keep(d, to, lane, i)
			})
		}
	}))
	add(accumulate("cross", 2, func(a *assembler, kinds string) { // c x v
		to, v, c := a.triple(kinds[0]), a.triple(kinds[1]), a.triple('T')
		if !to.accumulator { // its planes are none of the operand's
			for lane := range 3 {
				a.each(func(i int) { a.keep(a.cross(c, v, lane, i), to, lane, i) })
			}
			return
		}
		a.each(func(i int) {
			var t [3]operand.Op
			for lane := range 3 {
				t[lane] = a.cross(c, v, lane, i)
			}
			for lane := range 3 {
				a.keep(t[lane], to, lane, i)
			}
		})
	}))
	return all
}

// lanewise computes each lane of a result from that lane of an operand.
func (a *assembler) lanewise(to, v triple, f func(lane, i int, x, d operand.Op)) {
	for lane := range 3 {
		a.each(func(i int) {
			x := a.lane(v, lane, i)
			d := a.target(to, lane, i)
			f(lane, i, x, d)
			a.settle(d, to, lane, i)
		})
	}
}

// cross is a lane of c x v.
func (a *assembler) cross(c, v triple, lane, i int) operand.Op {
	j, k := (lane+1)%3, (lane+2)%3
	t := a.vector()
	x := a.lane(v, k, i)
	a.mul(x, a.of(c, j, i), t)
	y := a.lane(v, j, i)
	a.nmad(y, a.of(c, k, i), t)
	return t
}

// square is the sum of the squares of registers.
func (a *assembler) square(d ...operand.Op) operand.Op {
	t := a.vector()
	a.mul(d[0], d[0], t)
	for _, x := range d[1:] {
		a.mad(x, x, t)
	}
	return t
}
