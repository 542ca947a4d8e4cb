//go:build amd64 && !purego

package field

// sums fuses additions to all three lanes of the output.
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

// turn fuses consecutive sums of rotations about a vertical axis.
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

// sum fuses three consecutive sums. It returns false if no pattern matches.
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

// explosions fuses the article's first example as a whole.
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
		g.step = newStep(handlerOutExplosion, 0, f.row(c, c-1, c-2, k.refs[2], k.refs[2]-1))
		f.claim(swallowed, v[0], v[1], v[2], s, square)
	}
}
