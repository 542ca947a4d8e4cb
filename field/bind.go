//go:build amd64 && !purego

package field

import (
	"math"
	"math/bits"

	"github.com/worldd/worldd/internal/cpu"
)

// A step is one instruction of the bound code before it has planes: a handler, and
// its operands in the order that the handler takes them, results first.
type step struct {
	handler handler
	results uint8
	count   uint8
	refs    [boundOperands]ref
}

// A binder makes bound code of lifted values.
type binder struct {
	values    []lifted
	steps     []step
	positions [3]bool // lanes that are in a plane
	weight    int     // of a block, in nanoseconds
}

// bind makes the code of a program for some kernels, placed or not (see lift). It
// gives nil if there is no code for them, or if the memory of a call would not
// suffice: then the portable instructions run as they are.
func bind(p *Program, kernels cpu.Kernels, placed bool) *bound {
	if kernels == cpu.Go || len(p.code) == 0 {
		return nil
	}
	b := &bound{kernels: kernels}
	m := binder{values: lift(p, b, placed), weight: blockWeight}
	m.steps = make([]step, 0, len(m.values)+8)
	m.emit(handlerBegin, 0)
	for i := range len(m.values) {
		if v := &m.values[i]; v.op != opNone && (v.sum || v.uses > 0) && !m.value(ref(i)) {
			return nil
		}
	}
	m.emit(handlerEnd, 0)
	if !m.place(b) {
		return nil
	}
	b.blocks = max(1, callNanoseconds/m.weight)
	return b
}

func (m *binder) emit(h handler, results int, refs ...ref) {
	s := step{handler: h, results: uint8(results), count: uint8(len(refs))}
	copy(s.refs[:], refs)
	m.steps = append(m.steps, s)
}

// value emits the instruction of a value, one that has a handler of its own.
func (m *binder) value(id ref) bool {
	v := &m.values[id]
	variants, n := &plainHandlers[v.op], v.operandCount()
	if v.sum {
		variants = &sumHandlers[v.op][v.lane]
	}
	o := v.operands
	for i := range n {
		m.position(o[i])
	}
	m.weight += weight(v.op)
	for {
		which := 0
		for i, r := range o[:n] {
			if r.constant() {
				which |= 1 << i
			}
		}
		if h := variants[which]; h != 0 {
			if v.sum {
				m.emit(h, 0, o[:n]...)
			} else {
				m.emit(h, 1, append([]ref{id}, o[:n]...)...)
			}
			return true
		}
		if which&1 != 0 && commutes(v.op) && !o[1].constant() {
			o[0], o[1] = o[1], o[0]
			continue
		}
		if which == 0 {
			return false
		}
		at := bits.TrailingZeros(uint(which))
		m.values = append(m.values, lifted{})
		filled := ref(len(m.values) - 1)
		m.emit(handlerFill, 1, filled, o[at])
		o[at] = filled
	}
}

// commutes says whether the first two operands may change places.
func commutes(o Opcode) bool { return o == opAdd || o == opMul || o == opMad || o == opNmad }

// position brings a lane of the position into a plane, if that is what r is and it
// is not there yet.
func (m *binder) position(r ref) {
	if r.constant() || m.values[r].op != opNone || int(r) >= len(m.positions) || m.positions[r] {
		return
	}
	m.positions[r] = true
	m.emit(handlerPositionX+handler(r), 1, r)
}

// place gives each value a plane from the step that makes it to the last that
// reads it, and writes the code. False if there are too many.
func (m *binder) place(b *bound) bool {
	last := make([]int16, len(m.values))
	for i := range m.steps {
		s := &m.steps[i]
		for _, r := range s.refs[:s.count] {
			if !r.constant() {
				last[r] = int16(i)
			}
		}
	}
	l := layout{last: last, plane: make([]uint8, len(m.values)), free: math.MaxUint64}
	addresses := handlersOf(b.kernels)
	b.code = make([]boundInstruction, len(m.steps))
	for i := range m.steps {
		s, in := &m.steps[i], &b.code[i]
		if in.handler = addresses[s.handler]; in.handler == 0 || !l.step(s, i) {
			return false
		}
		for k, r := range s.refs[:s.count] {
			if r.constant() {
				in.operands[k] = 4 * r.place()
			} else {
				in.operands[k] = planeBytes * (spareBlocks + uint16(l.plane[r]))
			}
		}
	}
	b.planes = l.planes
	return true
}

// A layout knows which planes are free at the step that it has come to.
type layout struct {
	last   []int16 // by value: the last step that names it
	plane  []uint8 // by value
	free   uint64  // a bit for each plane
	planes int
}

// step gives planes to the results of a step, and takes back those of operands
// that nobody reads later. A handler of one result has read all of a vector when
// it writes it, so that its result may take the plane of an operand.
func (l *layout) step(s *step, i int) bool {
	results, operands := s.refs[:s.results], s.refs[s.results:s.count]
	if s.results == 1 {
		l.release(operands, i)
	}
	for _, r := range results {
		at := bits.TrailingZeros64(l.free)
		if at >= maxPlanes {
			return false
		}
		l.free &^= 1 << at
		l.plane[r], l.planes = uint8(at), max(l.planes, at+1)
	}
	if s.results != 1 {
		l.release(operands, i)
	}
	l.release(results, i)
	return true
}

func (l *layout) release(refs []ref, i int) {
	for _, r := range refs {
		if !r.constant() && int(l.last[r]) == i {
			l.free |= 1 << l.plane[r]
		}
	}
}

const (
	planeBytes = 4 * BlockPoints
	// maxPlanes is more than fit beside the smallest pool.
	maxPlanes = MaxScratch/BlockPoints - spareBlocks
	// blockWeight is what a block costs when its points and output come from far
	// away.
	blockWeight = 64
)

// weight is a generous estimate of what an operation costs for a block, in
// nanoseconds.
func weight(o Opcode) int {
	switch o {
	case opDiv, opSqrt:
		return 24
	case opRsqrt, opSin:
		return 12
	}
	return 5
}
