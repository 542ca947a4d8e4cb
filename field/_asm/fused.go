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

// lane is the same, in a register.
func (a *assembler) lane(t triple, lane, i int) operand.Op {
	if t.accumulator {
		return a.accumulator(lane, i)
	}
	return a.take(t.lanes[lane], i)
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
		a.dot(v, c, s)
	}))
	add(accumulate("dot", 1, func(a *assembler, kinds string) { // v·w
		s, v, w := a.plane(), a.triple(kinds[0]), a.triple('V')
		a.dot(v, w, s)
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
		{"towardsSquareXZ", towardsXZ(func(a *assembler) func(square operand.Op, i int) {
			to := a.plane()
			return func(square operand.Op, i int) { a.store(square, to, i) }
		})},
		{"towardsLengthXZ", towardsXZ(func(a *assembler) func(square operand.Op, i int) {
			to, root := a.plane(), a.plane()
			return func(square operand.Op, i int) {
				a.store(square, to, i)
				a.VSQRTPS(square, square)
				a.store(square, root, i)
			}
		})},
		{"towardsRootsXZ", towardsXZ((*assembler).roots)},
		{"roots", func(a *assembler) bool { // sqrt(o), rsqrt(o)
			both := a.roots()
			o := a.plane()
			a.each(func(i int) { both(a.take(o, i), i) })
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

// towardsXZ gives x and z of position - c, and what results says of the sum of their
// squares.
func towardsXZ(results func(a *assembler) func(square operand.Op, i int)) func(a *assembler) bool {
	return func(a *assembler) bool {
		to := [2]source{a.plane(), a.plane()}
		give := results(a)
		c := [2]source{a.constant(), a.constant()}
		a.each(func(i int) {
			var d [2]operand.Op
			for n, lane := range [2]int{0, 2} {
				v := a.load(a.position(lane, i))
				a.sub(v, a.at(c[n], i), v)
				a.store(v, to[n], i)
				d[n] = v
			}
			give(a.square(d[:]...), i)
		})
		a.step()
		return true
	}
}

// roots gives the root of a square and its inverse. The inverse does not wait for the
// root, which takes longer, and neither does what comes next and needs it.
func (a *assembler) roots() func(square operand.Op, i int) {
	root, inverse := a.plane(), a.plane()
	return func(square operand.Op, i int) {
		r := a.vector()
		a.VSQRTPS(square, r)
		a.store(r, root, i)
		a.store(a.rsqrt(square), inverse, i)
	}
}

func (a *assembler) loads(v triple, i int) (d []operand.Op) {
	for lane := range 3 {
		x := a.lane(v, lane, i)
		d = append(d, x)
	}
	return d
}

// dot stores v·w, lane after lane, so that few places are needed at once.
func (a *assembler) dot(v, w triple, to source) {
	var sum []operand.Op
	a.each(func(i int) {
		t := a.vector()
		a.mul(a.lane(v, 0, i), a.of(w, 0, i), t)
		sum = append(sum, t)
	})
	for lane := 1; lane < 3; lane++ {
		a.each(func(i int) { a.mad(a.lane(v, lane, i), a.of(w, lane, i), sum[i]) })
	}
	a.each(func(i int) { a.store(sum[i], to, i) })
}

// scalars are those of single lanes. A figure among their kinds is so many
// constants that follow each other in the pool.
func scalars() (all []handler) {
	one := func(name string, kinds string, f func(a *assembler, o []source, i int) operand.Op) {
		all = append(all, handler{name, func(a *assembler) bool {
			to := a.plane()
			var o []source
			for i := range len(kinds) {
				if n := int(kinds[i] - '0'); n < 10 {
					o = append(o, a.constants(n)...)
				} else {
					o = append(o, a.operand(kinds[i]))
				}
			}
			a.each(func(i int) { a.store(f(a, o, i), to, i) })
			a.step()
			return true
		}})
	}
	one("squareTwo", "PP", func(a *assembler, o []source, i int) operand.Op { // o0² + o1²
		return a.square(a.take(o[0], i), a.take(o[1], i))
	})
	one("rsqrtBelow", "P2", func(a *assembler, o []source, i int) operand.Op { // o0 < o1 ? rsqrt(o0)*o2 : 0
		x := a.take(o[0], i)
		return a.scaledBelow(x, a.at(o[1], i), a.rsqrt(x), a.at(o[2], i))
	})
	// times is also made with a factor, which is the next handler by number.
	times := func(name, kinds string, f func(a *assembler, o []source, i int) operand.Op) {
		one(name, kinds, f)
		one(name+"Times", kinds+"P", func(a *assembler, o []source, i int) operand.Op {
			v := f(a, o, i)
			a.mul(v, a.at(o[len(o)-1], i), v)
			return v
		})
	}
	one("rsqrtTimesC", "PPC", func(a *assembler, o []source, i int) operand.Op { // rsqrt(o0) * o1 * o2
		v := a.rsqrt(a.take(o[0], i))
		a.mul(v, a.at(o[1], i), v)
		a.mul(v, a.at(o[2], i), v)
		return v
	})
	one("rsqrtTimes", "PP", func(a *assembler, o []source, i int) operand.Op { // rsqrt(o0) * o1
		v := a.rsqrt(a.take(o[0], i))
		a.mul(v, a.at(o[1], i), v)
		return v
	})
	times("smooth", "P2", func(a *assembler, o []source, i int) operand.Op { return a.smooth(a.take(o[0], i), o[1:], i) })
	for _, b := range bends {
		one("saturate"+b.name, "P2", func(a *assembler, o []source, i int) operand.Op {
			v := b.f(a, o, i)
			a.saturate(v)
			return v
		})
		times("smooth"+b.name, "P4", func(a *assembler, o []source, i int) operand.Op { return a.smooth(b.f(a, o, i), o[3:], i) })
	}
	times("sinMad", "P2", func(a *assembler, o []source, i int) operand.Op { return a.sin(bends[0].f(a, o, i)) })
	for _, kinds := range []string{"PPP", "PCP", "PPC"} {
		one("mulMul"+kinds, kinds, func(a *assembler, o []source, i int) operand.Op { // (o0*o1)*o2
			v := a.take(o[0], i)
			a.mul(v, a.at(o[1], i), v)
			a.mul(v, a.at(o[2], i), v)
			return v
		})
	}
	return all
}

// Bends take a plane to where a falloff begins, with two constants.
var bends = []struct {
	name string
	f    func(a *assembler, o []source, i int) operand.Op
}{
	{"Mad", func(a *assembler, o []source, i int) operand.Op { // x*c0 + c1
		t := a.take(o[2], i)
		a.mad(a.take(o[0], i), a.at(o[1], i), t)
		return t
	}},
	{"Nmad", func(a *assembler, o []source, i int) operand.Op { // c1 - x*c0
		t := a.take(o[2], i)
		a.nmad(a.take(o[0], i), a.at(o[1], i), t)
		return t
	}},
	{"SubMul", func(a *assembler, o []source, i int) operand.Op { // (x - c0) * c1
		v := a.take(o[0], i)
		a.sub(v, a.at(o[1], i), v)
		a.mul(v, a.at(o[2], i), v)
		return v
	}},
	{"DivSub", func(a *assembler, o []source, i int) operand.Op { // c1 - x/c0
		v, t := a.take(o[0], i), a.take(o[2], i)
		a.div(v, a.at(o[1], i), v)
		a.sub(t, v, t)
		return t
	}},
}

// smooth is s*s*(c1 - s*c0), s saturated.
func (a *assembler) smooth(s operand.Op, c []source, i int) operand.Op {
	a.saturate(s)
	t := a.take(c[1], i)
	a.nmad(s, a.at(c[0], i), t)
	a.mul(s, s, s)
	a.mul(s, t, s)
	return s
}
