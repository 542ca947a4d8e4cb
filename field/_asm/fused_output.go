package main

import "github.com/mmcloughlin/avo/operand"

// outputs are those that add to all lanes of the output.
func outputs() (all []handler) {
	add := func(more []handler) { all = append(all, more...) }
	add(accumulate("outAdd", 1, func(a *assembler, kinds string) { // out += v
		v := a.triple(kinds[0])
		a.toOutput(func(lane, i int, to operand.Op) { a.add(to, a.of(v, lane, i), to) })
	}))
	add(accumulate("outMadP", 1, func(a *assembler, kinds string) { // out += v*s
		v, s := a.triple(kinds[0]), a.plane()
		a.scaled(s, func(lane, i int, k, to operand.Op) { a.mad(k, a.of(v, lane, i), to) })
	}))
	add(accumulate("outMadC", 1, func(a *assembler, kinds string) { // out += v*c, lane by lane
		v, c := a.triple(kinds[0]), a.triple('T')
		a.toOutput(func(lane, i int, to operand.Op) {
			x := a.lane(v, lane, i)
			a.mad(x, a.of(c, lane, i), to)
		})
	}))
	add(accumulate("outCross", 1, func(a *assembler, kinds string) { // out += (c x v)*s
		v, c, s := a.triple(kinds[0]), a.triple('T'), a.plane()
		a.scaled(s, func(lane, i int, k, to operand.Op) { a.mad(a.cross(c, v, lane, i), k, to) })
	}))
	add([]handler{{"outExplosion", func(a *assembler) bool { // d = position - c; out += d * (|d|² < c3 ? rsqrt(|d|²)*c4 : 0)
		c := a.constants(5)
		outs := [3]outputLane{a.outputs(0), a.outputs(1), a.outputs(2)}
		a.each(func(i int) {
			var d [3]operand.Op
			for lane := range d {
				v := a.load(a.position(lane, i))
				a.sub(v, a.at(c[lane], i), v)
				d[lane] = v
			}
			square := a.square(d[:]...)
			k := a.scaledBelow(square, a.at(c[3], i), a.rsqrt(square), a.at(c[4], i))
			for lane := range d {
				outs[lane].change(i, func(to operand.Op) { a.mad(k, d[lane], to) })
			}
		})
		a.step()
		return true
	}}})
	for _, turn := range []struct {
		name string
		x, z func(a *assembler, x, y, to operand.Op)
	}{
		{"outMadXNmadZ", (*assembler).mad, (*assembler).nmad},
		{"outNmadXMadZ", (*assembler).nmad, (*assembler).mad},
	} {
		add([]handler{{turn.name, func(a *assembler) bool { // out.x += o0*s, out.z -= o1*s, or the other way round
			x, z, s := a.plane(), a.plane(), a.plane()
			outX, outZ := a.outputs(0), a.outputs(2)
			a.each(func(i int) {
				k := a.take(s, i)
				outX.change(i, func(to operand.Op) { turn.x(a, k, a.at(x, i), to) })
				outZ.change(i, func(to operand.Op) { turn.z(a, k, a.at(z, i), to) })
			})
			a.step()
			return true
		}}})
	}
	add([]handler{{"outMadPT", func(a *assembler) bool { // out += c*s
		c, s := a.triple('T'), a.plane()
		a.scaled(s, func(lane, i int, k, to operand.Op) { a.mad(k, a.of(c, lane, i), to) })
		a.step()
		return true
	}}})
	return all
}

// toOutput changes all lanes of the output.
func (a *assembler) toOutput(f func(lane, i int, to operand.Op)) {
	for lane := range 3 {
		out := a.outputs(lane)
		a.each(func(i int) { out.change(i, func(to operand.Op) { f(lane, i, to) }) })
	}
}

// scaled does so with a plane in a register.
func (a *assembler) scaled(s source, f func(lane, i int, k, to operand.Op)) {
	if !a.wide() {
		a.toOutput(func(lane, i int, to operand.Op) { f(lane, i, a.take(s, i), to) })
		return
	}
	a.each(func(i int) {
		k := a.take(s, i)
		for lane := range 3 {
			f(lane, i, k, a.output(lane, i))
		}
	})
}
