//go:build amd64 && !purego

package field

// vector fuses the values that make a vector, if they are of a pattern.
func (f *fuser) vector(v [3]ref) {
	if anyConstant(v) || v[0] == v[1] || v[1] == v[2] || v[0] == v[2] {
		return
	}
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
	case opNmad:
		if !f.axis(v, a, b, c) {
			f.cross(v)
		}
	}
}

// isPosition says whether three values are the position.
func (f *fuser) isPosition(v [3]ref) bool { return v == [3]ref{0, 1, 2} }

func (f *fuser) difference(v, a, b [3]ref) {
	switch {
	case anyConstant(a) || !allConstant(b):
	case f.isPosition(a):
		f.add(giving(handlerTowardsV, 3, v[0], v[1], v[2], f.triple(b)), v[:]...)
	default:
		f.add(giving(handlerLessVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], f.triple(b)).taking(3), v[:]...)
		f.vector(a)
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
		return
	case allConstant(b):
		f.add(giving(handlerStretchVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], f.triple(b)).taking(3), v[:]...)
	case same(b):
		f.add(giving(handlerScaleVV, 3, v[0], v[1], v[2], a[0], a[1], a[2], b[0]).taking(3), v[:]...)
	default:
		return
	}
	f.vector(a)
}

// axis is d - c*s, with a constant c: what remains of d beside an axis.
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
	f.add(giving(handlerAxisVV, 3, v[0], v[1], v[2], a[0], d[0], d[1], d[2], f.triple(b)).taking(4), v[:]...)
	f.vector(d)
	return true
}

// crossed finds out whether three values are c x w, with a constant c, and which.
// The compiler leaves out a factor of 1.
func (f *fuser) crossed(v [3]ref) (c, w [3]ref, ok bool) {
	var fused [3][2]ref // by lane j: what stands in the fused product, of c and of w
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
		f.add(giving(handlerCrossVV, 3, v[0], v[1], v[2], w[0], w[1], w[2], f.triple(c)).taking(3), v[:]...)
		f.vector(w)
	}
}

// swallowCross claims the unfused products of a cross product, where there are
// some: see crossed.
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

// product is a dot product, or a square, of two or three lanes.
func (f *fuser) product(id ref) {
	o := &f.values[id].operands
	if m := f.once(o[2], opMul); m != nil {
		f.squareXZ(id, m)
		return
	}
	n := f.once(o[2], opMad)
	if n == nil {
		return
	}
	m := f.once(n.operands[2], opMul)
	if m == nil {
		return
	}
	a := [3]ref{m.operands[0], n.operands[0], o[0]}
	b := [3]ref{m.operands[1], n.operands[1], o[1]}
	if a == b && !anyConstant(a) {
		f.claim(swallowed, o[2], n.operands[2])
		f.square(id, a)
		return
	}
	for lane := range a {
		if a[lane].constant() {
			a[lane], b[lane] = b[lane], a[lane]
		}
	}
	var g fusion
	switch {
	case anyConstant(a):
		return
	case allConstant(b):
		g = newFusion(handlerDotCV, 1, id, a[0], a[1], a[2], f.triple(b))
	case !anyConstant(b):
		g = newFusion(handlerDotV, 1, id, a[0], a[1], a[2], b[0], b[1], b[2])
	default:
		return
	}
	f.claim(swallowed, o[2], n.operands[2])
	f.add(g.taking(1), id)
	f.vector(a)
}

// squareXZ is the square of the distance from a vertical line.
func (f *fuser) squareXZ(id ref, m *lifted) {
	o := &f.values[id].operands
	x, z := m.operands[0], o[0]
	if x != m.operands[1] || z != o[1] {
		return
	}
	dx, dz := f.is(x, opSub), f.is(z, opSub)
	if dx == nil || dz == nil || dx.operands[0] != 0 || dz.operands[0] != 2 || dx.uses != 2 || dz.uses != 2 {
		return
	}
	f.claim(swallowed, o[2], x, z)
	f.add(newFusion(handlerDistanceSquareXZ, 1, id, dx.operands[1], dz.operands[1]), id)
}

// given finds the fusion that gives a vector; -1 if there is none.
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

// square fuses |v|² with what gives the vector, if it can.
func (f *fuser) square(id ref, v [3]ref) {
	f.vector(v)
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

// usedBy says whether three values have so many users each.
func (f *fuser) usedBy(v [3]ref, uses uint16) bool {
	return f.values[v[0]].uses == uses && f.values[v[1]].uses == uses && f.values[v[2]].uses == uses
}

// cylinder fuses what remains of position - c beside an axis, and its square.
func (f *fuser) cylinder(id ref, at int16, v [3]ref) bool {
	s, axis := f.fusions[at].refs[3], f.fusions[at].refs[7]
	d := [3]ref(f.fusions[at].refs[4:])
	from := f.given(d)
	if from < 0 || f.fusions[from].handler != handlerTowardsV || !f.usedBy(d, 2) || f.values[s].uses != 3 {
		return false
	}
	if f.of[s] == alone {
		f.value(s, &f.values[s])
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
