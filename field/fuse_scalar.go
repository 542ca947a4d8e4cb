//go:build amd64 && !purego

package field

// fuseSqrt fuses the root of a sum of two squares, or of a value whose inverse root is
// also used: a direction and a distance.
func (f *fuser) fuseSqrt(id ref, o [4]ref) bool {
	inverse, both := f.findRsqrt(o[0])
	var g *step
	if at := f.fusionOf[o[0]]; at >= 0 && f.fusions[at].handler == handlerOffsetSquareXZ && f.fusions[at].refs[2] == o[0] {
		g = &f.fusions[at].step // the root also gives x and z, and their roots differ
	}
	switch square := &f.values[o[0]]; {
	case g != nil && !both:
		*g = newStep(handlerOffsetLengthXZ, 4, g.refs[0], g.refs[1], g.refs[2], id, g.refs[3], g.refs[4])
		f.claim(f.fusionOf[o[0]], id)
	case g != nil && square.uses == 2:
		*g = newStep(handlerOffsetRootsXZ, 4, g.refs[0], g.refs[1], id, inverse, g.refs[3], g.refs[4])
		f.claim(f.fusionOf[o[0]], id, inverse)
		f.claim(absorbed, o[0])
	case both:
		f.add(newFusion(handlerRoots, 2, id, inverse, o[0]), id, inverse)
	default:
		return false
	}
	return true
}

// findRsqrt returns a value's inverse root, if there is one.
func (f *fuser) findRsqrt(of ref) (ref, bool) {
	for id := range f.values {
		if r := f.match(ref(id), opRsqrt); r != nil && r.uses > 0 && r.operands[0] == of {
			return ref(id), true
		}
	}
	return 0, false
}

// fuseSelect fuses a < limit ? rsqrt(a) * factor : 0.
func (f *fuser) fuseSelect(id ref, o [4]ref) bool {
	m := f.matchSingleUse(o[2], opMul)
	if m == nil || o[0].constant() || !o[1].constant() || o[3] != constantRef(poolZero) {
		return false
	}
	root, factor, ok := splitConstant(m.operands[0], m.operands[1])
	if !ok {
		return false
	}
	r := f.matchSingleUse(root, opRsqrt)
	if r == nil || r.operands[0] != o[0] {
		return false
	}
	f.claim(absorbed, o[2], root)
	f.add(newFusion(handlerRsqrtBelow, 1, id, o[0], f.makeAdjacent(o[1], factor)), id)
	return true
}

func (f *fuser) fuseSaturate(id ref, o [4]ref) bool {
	return f.fuseAffine(id, o[0], [affineForms]handler{handlerSaturateMad, handlerSaturateNmad, handlerSaturateSubMul, handlerSaturateDivSub})
}

func (f *fuser) fuseSin(id ref, o [4]ref) bool {
	return f.fuseAffine(id, o[0], [affineForms]handler{affineMad: handlerSinMad})
}

// Affine functions of a value, with two constants: the usual argument of a falloff.
const (
	affineMad    = iota // x*c + d
	affineNmad          // d - x*c
	affineSubMul        // (x - c) * d
	affineDivSub        // d - x/c
	affineForms
)

// matchAffine returns the affine form of a single-use value, with its operands, or
// affineForms. A nonzero inner is an intermediate value to absorb too.
func (f *fuser) matchAffine(r ref) (form int, x, c, d, inner ref) {
	if r.constant() || f.fusionOf[r] != unfused || f.values[r].uses != 1 || f.values[r].sum {
		return affineForms, 0, 0, 0, 0
	}
	v := &f.values[r]
	o := &v.operands
	switch v.op {
	case opMad, opNmad:
		if x, c, ok := splitConstant(o[0], o[1]); ok && o[2].constant() {
			return affineMad + int(v.op-opMad), x, c, o[2], 0
		}
	case opMul:
		if y, d, ok := splitConstant(o[0], o[1]); ok {
			if s := f.matchSingleUse(y, opSub); s != nil && s.operands[1].constant() {
				return affineSubMul, s.operands[0], s.operands[1], d, y
			}
		}
	case opSub:
		if q := f.matchSingleUse(o[1], opDiv); q != nil && o[0].constant() && q.operands[1].constant() {
			return affineDivSub, q.operands[0], q.operands[1], o[0], o[1]
		}
	}
	return affineForms, 0, 0, 0, 0
}

// fuseAffine fuses an operation with its affine operand r, if a handler for the form
// exists.
func (f *fuser) fuseAffine(id, r ref, handlers [affineForms]handler, more ...ref) bool {
	form, x, c, d, inner := f.matchAffine(r)
	if form == affineForms || handlers[form] == handlerNone {
		return false
	}
	f.claim(absorbed, r)
	if inner != 0 {
		f.claim(absorbed, inner)
	}
	f.add(newFusion(handlers[form], 1, id, x, f.makeAdjacent(append([]ref{c, d}, more...)...)), id)
	return true
}

// fuseSmooth fuses s*s * (c - s*k) with s saturated, and its affine argument if any.
func (f *fuser) fuseSmooth(id ref, o [4]ref) bool {
	return f.fuseSmoothOf(id, o[0], o[1]) || f.fuseSmoothOf(id, o[1], o[0])
}

func (f *fuser) fuseSmoothOf(id, square, rest ref) bool {
	m, n := f.matchSingleUse(square, opMul), f.matchSingleUse(rest, opNmad)
	if m == nil || n == nil || m.operands[0] != m.operands[1] || !n.operands[2].constant() {
		return false
	}
	s, k, ok := splitConstant(n.operands[0], n.operands[1])
	if !ok || s != m.operands[0] {
		return false
	}
	v := f.match(s, opSaturate)
	if v == nil || v.uses != 3 {
		return false
	}
	f.claim(absorbed, square, rest, s)
	if !f.fuseAffine(id, v.operands[0], [affineForms]handler{handlerSmoothMad, handlerSmoothNmad, handlerSmoothSubMul, handlerSmoothDivSub}, k, n.operands[2]) {
		f.add(newFusion(handlerSmooth, 1, id, v.operands[0], f.makeAdjacent(k, n.operands[2])), id)
	}
	return true
}

// fuseFactor fuses a factor of an inverse root, a falloff or a sine.
func (f *fuser) fuseFactor(id ref, o [4]ref) bool {
	for i := range 2 {
		a, factor := o[i], o[1-i]
		if a.constant() || f.values[a].uses != 1 {
			continue
		}
		if r := f.match(a, opRsqrt); r != nil && !factor.constant() {
			f.claim(absorbed, a)
			f.add(newFusion(handlerRsqrtTimes, 1, id, r.operands[0], factor), id)
			return true
		}
		at := f.fusionOf[a]
		if at < 0 {
			continue
		}
		g := &f.fusions[at]
		if g.handler == handlerRsqrtTimes && factor.constant() {
			f.claim(absorbed, a)
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
			f.claim(absorbed, a)
			f.claim(at, id)
			return true
		}
	}
	return false
}

// fuseMulMul fuses a product of three factors.
func (f *fuser) fuseMulMul(id ref, o [4]ref) bool {
	for i := range 2 {
		m := f.matchSingleUse(o[i], opMul)
		if m == nil {
			continue
		}
		a, b, c := m.operands[0], m.operands[1], o[1-i]
		h := handlerMulMulPPP
		switch {
		case a.constant() || b.constant():
			a, b, _ = splitConstant(a, b)
			h = handlerMulMulPCP
			if c.constant() {
				continue // both factors are constants: rare
			}
		case c.constant():
			h = handlerMulMulPPC
		}
		f.claim(absorbed, o[i])
		f.add(newFusion(h, 1, id, a, b, c), id)
		return true
	}
	return false
}
