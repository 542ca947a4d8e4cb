//go:build amd64 && !purego

package field

// vector fuses the values of a vector if a pattern matches. It returns the vector, or
// its replacement.
func (f *fuser) vector(v [3]ref) [3]ref {
	if anyConstant(v) || v[0] == v[1] || v[1] == v[2] || v[0] == v[2] {
		return v
	}
	v = f.completed(v)
	f.fuseVector(v)
	return v
}

// completed completes a partial vector of differences: the compiler omits lanes from
// which nothing is subtracted (x - c, y, z - d).
func (f *fuser) completed(v [3]ref) [3]ref {
	for i := range f.whole {
		if f.whole[i][0] == v {
			return f.whole[i][1]
		}
	}
	var missing [3]bool
	taken, uses := 0, uint16(0)
	for lane, r := range v {
		if missing[lane] = f.isOrigin(r, lane); missing[lane] {
			continue
		}
		d := f.is(r, opSub)
		if d == nil || !d.operands[1].constant() || !f.isOrigin(d.operands[0], lane) {
			return v
		}
		taken++
		uses = d.uses // every user of the vector uses this lane
	}
	if taken == 3 || taken == 0 {
		return v
	}
	whole := v
	for lane, missing := range missing {
		if missing {
			f.values = append(f.values, lifted{op: opSub, uses: uses, operands: [4]ref{v[lane], constantRef(poolZero)}})
			f.of = append(f.of, alone)
			whole[lane] = ref(len(f.values) - 1)
		}
	}
	f.whole = append(f.whole, [2][3]ref{v, whole})
	return whole
}

// isOrigin reports whether a value is a lane of points - origin.
func (f *fuser) isOrigin(r ref, lane int) bool {
	if r.constant() {
		return false
	}
	d := &f.values[r]
	return d.op == opSub && d.operands[0] == ref(lane) && d.operands[1] == constantRef(poolOrigin+lane)
}

func (f *fuser) fuseVector(v [3]ref) {
	for _, r := range v {
		if f.of[r] != alone || f.values[r].op != f.values[v[0]].op {
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
		f.difference(v, a, b)
	case opMul:
		f.scaled(v, a, b)
	case opMad:
		f.scaleShift(v, a, b, c)
	case opSelectLT:
		f.vectorBelow(v, a, b, c)
	case opNmad:
		if !f.axis(v, a, b, c) {
			f.cross(v)
		}
	}
}

// origins fuses the remaining positions of which more than one lane is needed.
func (f *fuser) origins() {
	for _, first := range f.positions {
		v, c, used := [3]ref{first, first + 1, first + 2}, [3]ref{}, 0
		for lane, r := range v {
			if d := f.is(r, opSub); d != nil {
				c[lane] = d.operands[1]
				used += int(min(d.uses, 1))
			}
		}
		if used > 1 && allConstant(c) {
			f.add(giving(handlerTowardsV, 3, v[0], v[1], v[2], f.triple(c)), v[:]...)
		}
	}
}

// vectorBelow fuses s < limit ? w : c.
func (f *fuser) vectorBelow(v, s, limit, w [3]ref) {
	var c [3]ref
	for lane, r := range v {
		c[lane] = f.values[r].operands[3]
	}
	if same(s) && same(limit) && !s[0].constant() && limit[0].constant() && !anyConstant(w) && allConstant(c) {
		w = f.vector(w)
		f.add(giving(handlerBelowVV, 3, v[0], v[1], v[2], s[0], w[0], w[1], w[2], limit[0], f.triple(c)).taking(4), v[:]...)
	}
}

// scaleShift fuses v*s + c.
func (f *fuser) scaleShift(v, a, b, c [3]ref) {
	if same(a) && !same(b) {
		a, b = b, a
	}
	if same(b) && !anyConstant(a) && !b[0].constant() && allConstant(c) {
		a = f.vector(a)
		f.add(giving(handlerScaleShiftVV, 3, v[0], v[1], v[2], b[0], a[0], a[1], a[2], f.triple(c)).taking(4), v[:]...)
	}
}

// arePoints reports whether three values are the points.
func (f *fuser) arePoints(v [3]ref) bool { return v == [3]ref{0, 1, 2} }

func (f *fuser) difference(v, a, b [3]ref) {
	switch {
	case anyConstant(a) || !allConstant(b):
	case f.arePoints(a):
		f.add(giving(handlerTowardsV, 3, v[0], v[1], v[2], f.triple(b)), v[:]...)
	default:
		a = f.vector(a)
		f.add(giving(handlerLessVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], f.triple(b)).taking(3), v[:]...)
	}
}

func (f *fuser) scaled(v, a, b [3]ref) {
	if same(a) && !same(b) {
		a, b = b, a
	}
	for lane := range a {
		if a[lane].constant() && !same(a) {
			a[lane], b[lane] = b[lane], a[lane]
		}
	}
	switch {
	case anyConstant(a):
	case allConstant(b):
		a = f.vector(a)
		f.add(giving(handlerStretchVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], f.triple(b)).taking(3), v[:]...)
	case same(b) && !b[0].constant():
		a = f.vector(a)
		if r := f.is(b[0], opRsqrt); r != nil && r.uses == 3 { // normalised, with its lanes in use
			f.claim(swallowed, b[0])
			f.add(giving(handlerScaleRsqrtVV, 3, v[0], v[1], v[2], r.operands[0], a[0], a[1], a[2]).taking(4), v[:]...)
			return
		}
		f.add(giving(handlerScaleVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], b[0]).taking(3), v[:]...)
	}
}

// axis fuses d - c*s with a constant c: the part of d perpendicular to an axis.
func (f *fuser) axis(v, a, b, d [3]ref) bool {
	for lane := range a {
		var ok bool
		if a[lane], b[lane], ok = split(a[lane], b[lane]); !ok || d[lane].constant() {
			return false
		}
	}
	if !same(a) {
		return false
	}
	d = f.vector(d)
	f.add(giving(handlerAxisVV, 3, v[0], v[1], v[2], a[0], d[0], d[1], d[2], f.triple(b)).taking(4), v[:]...)
	return true
}

// crossed reports whether three values are c x w with a constant c, and returns both.
// The compiler omits factors of 1.
func (f *fuser) crossed(v [3]ref) (c, w [3]ref, ok bool) {
	var fused [3][2]ref // by lane j: factors of the fused product, from c and from w
	for lane, r := range v {
		j, k := (lane+1)%3, (lane+2)%3
		n := f.is(r, opNmad)
		if n == nil {
			return c, w, false
		}
		c[j], w[k] = f.one, n.operands[2]
		if m := f.once(n.operands[2], opMul); m != nil {
			if x, y, ok := split(m.operands[0], m.operands[1]); ok {
				w[k], c[j] = x, y
			}
		}
		x, y, ok := split(n.operands[0], n.operands[1])
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

func (f *fuser) cross(v [3]ref) {
	if c, w, ok := f.crossed(v); ok {
		f.swallowCross(v)
		w = f.vector(w)
		f.add(giving(handlerCrossVV, 3, v[0], v[1], v[2], w[0], w[1], w[2], f.triple(c)).taking(3), v[:]...)
	}
}

// swallowCross claims a cross product's unfused products, if any: see crossed.
func (f *fuser) swallowCross(v [3]ref) {
	for _, r := range v {
		o := f.values[r].operands[2]
		if m := f.once(o, opMul); m != nil {
			if _, _, ok := split(m.operands[0], m.operands[1]); ok {
				f.claim(swallowed, o)
			}
		}
	}
}

// product fuses a dot product or square of two or three lanes.
func (f *fuser) product(id ref, o [4]ref) bool {
	if m := f.is(o[2], opMul); m != nil {
		return f.squareXZ(id, m.operands, o)
	}
	n := f.is(o[2], opMad)
	if n == nil {
		return false
	}
	m := f.is(n.operands[2], opMul)
	if m == nil {
		return false
	}
	a := [3]ref{m.operands[0], n.operands[0], o[0]}
	b := [3]ref{m.operands[1], n.operands[1], o[1]}
	inner := [2]ref{o[2], n.operands[2]}
	if a == b && !anyConstant(a) {
		f.swallow(inner)
		f.square(id, f.vector(a))
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
	f.swallow(inner)
	a = f.vector(a)
	g := newFusion(handlerDotV, 1, id, a[0], a[1], a[2], b[0], b[1], b[2])
	if allConstant(b) {
		g = newFusion(handlerDotCV, 1, id, a[0], a[1], a[2], f.triple(b))
	}
	f.add(g.taking(1), id)
	return true
}

// swallow claims a product's parts. Parts with other users remain and are computed
// twice, which costs little compared to the gain.
func (f *fuser) swallow(inner [2]ref) {
	for _, r := range inner {
		if f.values[r].uses == 1 {
			f.claim(swallowed, r)
		}
	}
}

// squareXZ fuses the squared distance from a vertical line, or a sum of two squares.
func (f *fuser) squareXZ(id ref, m, o [4]ref) bool {
	x, z := m[0], o[0]
	if x != m[1] || z != o[1] || x.constant() || z.constant() {
		return false
	}
	f.swallow([2]ref{o[2], o[2]})
	dx, dz := f.is(x, opSub), f.is(z, opSub)
	switch {
	case dx == nil || dz == nil || dx.operands[0] != 0 || dz.operands[0] != 2 || !dx.operands[1].constant() || !dz.operands[1].constant():
		f.add(newFusion(handlerSquareTwo, 1, id, x, z), id)
	case dx.uses == 2 && dz.uses == 2:
		f.claim(swallowed, x, z)
		f.add(newFusion(handlerDistanceSquareXZ, 1, id, dx.operands[1], dz.operands[1]), id)
	default:
		f.add(newFusion(handlerTowardsSquareXZ, 3, x, z, id, dx.operands[1], dz.operands[1]), x, z, id)
	}
	return true
}

// given returns the fusion that gives a vector, or -1.
func (f *fuser) given(v [3]ref) int16 {
	if v[0].constant() {
		return alone
	}
	at := f.of[v[0]]
	if at < 0 || !f.fusions[at].gives || [3]ref(f.fusions[at].refs[:]) != v {
		return alone
	}
	return at
}

// square fuses |v|² with the fusion that gives v, if possible.
func (f *fuser) square(id ref, v [3]ref) {
	at := f.given(v)
	switch {
	case at < 0:
	case f.fusions[at].handler == handlerTowardsV:
		c := f.fusions[at].refs[3]
		if f.usedBy(v, 2) {
			f.claim(swallowed, v[:]...)
			f.fusions[at] = newFusion(handlerDistanceSquare, 1, id, c)
		} else {
			f.fusions[at] = giving(handlerTowardsSquareV, 4, v[0], v[1], v[2], id, c)
		}
		f.claim(at, id)
		return
	case f.fusions[at].handler == handlerAxisVV && f.cylinder(id, at, v):
		return
	}
	f.add(newFusion(handlerSquareV, 1, id, v[0], v[1], v[2]).taking(1), id)
}

// usedBy reports whether three values have that many uses each.
func (f *fuser) usedBy(v [3]ref, uses uint16) bool {
	return f.values[v[0]].uses == uses && f.values[v[1]].uses == uses && f.values[v[2]].uses == uses
}

// cylinder fuses the part of position - c perpendicular to an axis with its square.
func (f *fuser) cylinder(id ref, at int16, v [3]ref) bool {
	s, axis := f.fusions[at].refs[3], f.fusions[at].refs[7]
	d := [3]ref(f.fusions[at].refs[4:])
	from := f.given(d)
	if from < 0 || f.fusions[from].handler != handlerTowardsV || !f.usedBy(d, 2) || f.values[s].uses != 3 {
		return false
	}
	if f.of[s] == alone {
		if v := f.is(s, opMad); v != nil {
			f.product(s, v.operands)
		}
	}
	if f.of[s] < 0 {
		return false
	}
	h := &f.fusions[f.of[s]]
	if h.handler != handlerDotCV || [3]ref(h.refs[1:]) != d || h.refs[4] != axis {
		return false
	}
	f.claim(swallowed, s)
	f.claim(swallowed, d[:]...)
	f.fusions[at] = giving(handlerCylinderV, 4, v[0], v[1], v[2], id, f.fusions[from].refs[3], axis)
	f.claim(at, id)
	return true
}
