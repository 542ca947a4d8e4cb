package main

import "github.com/mmcloughlin/avo/operand"

// A superinstruction performs several operations in the same order and with the same
// roundings, without planes for intermediate results.
//
// The kinds of its operands are P, a plane; C, a constant; V, a vector in three planes; T,
// three adjacent constants of the pool; and A, the accumulator, which takes no operand of
// the instruction. Results come first.

// A triple is an operand of three lanes.
type triple struct {
	lanes       [3]source
	accumulator bool
}

func (a *assembler) triple(kind byte) (t triple) {
	t.accumulator = kind == 'A'
	if t.accumulator {
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

// laneAt returns vector i of a triple's lane.
func (a *assembler) laneAt(t triple, lane, i int) operand.Op {
	if t.accumulator {
		return a.accumulator(lane, i)
	}
	return a.at(t.lanes[lane], i)
}

// loadLane loads laneAt into a register.
func (a *assembler) loadLane(t triple, lane, i int) operand.Op {
	if t.accumulator {
		return a.accumulator(lane, i)
	}
	return a.loadAt(t.lanes[lane], i)
}

// storeLane stores vector i of a result's lane.
func (a *assembler) storeLane(v operand.Op, t triple, lane, i int) {
	if t.accumulator {
		a.VMOVAPS(v, a.accumulator(lane, i))
		return
	}
	a.store(v, t.lanes[lane], i)
}

// target returns the register in which vector i of a result's lane is computed.
func (a *assembler) target(t triple, lane, i int) operand.Op {
	if t.accumulator {
		return a.accumulator(lane, i)
	}
	return a.vector()
}

// storeTarget stores a target, unless it is the accumulator.
func (a *assembler) storeTarget(v operand.Op, t triple, lane, i int) {
	if !t.accumulator {
		a.store(v, t.lanes[lane], i)
	}
}

// vectorVariants returns a handler for each choice of planes or accumulator for the
// vectors, the result first.
func vectorVariants(name string, vectors int, emit func(a *assembler, kinds string)) (all []handler) {
	for variant := range 1 << vectors {
		kinds := ""
		for v := range vectors {
			kinds += string("VA"[variant>>v&1])
		}
		all = append(all, handler{name + kinds, func(a *assembler) bool {
			if variant != 0 && !a.wide() {
				return false
			}
			emit(a, kinds)
			a.next()
			return true
		}})
	}
	return all
}

func fusedHandlers() (all []handler) {
	for _, family := range [][]handler{vectorHandlers(), squareHandlers(), outputHandlers(), scalarHandlers()} {
		all = append(all, family...)
	}
	return all
}

// squareHandlers returns the handlers that give a dot product, some with a vector.
func squareHandlers() (all []handler) {
	add := func(more []handler) { all = append(all, more...) }
	add(vectorVariants("offsetSquare", 1, func(a *assembler, kinds string) { // d = position - c, |d|²
		to, s, c := a.triple(kinds[0]), a.plane(), a.triple('T')
		a.each(func(i int) {
			var d [3]operand.Op
			for lane := range d {
				d[lane] = a.target(to, lane, i)
				a.sub(a.load(a.position(lane, i)), a.laneAt(c, lane, i), d[lane])
				a.storeTarget(d[lane], to, lane, i)
			}
			a.store(a.sumSquares(d[:]...), s, i)
		})
	}))
	add(vectorVariants("cylinder", 1, func(a *assembler, kinds string) { // d = position - c; r = d - axis*(d·axis), |r|²
		to, s, c, axis := a.triple(kinds[0]), a.plane(), a.triple('T'), a.triple('T')
		a.each(func(i int) {
			var d [3]operand.Op
			for lane := range d {
				d[lane] = a.target(to, lane, i)
				a.sub(a.load(a.position(lane, i)), a.laneAt(c, lane, i), d[lane])
			}
			h := a.vector()
			a.mul(d[0], a.laneAt(axis, 0, i), h)
			a.mad(d[1], a.laneAt(axis, 1, i), h)
			a.mad(d[2], a.laneAt(axis, 2, i), h)
			for lane := range d {
				a.nmad(h, a.laneAt(axis, lane, i), d[lane])
				a.storeTarget(d[lane], to, lane, i)
			}
			a.store(a.sumSquares(d[:]...), s, i)
		})
	}))
	add(vectorVariants("square", 1, func(a *assembler, kinds string) { // |v|²
		s, v := a.plane(), a.triple(kinds[0])
		a.each(func(i int) { a.store(a.sumSquares(a.loads(v, i)...), s, i) })
	}))
	add(vectorVariants("dotC", 1, func(a *assembler, kinds string) { // v·c
		s, v, c := a.plane(), a.triple(kinds[0]), a.triple('T')
		a.dot(v, c, s)
	}))
	add(vectorVariants("dot", 1, func(a *assembler, kinds string) { // v·w
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
					a.sub(v, a.laneAt(c, lane, i), v)
					d[lane] = v
				}
				a.store(a.sumSquares(d[:]...), s, i)
			})
			a.next()
			return true
		}},
		{"offsetSquareXZ", offsetXZ(func(a *assembler) func(square operand.Op, i int) {
			to := a.plane()
			return func(square operand.Op, i int) { a.store(square, to, i) }
		})},
		{"offsetLengthXZ", offsetXZ(func(a *assembler) func(square operand.Op, i int) {
			to, root := a.plane(), a.plane()
			return func(square operand.Op, i int) {
				a.store(square, to, i)
				a.VSQRTPS(square, square)
				a.store(square, root, i)
			}
		})},
		{"offsetRootsXZ", offsetXZ((*assembler).roots)},
		{"roots", func(a *assembler) bool { // sqrt(o), rsqrt(o)
			both := a.roots()
			o := a.plane()
			a.each(func(i int) { both(a.loadAt(o, i), i) })
			a.next()
			return true
		}},
		{"distanceSquareXZ", func(a *assembler) bool { // distanceSquare without y
			s, cx, cz := a.plane(), a.constant(), a.constant()
			a.each(func(i int) {
				x, z := a.load(a.position(0, i)), a.load(a.position(2, i))
				a.sub(x, a.at(cx, i), x)
				a.sub(z, a.at(cz, i), z)
				a.store(a.sumSquares(x, z), s, i)
			})
			a.next()
			return true
		}},
	})
	return all
}

// offsetXZ gives x and z of position - c. results takes operands for further results and
// returns the function that stores them, given the sum of the squares.
func offsetXZ(results func(a *assembler) func(square operand.Op, i int)) func(a *assembler) bool {
	return func(a *assembler) bool {
		to := [2]source{a.plane(), a.plane()}
		store := results(a)
		c := [2]source{a.constant(), a.constant()}
		a.each(func(i int) {
			var d [2]operand.Op
			for n, lane := range [2]int{0, 2} {
				v := a.load(a.position(lane, i))
				a.sub(v, a.at(c[n], i), v)
				a.store(v, to[n], i)
				d[n] = v
			}
			store(a.sumSquares(d[:]...), i)
		})
		a.next()
		return true
	}
}

// roots gives the root of a square and its inverse, computed independently: the inverse,
// and operations that need it, do not wait for the slower root.
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
		x := a.loadLane(v, lane, i)
		d = append(d, x)
	}
	return d
}

// dot stores v·w. It goes lane by lane, so that few addresses are live at once.
func (a *assembler) dot(v, w triple, to source) {
	var sum []operand.Op
	a.each(func(i int) {
		t := a.vector()
		a.mul(a.loadLane(v, 0, i), a.laneAt(w, 0, i), t)
		sum = append(sum, t)
	})
	for lane := 1; lane < 3; lane++ {
		a.each(func(i int) { a.mad(a.loadLane(v, lane, i), a.laneAt(w, lane, i), sum[i]) })
	}
	a.each(func(i int) { a.store(sum[i], to, i) })
}

// scalarHandlers returns the handlers of single lanes. A digit in the kinds stands for this
// number of adjacent constants of the pool.
func scalarHandlers() (all []handler) {
	add := func(name string, kinds string, f func(a *assembler, o []source, i int) operand.Op) {
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
			a.next()
			return true
		}})
	}
	add("squareTwo", "PP", func(a *assembler, o []source, i int) operand.Op { // o0² + o1²
		return a.sumSquares(a.loadAt(o[0], i), a.loadAt(o[1], i))
	})
	add("rsqrtBelow", "P2", func(a *assembler, o []source, i int) operand.Op { // o0 < o1 ? rsqrt(o0)*o2 : 0
		x := a.loadAt(o[0], i)
		return a.mulIfLess(x, a.at(o[1], i), a.rsqrt(x), a.at(o[2], i))
	})
	// addWithFactor adds a handler, and under the next number the same handler with an
	// additional factor.
	addWithFactor := func(name, kinds string, f func(a *assembler, o []source, i int) operand.Op) {
		add(name, kinds, f)
		add(name+"Times", kinds+"P", func(a *assembler, o []source, i int) operand.Op {
			v := f(a, o, i)
			a.mul(v, a.at(o[len(o)-1], i), v)
			return v
		})
	}
	add("rsqrtTimesC", "PPC", func(a *assembler, o []source, i int) operand.Op { // rsqrt(o0) * o1 * o2
		v := a.rsqrt(a.loadAt(o[0], i))
		a.mul(v, a.at(o[1], i), v)
		a.mul(v, a.at(o[2], i), v)
		return v
	})
	add("rsqrtTimes", "PP", func(a *assembler, o []source, i int) operand.Op { // rsqrt(o0) * o1
		v := a.rsqrt(a.loadAt(o[0], i))
		a.mul(v, a.at(o[1], i), v)
		return v
	})
	addWithFactor("smooth", "P2", func(a *assembler, o []source, i int) operand.Op { return a.smooth(a.loadAt(o[0], i), o[1:], i) })
	for _, form := range affineForms {
		add("saturate"+form.name, "P2", func(a *assembler, o []source, i int) operand.Op {
			v := form.f(a, o, i)
			a.saturate(v)
			return v
		})
		addWithFactor("smooth"+form.name, "P4", func(a *assembler, o []source, i int) operand.Op { return a.smooth(form.f(a, o, i), o[3:], i) })
	}
	addWithFactor("sinMad", "P2", func(a *assembler, o []source, i int) operand.Op { return a.sin(affineForms[0].f(a, o, i)) })
	for _, kinds := range []string{"PPP", "PCP", "PPC"} {
		add("mulMul"+kinds, kinds, func(a *assembler, o []source, i int) operand.Op { // (o0*o1)*o2
			v := a.loadAt(o[0], i)
			a.mul(v, a.at(o[1], i), v)
			a.mul(v, a.at(o[2], i), v)
			return v
		})
	}
	return all
}

// affineForms map a plane to the argument of a falloff, with two constants.
var affineForms = []struct {
	name string
	f    func(a *assembler, o []source, i int) operand.Op
}{
	{"Mad", func(a *assembler, o []source, i int) operand.Op { // x*c0 + c1
		t := a.loadAt(o[2], i)
		a.mad(a.loadAt(o[0], i), a.at(o[1], i), t)
		return t
	}},
	{"Nmad", func(a *assembler, o []source, i int) operand.Op { // c1 - x*c0
		t := a.loadAt(o[2], i)
		a.nmad(a.loadAt(o[0], i), a.at(o[1], i), t)
		return t
	}},
	{"SubMul", func(a *assembler, o []source, i int) operand.Op { // (x - c0) * c1
		v := a.loadAt(o[0], i)
		a.sub(v, a.at(o[1], i), v)
		a.mul(v, a.at(o[2], i), v)
		return v
	}},
	{"DivSub", func(a *assembler, o []source, i int) operand.Op { // c1 - x/c0
		v, t := a.loadAt(o[0], i), a.loadAt(o[2], i)
		a.div(v, a.at(o[1], i), v)
		a.sub(t, v, t)
		return t
	}},
}

// smooth gives s*s*(c1 - s*c0) with s saturated.
func (a *assembler) smooth(s operand.Op, c []source, i int) operand.Op {
	a.saturate(s)
	t := a.loadAt(c[1], i)
	a.nmad(s, a.at(c[0], i), t)
	a.mul(s, s, s)
	a.mul(s, t, s)
	return s
}
