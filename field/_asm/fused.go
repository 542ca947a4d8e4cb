package main

import "github.com/mmcloughlin/avo/operand"

// Superinstructions do what several operations do, in the same order and with the
// same roundings, without the planes between them.
//
// Their operands have kinds too: P is a plane, C a constant, V a vector in three
// planes, T three constants that follow each other in the pool, A the vector in the accumulator, which needs
// no operand. Results come first.

// A triple is an operand of three lanes.
type triple struct {
	lanes       [3]source
	accumulator bool
}

func (a *assembler) triple(kind byte) (t triple) {
	if t.accumulator = kind == 'A'; t.accumulator {
		return t
	}
	if kind == 'T' {
		return triple{lanes: [3]source(a.constants(3))}
	}
	for lane := range t.lanes {
		t.lanes[lane] = a.plane()
	}
	return t
}

// of is a lane of a triple at vector i.
func (a *assembler) of(t triple, lane, i int) operand.Op {
	if t.accumulator {
		return a.accumulator(lane, i)
	}
	return a.at(t.lanes[lane], i)
}

// keep stores a lane of a result.
func (a *assembler) keep(v operand.Op, t triple, lane, i int) {
	if t.accumulator {
		a.VMOVAPS(v, a.accumulator(lane, i))
		return
	}
	a.store(v, t.lanes[lane], i)
}

// target is where a lane of a result is computed: the accumulator or a register.
func (a *assembler) target(t triple, lane, i int) operand.Op {
	if t.accumulator {
		return a.accumulator(lane, i)
	}
	return a.vector()
}

// settle stores what was computed in a target, unless that is its place.
func (a *assembler) settle(v operand.Op, t triple, lane, i int) {
	if !t.accumulator {
		a.store(v, t.lanes[lane], i)
	}
}

// accumulate makes a handler of each choice of planes or accumulator for its
// vectors: those of the result count first.
func accumulate(name string, vectors int, emit func(a *assembler, kinds string)) (all []handler) {
	for which := range 1 << vectors {
		kinds := ""
		for v := range vectors {
			kinds += string("VA"[which>>v&1])
		}
		all = append(all, handler{name + kinds, func(a *assembler) bool {
			if which != 0 && !a.wide() {
				return false
			}
			emit(a, kinds)
			a.step()
			return true
		}})
	}
	return all
}

func fused() (all []handler) {
	for _, some := range [][]handler{vectors(), squares(), outputs(), scalars()} {
		all = append(all, some...)
	}
	return all
}

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
	add(accumulate("axis", 2, func(a *assembler, kinds string) { // v - c*s
		to, s := a.triple(kinds[0]), a.plane()
		var k []operand.Op
		a.each(func(i int) { k = append(k, a.load(a.at(s, i))) }) // first, so that the register of its place is free again
		v, c := a.triple(kinds[1]), a.triple('T')
		for lane := range 3 {
			a.each(func(i int) {
				d := a.load(a.of(v, lane, i))
				a.nmad(k[i], a.of(c, lane, i), d)
				a.keep(d, to, lane, i)
			})
		}
	}))
	add(accumulate("cross", 2, func(a *assembler, kinds string) { // c x v
		to, v, c := a.triple(kinds[0]), a.triple(kinds[1]), a.triple('T')
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
	a.each(func(i int) {
		for lane := range 3 {
			x := a.of(v, lane, i)
			if !v.accumulator {
				x = a.load(x)
			}
			d := a.target(to, lane, i)
			f(lane, i, x, d)
			a.settle(d, to, lane, i)
		}
	})
}

// cross is a lane of c x v.
func (a *assembler) cross(c, v triple, lane, i int) operand.Op {
	j, k := (lane+1)%3, (lane+2)%3
	t := a.vector()
	x := a.of(v, k, i)
	if !v.accumulator {
		x = a.load(x)
	}
	a.mul(x, a.of(c, j, i), t)
	y := a.of(v, j, i)
	if !v.accumulator {
		y = a.load(y)
	}
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

// squares are those that give a product of vectors, some with a vector besides.
func squares() (all []handler) {
	add := func(more []handler) { all = append(all, more...) }
	add(accumulate("towardsSquare", 1, func(a *assembler, kinds string) { // d = position - c, |d|²
		to, s, c := a.triple(kinds[0]), a.plane(), a.triple('T')
		a.each(func(i int) {
			var d [3]operand.Op
			for lane := range d {
				d[lane] = a.target(to, lane, i)
				a.sub(a.load(a.position(lane, i)), a.of(c, lane, i), d[lane])
				a.settle(d[lane], to, lane, i)
			}
			a.store(a.square(d[:]...), s, i)
		})
	}))
	add(accumulate("cylinder", 1, func(a *assembler, kinds string) { // d = position - c; r = d - axis*(d·axis), |r|²
		to, s, c, axis := a.triple(kinds[0]), a.plane(), a.triple('T'), a.triple('T')
		a.each(func(i int) {
			var d [3]operand.Op
			for lane := range d {
				d[lane] = a.target(to, lane, i)
				a.sub(a.load(a.position(lane, i)), a.of(c, lane, i), d[lane])
			}
			h := a.vector()
			a.mul(d[0], a.of(axis, 0, i), h)
			a.mad(d[1], a.of(axis, 1, i), h)
			a.mad(d[2], a.of(axis, 2, i), h)
			for lane := range d {
				a.nmad(h, a.of(axis, lane, i), d[lane])
				a.settle(d[lane], to, lane, i)
			}
			a.store(a.square(d[:]...), s, i)
		})
	}))
	add(accumulate("square", 1, func(a *assembler, kinds string) { // |v|²
		s, v := a.plane(), a.triple(kinds[0])
		a.each(func(i int) { a.store(a.square(a.loads(v, i)...), s, i) })
	}))
	add(accumulate("dotC", 1, func(a *assembler, kinds string) { // v·c
		s, v, c := a.plane(), a.triple(kinds[0]), a.triple('T')
		a.each(func(i int) { a.store(a.dot(v, c, i), s, i) })
	}))
	add(accumulate("dot", 1, func(a *assembler, kinds string) { // v·w
		s, v, w := a.plane(), a.triple(kinds[0]), a.triple('V')
		a.each(func(i int) { a.store(a.dot(v, w, i), s, i) })
	}))
	add([]handler{
		{"distanceSquare", func(a *assembler) bool { // |position - c|²
			s, c := a.plane(), a.triple('T')
			a.each(func(i int) {
				var d [3]operand.Op
				for lane := range d {
					v := a.load(a.position(lane, i))
					a.sub(v, a.of(c, lane, i), v)
					d[lane] = v
				}
				a.store(a.square(d[:]...), s, i)
			})
			a.step()
			return true
		}},
		{"distanceSquareXZ", func(a *assembler) bool { // the same without y
			s, cx, cz := a.plane(), a.constant(), a.constant()
			a.each(func(i int) {
				x, z := a.load(a.position(0, i)), a.load(a.position(2, i))
				a.sub(x, a.at(cx, i), x)
				a.sub(z, a.at(cz, i), z)
				a.store(a.square(x, z), s, i)
			})
			a.step()
			return true
		}},
	})
	return all
}

func (a *assembler) loads(v triple, i int) (d []operand.Op) {
	for lane := range 3 {
		x := a.of(v, lane, i)
		if !v.accumulator {
			x = a.load(x)
		}
		d = append(d, x)
	}
	return d
}

func (a *assembler) dot(v, w triple, i int) operand.Op {
	t := a.vector()
	x := a.loads(v, i)
	a.mul(x[0], a.of(w, 0, i), t)
	a.mad(x[1], a.of(w, 1, i), t)
	a.mad(x[2], a.of(w, 2, i), t)
	return t
}

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
			x := a.of(v, lane, i)
			if !v.accumulator {
				x = a.load(x)
			}
			a.mad(x, a.of(c, lane, i), to)
		})
	}))
	add(accumulate("outCross", 1, func(a *assembler, kinds string) { // out += (c x v)*s
		v, c, s := a.triple(kinds[0]), a.triple('T'), a.plane()
		a.scaled(s, func(lane, i int, k, to operand.Op) { a.mad(a.cross(c, v, lane, i), k, to) })
	}))
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
		a.toOutput(func(lane, i int, to operand.Op) { f(lane, i, a.load(a.at(s, i)), to) })
		return
	}
	a.each(func(i int) {
		k := a.load(a.at(s, i))
		for lane := range 3 {
			f(lane, i, k, a.output(lane, i))
		}
	})
}

// scalars are those of single lanes.
func scalars() (all []handler) {
	one := func(name string, kinds string, f func(a *assembler, o []source, i int) operand.Op) {
		all = append(all, handler{name, func(a *assembler) bool {
			to := a.plane()
			var o []source
			for i := range len(kinds) {
				o = append(o, a.operand(kinds[i]))
			}
			a.each(func(i int) { a.store(f(a, o, i), to, i) })
			a.step()
			return true
		}})
	}
	one("rsqrtBelow", "PCCC", func(a *assembler, o []source, i int) operand.Op { // o0 < o1 ? rsqrt(o0)*o2 : o3
		x := a.load(a.at(o[0], i))
		y := a.rsqrt(x)
		a.mul(y, a.at(o[2], i), y)
		return a.chooseIn(isLess, x, a.at(o[1], i), y, a.at(o[3], i))
	})
	for _, bend := range []struct {
		name string
		f    func(a *assembler, o []source, i int) operand.Op
	}{
		{"", func(a *assembler, o []source, i int) operand.Op { return a.load(a.at(o[0], i)) }},
		{"Mad", bent((*assembler).mad)},
		{"Nmad", bent((*assembler).nmad)},
	} {
		kinds := "P"
		if bend.name != "" {
			kinds = "PCC"
			one("saturate"+bend.name, kinds, func(a *assembler, o []source, i int) operand.Op {
				v := bend.f(a, o, i)
				a.saturate(v)
				return v
			})
		}
		one("smooth"+bend.name, kinds+"CC", func(a *assembler, o []source, i int) operand.Op { // s*s*(c1 - s*c0), s saturated
			v := bend.f(a, o, i)
			a.saturate(v)
			t := a.load(a.at(o[len(o)-1], i))
			a.nmad(v, a.at(o[len(o)-2], i), t)
			a.mul(v, v, v)
			a.mul(v, t, v)
			return v
		})
	}
	one("sinMad", "PCC", func(a *assembler, o []source, i int) operand.Op { return a.sin(bent((*assembler).mad)(a, o, i)) })
	for _, kinds := range []string{"PPP", "PCP", "PPC"} {
		one("mulMul"+kinds, kinds, func(a *assembler, o []source, i int) operand.Op { // (o0*o1)*o2
			v := a.load(a.at(o[0], i))
			a.mul(v, a.at(o[1], i), v)
			a.mul(v, a.at(o[2], i), v)
			return v
		})
	}
	return all
}

// bent is a plane times a constant, with another constant.
func bent(f func(a *assembler, x, y, to operand.Op)) func(a *assembler, o []source, i int) operand.Op {
	return func(a *assembler, o []source, i int) operand.Op {
		t := a.load(a.at(o[2], i))
		f(a, a.load(a.at(o[0], i)), a.at(o[1], i), t)
		return t
	}
}
