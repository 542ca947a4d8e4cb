//go:build amd64 && !purego

package field

// Fusing: operations that stand together become one superinstruction. Each kind
// of pattern is looked for from the last value to the first. Patterns are of
// operations in their order; nothing is regrouped, so no bit changes (F1).

// A fusion is a superinstruction.
type fusion struct {
	step
	begun, done bool // its operands are being emitted; it is emitted
}

// A fuser knows which fusion each value belongs to.
type fuser struct {
	values  []lifted
	bound   *bound
	one     ref // the constant 1, or a value if there is none
	fusions []fusion
	of      []int16 // by value: number of its fusion, or one of these

	position ref         // the first of its lanes; see lift
	whole    [][2][3]ref // vectors that some lanes of the position are in, and what stands for them
}

const (
	alone     = -1 // it has an instruction of its own
	swallowed = -2 // a fusion computes it on its way
)

// newFuser has fused nothing yet.
func newFuser(p *Program, b *bound, placed bool) *fuser {
	f := &fuser{bound: b}
	f.values, f.one = lift(p, b, placed)
	if placed {
		f.position = 3
	}
	f.fusions = make([]fusion, 0, len(f.values)/3+1)
	f.of = make([]int16, len(f.values), len(f.values)+8)
	for i := range f.of {
		f.of[i] = alone
	}
	return f
}

// fuse looks for all patterns, those first that others could take pieces of.
func (f *fuser) fuse() {
	f.each(opMul, (*fuser).smooth)
	f.sums()
	f.each(opMad, (*fuser).product)
	f.each(opSqrt, (*fuser).length)
	f.each(opSelectLT, (*fuser).below)
	f.each(opSaturate, (*fuser).saturate)
	f.each(opSin, (*fuser).sin)
	f.each(opMul, (*fuser).times)
	f.each(opMul, (*fuser).times) // a second factor
	f.each(opMul, (*fuser).factors)
	f.explosions()
	f.origin()
}

// explosions fuses what the article begins with, as a whole.
func (f *fuser) explosions() {
	for i := range f.fusions {
		g := &f.fusions[i]
		if g.handler != handlerOutMadPV {
			continue
		}
		v, s := [3]ref(g.refs[:]), g.refs[3]
		from := f.given(v)
		if f.of[s] < 0 || from < 0 || f.values[s].uses != 3 || !f.usedBy(v, 3) {
			continue
		}
		d, k := &f.fusions[from], &f.fusions[f.of[s]]
		square := d.refs[3]
		if d.handler != handlerTowardsSquareV || k.handler != handlerRsqrtBelow || k.refs[1] != square || f.values[square].uses != 2 {
			continue
		}
		c := d.refs[4]
		g.step = newStep(handlerOutExplosion, 0, f.row(c, c-1, c-2, k.refs[2], k.refs[3]))
		f.claim(swallowed, v[0], v[1], v[2], s, square)
	}
}

// each looks for a pattern that ends in some operation.
func (f *fuser) each(o Opcode, pattern func(f *fuser, id ref, operands [4]ref) bool) {
	for id := len(f.values) - 1; id >= 0; id-- {
		if v := f.is(ref(id), o); v != nil && v.uses > 0 {
			pattern(f, ref(id), v.operands)
		}
	}
}

// add makes a fusion of values that it gives, or sums that it adds.
func (f *fuser) add(g fusion, members ...ref) int16 {
	f.fusions = append(f.fusions, g)
	at := int16(len(f.fusions) - 1)
	f.claim(at, members...)
	return at
}

func (f *fuser) claim(at int16, members ...ref) {
	for _, r := range members {
		f.of[r] = at
	}
}

func newFusion(h handler, results int, refs ...ref) fusion {
	return fusion{step: newStep(h, results, refs...)}
}

// giving is a fusion whose first three results are a vector.
func giving(h handler, results int, refs ...ref) fusion {
	g := newFusion(h, results, refs...)
	g.gives = true
	return g
}

// taking is one that takes a vector, in the operands from refs[at] on.
func (g fusion) taking(at int) fusion {
	g.takes = int8(at)
	return g
}

// is gives a value if it is an operation that no fusion has claimed.
func (f *fuser) is(r ref, o Opcode) *lifted {
	if r.constant() || f.of[r] != alone {
		return nil
	}
	if v := &f.values[r]; v.op == o && !v.sum {
		return v
	}
	return nil
}

// once is is for a value that has one user only.
func (f *fuser) once(r ref, o Opcode) *lifted {
	if v := f.is(r, o); v != nil && v.uses == 1 {
		return v
	}
	return nil
}

// split orders two factors: the one that is no constant, and the one that is.
func split(a, b ref) (value, constant ref, ok bool) {
	if a.constant() {
		a, b = b, a
	}
	return a, b, !a.constant() && b.constant()
}

// length is the root of a square of two lanes.
func (f *fuser) length(id ref, o [4]ref) bool {
	at := f.of[o[0]]
	if at < 0 || f.fusions[at].handler != handlerTowardsSquareXZ {
		return false
	}
	g := &f.fusions[at].step
	*g = newStep(handlerTowardsLengthXZ, 4, g.refs[0], g.refs[1], g.refs[2], id, g.refs[3], g.refs[4])
	f.claim(at, id)
	return true
}

// below is a < limit ? rsqrt(a) * factor : 0.
func (f *fuser) below(id ref, o [4]ref) bool {
	m := f.once(o[2], opMul)
	if m == nil || o[0].constant() || !o[1].constant() || o[3] != constantRef(poolZero) {
		return false
	}
	root, factor, ok := split(m.operands[0], m.operands[1])
	if !ok {
		return false
	}
	r := f.once(root, opRsqrt)
	if r == nil || r.operands[0] != o[0] {
		return false
	}
	f.claim(swallowed, o[2], root)
	f.add(newFusion(handlerRsqrtBelow, 1, id, o[0], o[1], factor), id)
	return true
}

func (f *fuser) saturate(id ref, o [4]ref) bool {
	return f.bent(id, o[0], [bends]handler{handlerSaturateMad, handlerSaturateNmad, handlerSaturateSubMul, handlerSaturateDivSub})
}

func (f *fuser) sin(id ref, o [4]ref) bool {
	return f.bent(id, o[0], [bends]handler{bendMad: handlerSinMad})
}

// The ways to take a plane to where a falloff begins, with two constants.
const (
	bendMad    = iota // x*c + d
	bendNmad          // d - x*c
	bendSubMul        // (x - c) * d
	bendDivSub        // d - x/c
	bends
)

// bend finds out whether a value is one of these, and what goes into it. The value
// swallowed, if it is not 0, is on the way.
func (f *fuser) bend(r ref) (kind int, x, c, d, within ref) {
	if r.constant() || f.of[r] != alone || f.values[r].uses != 1 || f.values[r].sum {
		return bends, 0, 0, 0, 0
	}
	v := &f.values[r]
	o := &v.operands
	switch v.op {
	case opMad, opNmad:
		if x, c, ok := split(o[0], o[1]); ok && o[2].constant() {
			return bendMad + int(v.op-opMad), x, c, o[2], 0
		}
	case opMul:
		if y, d, ok := split(o[0], o[1]); ok {
			if s := f.once(y, opSub); s != nil && s.operands[1].constant() {
				return bendSubMul, s.operands[0], s.operands[1], d, y
			}
		}
	case opSub:
		if q := f.once(o[1], opDiv); q != nil && o[0].constant() && q.operands[1].constant() {
			return bendDivSub, q.operands[0], q.operands[1], o[0], o[1]
		}
	}
	return bends, 0, 0, 0, 0
}

// bent is an operation on a bend, which has a handler for each or some of them.
func (f *fuser) bent(id, r ref, of [bends]handler, more ...ref) bool {
	kind, x, c, d, within := f.bend(r)
	if kind == bends || of[kind] == handlerNone {
		return false
	}
	f.claim(swallowed, r)
	if within != 0 {
		f.claim(swallowed, within)
	}
	f.add(newFusion(of[kind], 1, append([]ref{id, x, c, d}, more...)...), id)
	return true
}

// smooth is s*s * (c - s*k), s saturated, perhaps from a bend.
func (f *fuser) smooth(id ref, o [4]ref) bool {
	return f.smoothOf(id, o[0], o[1]) || f.smoothOf(id, o[1], o[0])
}

func (f *fuser) smoothOf(id, square, rest ref) bool {
	m, n := f.once(square, opMul), f.once(rest, opNmad)
	if m == nil || n == nil || m.operands[0] != m.operands[1] || !n.operands[2].constant() {
		return false
	}
	s, k, ok := split(n.operands[0], n.operands[1])
	if !ok || s != m.operands[0] {
		return false
	}
	v := f.is(s, opSaturate)
	if v == nil || v.uses != 3 {
		return false
	}
	f.claim(swallowed, square, rest, s)
	if !f.bent(id, v.operands[0], [bends]handler{handlerSmoothMad, handlerSmoothNmad, handlerSmoothSubMul, handlerSmoothDivSub}, k, n.operands[2]) {
		f.add(newFusion(handlerSmooth, 1, id, v.operands[0], k, n.operands[2]), id)
	}
	return true
}

// times is a factor behind an inverse root, a falloff or a wave.
func (f *fuser) times(id ref, o [4]ref) bool {
	for i := range 2 {
		a, factor := o[i], o[1-i]
		if a.constant() || f.values[a].uses != 1 {
			continue
		}
		if r := f.is(a, opRsqrt); r != nil && !factor.constant() {
			f.claim(swallowed, a)
			f.add(newFusion(handlerRsqrtTimes, 1, id, r.operands[0], factor), id)
			return true
		}
		at := f.of[a]
		if at < 0 {
			continue
		}
		g := &f.fusions[at]
		if g.handler == handlerRsqrtTimes && factor.constant() {
			f.claim(swallowed, a)
			f.fusions[at] = newFusion(handlerRsqrtTimesC, 1, id, g.refs[1], g.refs[2], factor)
			f.claim(at, id)
			return true
		}
		if factor.constant() {
			continue
		}
		switch g.handler {
		case handlerSmooth, handlerSmoothMad, handlerSmoothNmad, handlerSmoothSubMul, handlerSmoothDivSub, handlerSinMad:
			g.handler++
			g.refs[0], g.refs[g.count] = id, factor
			g.count++
			f.claim(swallowed, a)
			f.claim(at, id)
			return true
		}
	}
	return false
}

// factors is a product of three.
func (f *fuser) factors(id ref, o [4]ref) bool {
	for i := range 2 {
		m := f.once(o[i], opMul)
		if m == nil {
			continue
		}
		a, b, c := m.operands[0], m.operands[1], o[1-i]
		h := handlerMulMulPPP
		switch {
		case a.constant() || b.constant():
			a, b, _ = split(a, b)
			h = handlerMulMulPCP
			if c.constant() {
				continue // both factors are constants: rare
			}
		case c.constant():
			h = handlerMulMulPPC
		}
		f.claim(swallowed, o[i])
		f.add(newFusion(h, 1, id, a, b, c), id)
		return true
	}
	return false
}

// sums fuses what is added to all three lanes of the output.
func (f *fuser) sums() {
	var all []ref
	for id := range f.values {
		if f.values[id].sum {
			all = append(all, ref(id))
		}
	}
	for i := len(all) - 3; i >= 0; i-- {
		if f.sum([3]ref(all[i:])) {
			i -= 2
		}
	}
	for i := len(all) - 2; i >= 0; i-- {
		if f.of[all[i]] == alone && f.of[all[i+1]] == alone {
			f.turn(all[i], all[i+1])
		}
	}
}

// turn fuses the sums of what goes round a vertical axis, which follow each other.
func (f *fuser) turn(first, second ref) {
	x, z := &f.values[first], &f.values[second]
	if x.lane != 0 || z.lane != 2 {
		return
	}
	h := handlerOutMadXNmadZ
	switch {
	case x.op == opMad && z.op == opNmad:
	case x.op == opNmad && z.op == opMad:
		h = handlerOutNmadXMadZ
	default:
		return
	}
	for i := range 2 {
		for j := range 2 {
			a, b, s := x.operands[1-i], z.operands[1-j], x.operands[i]
			if s == z.operands[j] && !s.constant() && !a.constant() && !b.constant() {
				f.add(newFusion(h, 0, a, b, s), first, second)
				return
			}
		}
	}
}

// sum fuses three sums that follow each other. False if they are of no pattern.
func (f *fuser) sum(s [3]ref) bool {
	var a, b [3]ref
	for lane, r := range s {
		v := &f.values[r]
		if int(v.lane) != lane || v.op != f.values[s[0]].op {
			return false
		}
		a[lane], b[lane] = v.operands[0], v.operands[1]
	}
	switch f.values[s[0]].op {
	case opAdd:
		if anyConstant(a) {
			return false
		}
		a = f.vector(a)
		f.add(newFusion(handlerOutAddV, 0, a[:]...).taking(0), s[:]...)
		return true
	case opMad:
		return f.sumProduct(s, a, b)
	}
	return false
}

// sumProduct fuses out += v*s.
func (f *fuser) sumProduct(s, v, k [3]ref) bool {
	if same(v) && !same(k) {
		v, k = k, v
	}
	switch {
	case same(k) && !k[0].constant() && allConstant(v):
		f.add(newFusion(handlerOutMadPT, 0, f.triple(v), k[0]), s[:]...)
	case same(k) && !k[0].constant() && !anyConstant(v):
		if c, w, ok := f.crossed(v); ok && f.fresh(v, 1) {
			f.swallowCross(v)
			f.claim(swallowed, v[:]...)
			w = f.vector(w)
			f.add(newFusion(handlerOutCrossV, 0, w[0], w[1], w[2], f.triple(c), k[0]).taking(0), s[:]...)
			return true
		}
		v = f.vector(v)
		f.add(newFusion(handlerOutMadPV, 0, v[0], v[1], v[2], k[0]).taking(0), s[:]...)
	default:
		for lane := range v {
			if v[lane].constant() {
				v[lane], k[lane] = k[lane], v[lane]
			}
		}
		if anyConstant(v) || !allConstant(k) {
			return false
		}
		v = f.vector(v)
		f.add(newFusion(handlerOutMadCV, 0, v[0], v[1], v[2], f.triple(k)).taking(0), s[:]...)
	}
	return true
}

// fresh says whether three values belong to no fusion and have so many users each.
func (f *fuser) fresh(v [3]ref, uses uint16) bool {
	for _, r := range v {
		if r.constant() || f.of[r] != alone || f.values[r].uses != uses {
			return false
		}
	}
	return true
}

func same(v [3]ref) bool        { return v[0] == v[1] && v[1] == v[2] }
func anyConstant(v [3]ref) bool { return v[0].constant() || v[1].constant() || v[2].constant() }
func allConstant(v [3]ref) bool { return v[0].constant() && v[1].constant() && v[2].constant() }

func (f *fuser) triple(c [3]ref) ref { return f.row(c[:]...) }

// row gives constants places in the pool that follow each other, if they do not
// yet, and the first of them.
func (f *fuser) row(c ...ref) ref {
	b, first := f.bound, int(c[0].place())
	if f.isRow(first, c) {
		return c[0]
	}
	for i := range b.copies {
		if to := int(b.copies[i].to); f.copied(i, c) {
			return constantRef(to)
		}
	}
	to := len(b.literals)
	for i, r := range c {
		b.copies = append(b.copies, poolCopy{from: r.place(), to: uint16(to + i)})
		b.literals = append(b.literals, 0)
	}
	return constantRef(to)
}

func (f *fuser) isRow(first int, c []ref) bool {
	for i, r := range c {
		if int(r.place()) != first+i {
			return false
		}
	}
	return true
}

// copied says whether constants have been copied to follow each other, from the
// copy at i on.
func (f *fuser) copied(i int, c []ref) bool {
	copies := f.bound.copies[i:]
	if len(copies) < len(c) {
		return false
	}
	for k, r := range c {
		if copies[k] != (poolCopy{from: r.place(), to: copies[0].to + uint16(k)}) {
			return false
		}
	}
	return true
}
