//go:build amd64 && !purego

package field

// Fusing replaces groups of operations by superinstructions. Each kind of pattern is
// matched from the last value to the first. Patterns keep operations in order and
// regroup nothing, so no bit changes (F1).

// A fusion is a superinstruction.
type fusion struct {
	step
	begun, done bool // operands being emitted; emitted
}

// A fuser maps values to fusions.
type fuser struct {
	values  []lifted
	lanes   uint8 // lanes of the output that the program adds to
	bound   *bound
	one     ref // the constant 1; a value if there is none
	fusions []fusion
	of      []int16 // by value: index of its fusion, or alone or swallowed

	positions []ref       // first lane of each part's position; see lift
	whole     [][2][3]ref // vectors that contain some lanes of a position, and their replacements
}

const (
	alone     = -1 // separate instruction
	swallowed = -2 // computed within a fusion
)

// newFuser returns a fuser without fusions.
func newFuser(p *Program, b *bound, placed bool) *fuser {
	f := &fuser{bound: b, lanes: p.sums}
	l := lift(p, b, placed)
	f.values, f.one, f.positions = l.values, l.one, l.positions
	f.fusions = make([]fusion, 0, len(f.values)/3+1)
	f.of = make([]int16, len(f.values), len(f.values)+8)
	for i := range f.of {
		f.of[i] = alone
	}
	return f
}

// fuse matches all patterns, starting with those that others would break up.
func (f *fuser) fuse() {
	f.each(opMul, (*fuser).smooth)
	f.sums()
	f.each(opMad, (*fuser).product)
	f.each(opSqrt, (*fuser).root)
	f.each(opSelectLT, (*fuser).below)
	f.each(opSaturate, (*fuser).saturate)
	f.each(opSin, (*fuser).sin)
	f.each(opMul, (*fuser).times)
	f.each(opMul, (*fuser).times) // a second factor
	f.each(opMul, (*fuser).factors)
	f.explosions()
	f.origins()
}

// each matches a pattern at every operation of one kind.
func (f *fuser) each(o Opcode, pattern func(f *fuser, id ref, operands [4]ref) bool) {
	for id := len(f.values) - 1; id >= 0; id-- {
		if v := f.is(ref(id), o); v != nil && v.uses > 0 {
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
		f.of[r] = at
	}
}

func newFusion(h handler, results int, refs ...ref) fusion {
	return fusion{step: newStep(h, results, refs...)}
}

// giving returns a fusion whose first three results form a vector.
func giving(h handler, results int, refs ...ref) fusion {
	g := newFusion(h, results, refs...)
	g.gives = true
	return g
}

// taking marks refs[at:at+3] as a vector operand.
func (g fusion) taking(at int) fusion {
	g.takes = int8(at)
	return g
}

// is returns a value if it is that operation and belongs to no fusion.
func (f *fuser) is(r ref, o Opcode) *lifted {
	if r.constant() || f.of[r] != alone {
		return nil
	}
	if v := &f.values[r]; v.op == o && !v.sum {
		return v
	}
	return nil
}

// once is like is, but requires a single use.
func (f *fuser) once(r ref, o Opcode) *lifted {
	if v := f.is(r, o); v != nil && v.uses == 1 {
		return v
	}
	return nil
}

// split returns the variable and the constant of two factors.
func split(a, b ref) (value, constant ref, ok bool) {
	if a.constant() {
		a, b = b, a
	}
	return a, b, !a.constant() && b.constant()
}

// fresh reports whether three values belong to no fusion and have that many uses each.
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

// row makes constants adjacent in the pool, copying them if necessary, and returns the
// first.
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

// copied reports whether the copies from the i-th on are these constants.
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
