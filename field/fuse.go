//go:build amd64 && !purego

package field

import "slices"

// Fusing: operations that stand together become one superinstruction. It goes
// from the last value to the first, and takes the largest pattern that fits.
// Patterns are of operations in their order; nothing is regrouped, so no bit
// changes (F1). What a pattern swallows is read by nobody else.

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
}

const (
	alone     = -1 // it has an instruction of its own
	swallowed = -2 // a fusion computes it on its way
)

func fuse(values []lifted, one ref, b *bound) *fuser {
	f := &fuser{values: values, bound: b, one: one, of: make([]int16, len(values)), fusions: make([]fusion, 0, len(values)/3+1)}
	for i := range f.of {
		f.of[i] = alone
	}
	f.sums()
	for id := len(values) - 1; id >= 0; id-- {
		if v := &values[id]; !v.sum && v.uses > 0 && f.of[id] == alone {
			f.value(ref(id), v)
		}
	}
	return f
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

// value looks for a pattern that ends in a value.
func (f *fuser) value(id ref, v *lifted) {
	o := &v.operands
	switch v.op {
	case opMad:
		f.product(id)
	case opMul:
		if !f.smooth(id, o[0], o[1]) && !f.smooth(id, o[1], o[0]) {
			f.factors(id, o)
		}
	case opSelectLT:
		f.below(id, o)
	case opSaturate:
		f.bent(id, o[0], handlerSaturateMad, handlerSaturateNmad)
	case opSin:
		f.bent(id, o[0], handlerSinMad, handlerNone)
	}
}

// below is a < limit ? rsqrt(a) * factor : other.
func (f *fuser) below(id ref, o *[4]ref) {
	m := f.once(o[2], opMul)
	if m == nil || o[0].constant() || !o[1].constant() || !o[3].constant() {
		return
	}
	root, factor, ok := split(m.operands[0], m.operands[1])
	if !ok {
		return
	}
	if r := f.once(root, opRsqrt); r != nil && r.operands[0] == o[0] {
		f.claim(swallowed, o[2], root)
		f.add(newFusion(handlerRsqrtBelow, 1, id, o[0], o[1], factor, o[3]), id)
	}
}

// bend is a mad or nmad of a plane and two constants.
func (f *fuser) bend(r ref, o Opcode) (x, factor, sum ref, ok bool) {
	m := f.once(r, o)
	if m == nil || !m.operands[2].constant() {
		return 0, 0, 0, false
	}
	x, factor, ok = split(m.operands[0], m.operands[1])
	return x, factor, m.operands[2], ok
}

// bent is an operation on a bend.
func (f *fuser) bent(id, r ref, mad, nmad handler, more ...ref) bool {
	h := mad
	x, factor, sum, ok := f.bend(r, opMad)
	if !ok {
		h = nmad
		x, factor, sum, ok = f.bend(r, opNmad)
	}
	if !ok || h == handlerNone {
		return false
	}
	f.claim(swallowed, r)
	f.add(newFusion(h, 1, append([]ref{id, x, factor, sum}, more...)...), id)
	return true
}

// smooth is s*s * (c - s*k), s saturated, perhaps from a bend.
func (f *fuser) smooth(id, square, rest ref) bool {
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
	if !f.bent(id, v.operands[0], handlerSmoothMad, handlerSmoothNmad, k, n.operands[2]) {
		f.add(newFusion(handlerSmooth, 1, id, v.operands[0], k, n.operands[2]), id)
	}
	return true
}

// factors is a product of three.
func (f *fuser) factors(id ref, o *[4]ref) {
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
		return
	}
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
		f.vector(a)
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
			f.vector(w)
			f.add(newFusion(handlerOutCrossV, 0, w[0], w[1], w[2], f.triple(c), k[0]).taking(0), s[:]...)
			return true
		}
		f.vector(v)
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
		f.vector(v)
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

// triple gives three constants places in the pool that follow each other, if they
// do not yet, and the first of them.
func (f *fuser) triple(c [3]ref) ref {
	b, first := f.bound, c[0].place()
	if c[1].place() == first+1 && c[2].place() == first+2 {
		return c[0]
	}
	from := [3]uint16{first, c[1].place(), c[2].place()}
	at := slices.IndexFunc(b.triples, func(t poolTriple) bool { return t.from == from })
	if at < 0 {
		at = len(b.triples)
		b.triples = append(b.triples, poolTriple{from: from, to: uint16(len(b.literals))})
		b.literals = append(b.literals, 0, 0, 0)
	}
	return constantRef(int(b.triples[at].to))
}
