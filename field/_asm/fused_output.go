package main

import "github.com/mmcloughlin/avo/operand"

// outputHandlers returns the handlers that add to all lanes of the output.
func outputHandlers() (all []handler) {
	add := func(more []handler) { all = append(all, more...) }
	add(vectorVariants("outAdd", 1, func(a *assembler, kinds string) { // out += v
		v := a.triple(kinds[0])
		a.updateOutput(func(lane, i int, to operand.Op) { a.add(to, a.laneAt(v, lane, i), to) })
	}))
	add(vectorVariants("outMadP", 1, func(a *assembler, kinds string) { // out += v*s
		v, s := a.triple(kinds[0]), a.plane()
		a.updateScaled(s, func(lane, i int, k, to operand.Op) { a.mad(k, a.laneAt(v, lane, i), to) })
	}))
	add(vectorVariants("outMadC", 1, func(a *assembler, kinds string) { // out += v*c, lane by lane
		v, c := a.triple(kinds[0]), a.triple('T')
		a.updateOutput(func(lane, i int, to operand.Op) {
			x := a.loadLane(v, lane, i)
			a.mad(x, a.laneAt(c, lane, i), to)
		})
	}))
	add(vectorVariants("outCross", 1, func(a *assembler, kinds string) { // out += (c x v)*s
		v, c, s := a.triple(kinds[0]), a.triple('T'), a.plane()
		a.updateScaled(s, func(lane, i int, k, to operand.Op) { a.mad(a.cross(c, v, lane, i), k, to) })
	}))
	add([]handler{{"outExplosion", func(a *assembler) bool { // d = position - c; out += d * (|d|² < c3 ? rsqrt(|d|²)*c4 : 0)
		c := a.constants(5)
		outs := [3]outputLane{a.addressOutput(0), a.addressOutput(1), a.addressOutput(2)}
		a.each(func(i int) {
			var d [3]operand.Op
			for lane := range d {
				v := a.load(a.position(lane, i))
				a.sub(v, a.at(c[lane], i), v)
				d[lane] = v
			}
			square := a.sumSquares(d[:]...)
			k := a.mulIfLess(square, a.at(c[3], i), a.rsqrt(square), a.at(c[4], i))
			for lane := range d {
				outs[lane].update(i, func(to operand.Op) { a.mad(k, d[lane], to) })
			}
		})
		a.next()
		return true
	}}})
	for _, rotation := range []struct {
		name string
		x, z func(a *assembler, x, y, to operand.Op)
	}{
		{"outMadXNmadZ", (*assembler).mad, (*assembler).nmad},
		{"outNmadXMadZ", (*assembler).nmad, (*assembler).mad},
	} {
		add([]handler{{rotation.name, func(a *assembler) bool { // out.x += o0*s, out.z -= o1*s, or the other way round
			x, z, s := a.plane(), a.plane(), a.plane()
			outX, outZ := a.addressOutput(0), a.addressOutput(2)
			a.each(func(i int) {
				k := a.loadAt(s, i)
				outX.update(i, func(to operand.Op) { rotation.x(a, k, a.at(x, i), to) })
				outZ.update(i, func(to operand.Op) { rotation.z(a, k, a.at(z, i), to) })
			})
			a.next()
			return true
		}}})
	}
	add([]handler{{"outMadPT", func(a *assembler) bool { // out += c*s
		c, s := a.triple('T'), a.plane()
		a.updateScaled(s, func(lane, i int, k, to operand.Op) { a.mad(k, a.laneAt(c, lane, i), to) })
		a.next()
		return true
	}}})
	return all
}

// updateOutput updates all lanes of the output.
func (a *assembler) updateOutput(f func(lane, i int, to operand.Op)) {
	for lane := range 3 {
		out := a.addressOutput(lane)
		a.each(func(i int) { out.update(i, func(to operand.Op) { f(lane, i, to) }) })
	}
}

// updateScaled is like updateOutput, with plane s in a register.
func (a *assembler) updateScaled(s source, f func(lane, i int, k, to operand.Op)) {
	if !a.wide() {
		a.updateOutput(func(lane, i int, to operand.Op) { f(lane, i, a.loadAt(s, i), to) })
		return
	}
	a.each(func(i int) {
		k := a.loadAt(s, i)
		for lane := range 3 {
			f(lane, i, k, a.output(lane, i))
		}
	})
}
