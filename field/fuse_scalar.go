//go:build amd64 && !purego

package field

// root fuses the root of a sum of two squares, or of a value whose inverse root is also
// used: a direction and a distance.
func (f *fuser) root(id ref, o [4]ref) bool {
	inverse, both := f.inverse(o[0])
	var g *step
	if at := f.of[o[0]]; at >= 0 && f.fusions[at].handler == handlerTowardsSquareXZ && f.fusions[at].refs[2] == o[0] {
		g = &f.fusions[at].step // it also gives x and z, whose roots differ
	}
	switch square := &f.values[o[0]]; {
	case g != nil && !both:
		*g = newStep(handlerTowardsLengthXZ, 4, g.refs[0], g.refs[1], g.refs[2], id, g.refs[3], g.refs[4])
		f.claim(f.of[o[0]], id)
	case g != nil && square.uses == 2:
		*g = newStep(handlerTowardsRootsXZ, 4, g.refs[0], g.refs[1], id, inverse, g.refs[3], g.refs[4])
		f.claim(f.of[o[0]], id, inverse)
		f.claim(swallowed, o[0])
	case both:
		f.add(newFusion(handlerRoots, 2, id, inverse, o[0]), id, inverse)
	default:
		return false
	}
	return true
}

// inverse returns a value's inverse root, if there is one.
func (f *fuser) inverse(of ref) (ref, bool) {
	for id := range f.values {
		if r := f.is(ref(id), opRsqrt); r != nil && r.uses > 0 && r.operands[0] == of {
			return ref(id), true
		}
	}
	return 0, false
}

// below fuses a < limit ? rsqrt(a) * factor : 0.
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
	f.add(newFusion(handlerRsqrtBelow, 1, id, o[0], f.row(o[1], factor)), id)
	return true
}

func (f *fuser) saturate(id ref, o [4]ref) bool {
	return f.bent(id, o[0], [bends]handler{handlerSaturateMad, handlerSaturateNmad, handlerSaturateSubMul, handlerSaturateDivSub})
}

func (f *fuser) sin(id ref, o [4]ref) bool {
	return f.bent(id, o[0], [bends]handler{bendMad: handlerSinMad})
}

// Ways to map a plane to a falloff's argument, with two constants.
const (
	bendMad    = iota // x*c + d
	bendNmad          // d - x*c
	bendSubMul        // (x - c) * d
	bendDivSub        // d - x/c
	bends
)

// bend reports whether a value has one of these forms, with its operands. A nonzero
// within is an intermediate value that is swallowed too.
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

// bent fuses an operation with a bend, if a handler exists.
func (f *fuser) bent(id, r ref, of [bends]handler, more ...ref) bool {
	kind, x, c, d, within := f.bend(r)
	if kind == bends || of[kind] == handlerNone {
		return false
	}
	f.claim(swallowed, r)
	if within != 0 {
		f.claim(swallowed, within)
	}
	f.add(newFusion(of[kind], 1, id, x, f.row(append([]ref{c, d}, more...)...)), id)
	return true
}

// smooth fuses s*s * (c - s*k) with s saturated, and possibly a bend.
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
		f.add(newFusion(handlerSmooth, 1, id, v.operands[0], f.row(k, n.operands[2])), id)
	}
	return true
}

// times fuses a factor of an inverse root, a falloff or a sine.
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

// factors fuses a product of three.
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
