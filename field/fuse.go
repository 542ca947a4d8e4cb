//go:build amd64 && !purego

package field

// Fusion replaces groups of operations by superinstructions, as an instruction selector
// does. Each pattern is matched from the last value to the first. Patterns keep
// operations in order and regroup nothing, so no bit changes (F1).

// A fusion is a superinstruction.
type fusion struct {
	step
	visiting, done bool // visiting: its operands are being emitted; done: it is emitted
}

// A fuser maps values to fusions.
type fuser struct {
	values   []lifted
	lanes    uint8 // lanes of the output to which the program adds
	bound    *bound
	one      ref // the constant 1; if the program has none, a value
	fusions  []fusion
	fusionOf []int16 // by value: index of its fusion, or unfused or absorbed

	positions []ref       // first lane of each part's position; see lifter
	completed [][2][3]ref // vectors that contain some lanes of a position, and their replacements
}

const (
	unfused  = -1 // the value is an instruction of its own
	absorbed = -2 // the fusion of the value's reader computes it
)

func newFuser(p *Program, b *bound, withOrigin bool) *fuser {
	f := &fuser{bound: b, lanes: p.sums}
	l := lift(p, b, withOrigin)
	f.values, f.one, f.positions = l.values, l.one, l.positions
	f.fusions = make([]fusion, 0, len(f.values)/3+1)
	f.fusionOf = make([]int16, len(f.values), len(f.values)+8)
	for i := range f.fusionOf {
		f.fusionOf[i] = unfused
	}
	return f
}

// fuse matches all patterns. Patterns whose operands also occur in other patterns come
// first.
func (f *fuser) fuse() {
	f.fuseEach(opMul, (*fuser).fuseSmooth)
	f.fuseSums()
	f.fuseEach(opMad, (*fuser).fuseDot)
	f.fuseEach(opSqrt, (*fuser).fuseSqrt)
	f.fuseEach(opSelectLT, (*fuser).fuseSelect)
	f.fuseEach(opSaturate, (*fuser).fuseSaturate)
	f.fuseEach(opSin, (*fuser).fuseSin)
	f.fuseEach(opMul, (*fuser).fuseFactor)
	f.fuseEach(opMul, (*fuser).fuseFactor) // a second factor
	f.fuseEach(opMul, (*fuser).fuseMulMul)
	f.fuseExplosions()
	f.fusePositions()
}

// fuseEach matches a pattern at every operation of one kind.
func (f *fuser) fuseEach(o Opcode, pattern func(f *fuser, id ref, operands [4]ref) bool) {
	for id := len(f.values) - 1; id >= 0; id-- {
		if v := f.match(ref(id), o); v != nil && v.uses > 0 {
			pattern(f, ref(id), v.operands)
		}
	}
}

// add creates a fusion of the values that it returns, or of the sums that it performs.
func (f *fuser) add(g fusion, members ...ref) int16 {
	f.fusions = append(f.fusions, g)
	at := int16(len(f.fusions) - 1)
	f.claim(at, members...)
	return at
}

func (f *fuser) claim(at int16, members ...ref) {
	for _, r := range members {
		f.fusionOf[r] = at
	}
}

func newFusion(h handler, results int, refs ...ref) fusion {
	return fusion{step: newStep(h, results, refs...)}
}

// newVectorFusion returns a fusion whose first three results form a vector.
func newVectorFusion(h handler, results int, refs ...ref) fusion {
	g := newFusion(h, results, refs...)
	g.vectorResult = true
	return g
}

// withVector returns g with refs[at:at+3] as its vector operand.
func (g fusion) withVector(at int) fusion {
	g.vectorOperand = int8(at)
	return g
}

// match returns value r if it is that operation and unfused, otherwise nil.
func (f *fuser) match(r ref, o Opcode) *lifted {
	if r.constant() || f.fusionOf[r] != unfused {
		return nil
	}
	if v := &f.values[r]; v.op == o && !v.sum {
		return v
	}
	return nil
}

// matchSingleUse is like match, for a value with a single use.
func (f *fuser) matchSingleUse(r ref, o Opcode) *lifted {
	if v := f.match(r, o); v != nil && v.uses == 1 {
		return v
	}
	return nil
}

// splitConstant returns the value and the constant of two factors.
func splitConstant(a, b ref) (value, constant ref, ok bool) {
	if a.constant() {
		a, b = b, a
	}
	return a, b, !a.constant() && b.constant()
}

// areUnfused reports whether three values are unfused and each have this number of uses.
func (f *fuser) areUnfused(v [3]ref, uses uint16) bool {
	for _, r := range v {
		if r.constant() || f.fusionOf[r] != unfused || f.values[r].uses != uses {
			return false
		}
	}
	return true
}

func allSame(v [3]ref) bool     { return v[0] == v[1] && v[1] == v[2] }
func anyConstant(v [3]ref) bool { return v[0].constant() || v[1].constant() || v[2].constant() }
func allConstant(v [3]ref) bool { return v[0].constant() && v[1].constant() && v[2].constant() }

func (f *fuser) makeTriple(c [3]ref) ref { return f.makeAdjacent(c[:]...) }

// makeAdjacent makes constants adjacent in the pool, copying them if necessary, and
// returns the first.
func (f *fuser) makeAdjacent(c ...ref) ref {
	b, first := f.bound, int(c[0].poolIndex())
	if f.areAdjacent(first, c) {
		return c[0]
	}
	for i := range b.copies {
		if to := int(b.copies[i].to); f.isCopied(i, c) {
			return constantRef(to)
		}
	}
	to := len(b.literals)
	for i, r := range c {
		b.copies = append(b.copies, poolCopy{from: r.poolIndex(), to: uint16(to + i)})
		b.literals = append(b.literals, 0)
	}
	return constantRef(to)
}

func (f *fuser) areAdjacent(first int, c []ref) bool {
	for i, r := range c {
		if int(r.poolIndex()) != first+i {
			return false
		}
	}
	return true
}

// isCopied reports whether copies i, i+1, ... of the bound program copy the constants c, in order.
func (f *fuser) isCopied(i int, c []ref) bool {
	copies := f.bound.copies[i:]
	if len(copies) < len(c) {
		return false
	}
	for k, r := range c {
		if copies[k] != (poolCopy{from: r.poolIndex(), to: copies[0].to + uint16(k)}) {
			return false
		}
	}
	return true
}
