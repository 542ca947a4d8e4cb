//go:build amd64 && !purego

package field

// fuseVector fuses the values of a vector if a pattern matches. It returns the vector,
// or its replacement.
func (f *fuser) fuseVector(v [3]ref) [3]ref {
	if anyConstant(v) || v[0] == v[1] || v[1] == v[2] || v[0] == v[2] {
		return v
	}
	v = f.completeVector(v)
	f.fuseLanes(v)
	return v
}

// completeVector completes a partial vector of differences: the compiler omits lanes
// from which nothing is subtracted (x - c, y, z - d).
func (f *fuser) completeVector(v [3]ref) [3]ref {
	for i := range f.completed {
		if f.completed[i][0] == v {
			return f.completed[i][1]
		}
	}
	var missing [3]bool
	differences, uses := 0, uint16(0)
	for lane, r := range v {
		missing[lane] = f.isOrigin(r, lane)
		if missing[lane] {
			continue
		}
		d := f.match(r, opSub)
		if d == nil || !d.operands[1].constant() || !f.isOrigin(d.operands[0], lane) {
			return v
		}
		differences++
		uses = d.uses // every user of the vector uses this lane
	}
	if differences == 3 || differences == 0 {
		return v
	}
	completed := v
	for lane, missing := range missing {
		if missing {
			f.values = append(f.values, lifted{op: opSub, uses: uses, operands: [4]ref{v[lane], constantRef(poolZero)}})
			f.fusionOf = append(f.fusionOf, unfused)
			completed[lane] = ref(len(f.values) - 1)
		}
	}
	f.completed = append(f.completed, [2][3]ref{v, completed})
	return completed
}

// isOrigin reports whether a value is a lane of points - origin.
func (f *fuser) isOrigin(r ref, lane int) bool {
	if r.constant() {
		return false
	}
	d := &f.values[r]
	return d.op == opSub && d.operands[0] == ref(lane) && d.operands[1] == constantRef(poolOrigin+lane)
}

func (f *fuser) fuseLanes(v [3]ref) {
	for _, r := range v {
		if f.fusionOf[r] != unfused || f.values[r].op != f.values[v[0]].op {
			return
		}
	}
	var a, b, c [3]ref
	for lane, r := range v {
		o := &f.values[r].operands
		a[lane], b[lane], c[lane] = o[0], o[1], o[2]
	}
	switch f.values[v[0]].op {
	case opSub:
		f.fuseVectorSub(v, a, b)
	case opMul:
		f.fuseVectorMul(v, a, b)
	case opMad:
		f.fuseScaleShift(v, a, b, c)
	case opSelectLT:
		f.fuseVectorSelect(v, a, b, c)
	case opNmad:
		if !f.fuseAxis(v, a, b, c) {
			f.fuseCross(v)
		}
	}
}

// fusePositions fuses the remaining positions that have more than one lane in use.
func (f *fuser) fusePositions() {
	for _, first := range f.positions {
		v, c, used := [3]ref{first, first + 1, first + 2}, [3]ref{}, 0
		for lane, r := range v {
			if d := f.match(r, opSub); d != nil {
				c[lane] = d.operands[1]
				used += int(min(d.uses, 1))
			}
		}
		if used > 1 && allConstant(c) {
			f.add(newVectorFusion(handlerOffsetV, 3, v[0], v[1], v[2], f.makeTriple(c)), v[:]...)
		}
	}
}

// fuseVectorSelect fuses s < limit ? w : c.
func (f *fuser) fuseVectorSelect(v, s, limit, w [3]ref) {
	var c [3]ref
	for lane, r := range v {
		c[lane] = f.values[r].operands[3]
	}
	if allSame(s) && allSame(limit) && !s[0].constant() && limit[0].constant() && !anyConstant(w) && allConstant(c) {
		w = f.fuseVector(w)
		f.add(newVectorFusion(handlerBelowVV, 3, v[0], v[1], v[2], s[0], w[0], w[1], w[2], limit[0], f.makeTriple(c)).withVector(4), v[:]...)
	}
}

// fuseScaleShift fuses v*s + c.
func (f *fuser) fuseScaleShift(v, a, b, c [3]ref) {
	if allSame(a) && !allSame(b) {
		a, b = b, a
	}
	if allSame(b) && !anyConstant(a) && !b[0].constant() && allConstant(c) {
		a = f.fuseVector(a)
		f.add(newVectorFusion(handlerScaleShiftVV, 3, v[0], v[1], v[2], b[0], a[0], a[1], a[2], f.makeTriple(c)).withVector(4), v[:]...)
	}
}

func (f *fuser) arePoints(v [3]ref) bool { return v == [3]ref{0, 1, 2} }

func (f *fuser) fuseVectorSub(v, a, b [3]ref) {
	switch {
	case anyConstant(a) || !allConstant(b):
	case f.arePoints(a):
		f.add(newVectorFusion(handlerOffsetV, 3, v[0], v[1], v[2], f.makeTriple(b)), v[:]...)
	default:
		a = f.fuseVector(a)
		f.add(newVectorFusion(handlerSubCVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], f.makeTriple(b)).withVector(3), v[:]...)
	}
}

func (f *fuser) fuseVectorMul(v, a, b [3]ref) {
	if allSame(a) && !allSame(b) {
		a, b = b, a
	}
	for lane := range a {
		if a[lane].constant() && !allSame(a) {
			a[lane], b[lane] = b[lane], a[lane]
		}
	}
	switch {
	case anyConstant(a):
	case allConstant(b):
		a = f.fuseVector(a)
		f.add(newVectorFusion(handlerMulCVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], f.makeTriple(b)).withVector(3), v[:]...)
	case allSame(b) && !b[0].constant():
		a = f.fuseVector(a)
		if r := f.match(b[0], opRsqrt); r != nil && r.uses == 3 { // normalised, with its lanes in use
			f.claim(absorbed, b[0])
			f.add(newVectorFusion(handlerScaleRsqrtVV, 3, v[0], v[1], v[2], r.operands[0], a[0], a[1], a[2]).withVector(4), v[:]...)
			return
		}
		f.add(newVectorFusion(handlerScaleVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], b[0]).withVector(3), v[:]...)
	}
}

// fuseAxis fuses d - c*s with a constant c: the part of d perpendicular to an axis.
func (f *fuser) fuseAxis(v, a, b, d [3]ref) bool {
	for lane := range a {
		var ok bool
		if a[lane], b[lane], ok = splitConstant(a[lane], b[lane]); !ok || d[lane].constant() {
			return false
		}
	}
	if !allSame(a) {
		return false
	}
	d = f.fuseVector(d)
	f.add(newVectorFusion(handlerAxisVV, 3, v[0], v[1], v[2], a[0], d[0], d[1], d[2], f.makeTriple(b)).withVector(4), v[:]...)
	return true
}

// matchCross reports whether three values are c x w with a constant c, and returns both.
// The compiler omits factors of 1.
func (f *fuser) matchCross(v [3]ref) (c, w [3]ref, ok bool) {
	var fused [3][2]ref // by lane j: factors of the fused product, from c and from w
	for lane, r := range v {
		j, k := (lane+1)%3, (lane+2)%3
		n := f.match(r, opNmad)
		if n == nil {
			return c, w, false
		}
		c[j], w[k] = f.one, n.operands[2]
		if m := f.matchSingleUse(n.operands[2], opMul); m != nil {
			if x, y, ok := splitConstant(m.operands[0], m.operands[1]); ok {
				w[k], c[j] = x, y
			}
		}
		x, y, ok := splitConstant(n.operands[0], n.operands[1])
		if !ok || w[k].constant() {
			return c, w, false
		}
		fused[k][0], fused[j][1] = y, x
	}
	for lane := range v {
		if fused[lane] != [2]ref{c[lane], w[lane]} {
			return c, w, false
		}
	}
	return c, w, true
}

func (f *fuser) fuseCross(v [3]ref) {
	if c, w, ok := f.matchCross(v); ok {
		f.absorbCross(v)
		w = f.fuseVector(w)
		f.add(newVectorFusion(handlerCrossVV, 3, v[0], v[1], v[2], w[0], w[1], w[2], f.makeTriple(c)).withVector(3), v[:]...)
	}
}

// absorbCross absorbs a cross product's unfused products, if any; see matchCross.
func (f *fuser) absorbCross(v [3]ref) {
	for _, r := range v {
		o := f.values[r].operands[2]
		if m := f.matchSingleUse(o, opMul); m != nil {
			if _, _, ok := splitConstant(m.operands[0], m.operands[1]); ok {
				f.claim(absorbed, o)
			}
		}
	}
}

// fuseDot fuses a dot product or square of two or three lanes.
func (f *fuser) fuseDot(id ref, o [4]ref) bool {
	if m := f.match(o[2], opMul); m != nil {
		return f.fuseSquareXZ(id, m.operands, o)
	}
	n := f.match(o[2], opMad)
	if n == nil {
		return false
	}
	m := f.match(n.operands[2], opMul)
	if m == nil {
		return false
	}
	a := [3]ref{m.operands[0], n.operands[0], o[0]}
	b := [3]ref{m.operands[1], n.operands[1], o[1]}
	inner := [2]ref{o[2], n.operands[2]}
	if a == b && !anyConstant(a) {
		f.absorbSingleUse(inner)
		f.fuseSquare(id, f.fuseVector(a))
		return true
	}
	for lane := range a {
		if a[lane].constant() {
			a[lane], b[lane] = b[lane], a[lane]
		}
	}
	if anyConstant(a) || anyConstant(b) && !allConstant(b) {
		return false
	}
	f.absorbSingleUse(inner)
	a = f.fuseVector(a)
	g := newFusion(handlerDotV, 1, id, a[0], a[1], a[2], b[0], b[1], b[2])
	if allConstant(b) {
		g = newFusion(handlerDotCV, 1, id, a[0], a[1], a[2], f.makeTriple(b))
	}
	f.add(g.withVector(1), id)
	return true
}

// absorbSingleUse absorbs the parts of a product. Parts with other users remain and are
// computed twice, which costs little compared to the gain.
func (f *fuser) absorbSingleUse(inner [2]ref) {
	for _, r := range inner {
		if f.values[r].uses == 1 {
			f.claim(absorbed, r)
		}
	}
}

// fuseSquareXZ fuses the squared distance from a vertical line, or a sum of two squares.
func (f *fuser) fuseSquareXZ(id ref, m, o [4]ref) bool {
	x, z := m[0], o[0]
	if x != m[1] || z != o[1] || x.constant() || z.constant() {
		return false
	}
	f.absorbSingleUse([2]ref{o[2], o[2]})
	dx, dz := f.match(x, opSub), f.match(z, opSub)
	switch {
	case dx == nil || dz == nil || dx.operands[0] != 0 || dz.operands[0] != 2 || !dx.operands[1].constant() || !dz.operands[1].constant():
		f.add(newFusion(handlerSquareTwo, 1, id, x, z), id)
	case dx.uses == 2 && dz.uses == 2:
		f.claim(absorbed, x, z)
		f.add(newFusion(handlerDistanceSquareXZ, 1, id, dx.operands[1], dz.operands[1]), id)
	default:
		f.add(newFusion(handlerOffsetSquareXZ, 3, x, z, id, dx.operands[1], dz.operands[1]), x, z, id)
	}
	return true
}

// producerOf returns the fusion whose result is vector v, or unfused.
func (f *fuser) producerOf(v [3]ref) int16 {
	if v[0].constant() {
		return unfused
	}
	at := f.fusionOf[v[0]]
	if at < 0 || !f.fusions[at].vectorResult || [3]ref(f.fusions[at].refs[:]) != v {
		return unfused
	}
	return at
}

// fuseSquare fuses |v|², with the fusion that produces v if possible.
func (f *fuser) fuseSquare(id ref, v [3]ref) {
	at := f.producerOf(v)
	switch {
	case at < 0:
	case f.fusions[at].handler == handlerOffsetV:
		c := f.fusions[at].refs[3]
		if f.haveUses(v, 2) {
			f.claim(absorbed, v[:]...)
			f.fusions[at] = newFusion(handlerDistanceSquare, 1, id, c)
		} else {
			f.fusions[at] = newVectorFusion(handlerOffsetSquareV, 4, v[0], v[1], v[2], id, c)
		}
		f.claim(at, id)
		return
	case f.fusions[at].handler == handlerAxisVV && f.fuseCylinder(id, at, v):
		return
	}
	f.add(newFusion(handlerSquareV, 1, id, v[0], v[1], v[2]).withVector(1), id)
}

// haveUses reports whether three values each have this number of uses.
func (f *fuser) haveUses(v [3]ref, uses uint16) bool {
	return f.values[v[0]].uses == uses && f.values[v[1]].uses == uses && f.values[v[2]].uses == uses
}

// fuseCylinder fuses the part of position - c perpendicular to an axis with its square.
func (f *fuser) fuseCylinder(id ref, at int16, v [3]ref) bool {
	s, axis := f.fusions[at].refs[3], f.fusions[at].refs[7]
	d := [3]ref(f.fusions[at].refs[4:])
	from := f.producerOf(d)
	if from < 0 || f.fusions[from].handler != handlerOffsetV || !f.haveUses(d, 2) || f.values[s].uses != 3 {
		return false
	}
	if f.fusionOf[s] == unfused {
		if v := f.match(s, opMad); v != nil {
			f.fuseDot(s, v.operands)
		}
	}
	if f.fusionOf[s] < 0 {
		return false
	}
	h := &f.fusions[f.fusionOf[s]]
	if h.handler != handlerDotCV || [3]ref(h.refs[1:]) != d || h.refs[4] != axis {
		return false
	}
	f.claim(absorbed, s)
	f.claim(absorbed, d[:]...)
	f.fusions[at] = newVectorFusion(handlerCylinderV, 4, v[0], v[1], v[2], id, f.fusions[from].refs[3], axis)
	f.claim(at, id)
	return true
}
