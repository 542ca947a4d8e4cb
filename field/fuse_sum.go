//go:build amd64 && !purego

package field

// fuseSums fuses additions to all three lanes of the output.
func (f *fuser) fuseSums() {
	var all []ref
	for id := range f.values {
		if f.values[id].sum {
			all = append(all, ref(id))
		}
	}
	for i := len(all) - 3; i >= 0; i-- {
		if f.fuseSum([3]ref(all[i:])) {
			i -= 2
		}
	}
	for i := len(all) - 2; i >= 0; i-- {
		if f.fusionOf[all[i]] == unfused && f.fusionOf[all[i+1]] == unfused {
			f.fuseRotation(all[i], all[i+1])
		}
	}
}

// fuseRotation fuses consecutive sums of rotations about a vertical axis.
func (f *fuser) fuseRotation(first, second ref) {
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

// fuseSum fuses three consecutive sums. It returns false if no pattern matches.
func (f *fuser) fuseSum(s [3]ref) bool {
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
		a = f.fuseVector(a)
		f.add(newFusion(handlerOutAddV, 0, a[:]...).withVector(0), s[:]...)
		return true
	case opMad:
		return f.fuseSumProduct(s, a, b)
	}
	return false
}

// fuseSumProduct fuses out += v*s.
func (f *fuser) fuseSumProduct(s, v, k [3]ref) bool {
	if allSame(v) && !allSame(k) {
		v, k = k, v
	}
	switch {
	case allSame(k) && !k[0].constant() && allConstant(v):
		f.add(newFusion(handlerOutMadPT, 0, f.makeTriple(v), k[0]), s[:]...)
	case allSame(k) && !k[0].constant() && !anyConstant(v):
		if c, w, ok := f.matchCross(v); ok && f.areUnfused(v, 1) {
			f.absorbCross(v)
			f.claim(absorbed, v[:]...)
			w = f.fuseVector(w)
			f.add(newFusion(handlerOutCrossV, 0, w[0], w[1], w[2], f.makeTriple(c), k[0]).withVector(0), s[:]...)
			return true
		}
		v = f.fuseVector(v)
		f.add(newFusion(handlerOutMadPV, 0, v[0], v[1], v[2], k[0]).withVector(0), s[:]...)
	default:
		for lane := range v {
			if v[lane].constant() {
				v[lane], k[lane] = k[lane], v[lane]
			}
		}
		if anyConstant(v) || !allConstant(k) {
			return false
		}
		v = f.fuseVector(v)
		f.add(newFusion(handlerOutMadCV, 0, v[0], v[1], v[2], f.makeTriple(k)).withVector(0), s[:]...)
	}
	return true
}

// fuseExplosions fuses whole explosions, the article's first example.
func (f *fuser) fuseExplosions() {
	for i := range f.fusions {
		g := &f.fusions[i]
		if g.handler != handlerOutMadPV {
			continue
		}
		v, s := [3]ref(g.refs[:]), g.refs[3]
		from := f.producerOf(v)
		if f.fusionOf[s] < 0 || from < 0 || f.values[s].uses != 3 || !f.haveUses(v, 3) {
			continue
		}
		d, k := &f.fusions[from], &f.fusions[f.fusionOf[s]]
		square := d.refs[3]
		if d.handler != handlerOffsetSquareV || k.handler != handlerRsqrtBelow || k.refs[1] != square || f.values[square].uses != 2 {
			continue
		}
		c := d.refs[4]
		g.step = newStep(handlerOutExplosion, 0, f.makeAdjacent(c, c-1, c-2, k.refs[2], k.refs[2]-1))
		f.claim(absorbed, v[0], v[1], v[2], s, square)
	}
}
