//go:build amd64 && !purego

package field

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/cpu"
)

// A step is one instruction of the bound code before planes are assigned: a handler and
// its operands in the handler's order, results first.
type step struct {
	handler       handler // variant for vectors in planes; accumulator variants follow it
	results       uint8
	count         uint8
	vectorResult  bool // the first three results are a vector
	vectorOperand int8 // index of three operands that form a vector; -1 if none
	refs          [boundOperands]ref
}

func newStep(h handler, results int, refs ...ref) step {
	s := step{handler: h, results: uint8(results), count: uint8(len(refs)), vectorOperand: -1}
	copy(s.refs[:], refs)
	return s
}

// A binder generates bound code from lifted values.
type binder struct {
	*fuser
	steps  []step
	done   []bool // by value: it is in a plane already
	weight int    // cost of a block, in nanoseconds
	failed error  // first operation that could not be emitted
}

// kernelsOfBuild lists the kernels for which programs can be bound, on any processor.
var kernelsOfBuild = []cpu.Kernels{cpu.AVX2, cpu.AVX512}

var errCycle = errors.New("superinstructions depend on each other")

// bind generates a program's code for some kernels, with or without an origin (see lift).
// If superinstructions depend on each other, bind retries without them. After an error
// there is no code: the interpreter runs the portable instructions.
func bind(p *Program, kernels cpu.Kernels, withOrigin bool) (*bound, error) {
	if kernels == cpu.Go {
		return nil, errNoKernels
	}
	f := newFuser(p, &bound{kernels: kernels}, withOrigin)
	f.fuse()
	b, err := bindFused(f)
	if errors.Is(err, errCycle) {
		return bindFused(newFuser(p, &bound{kernels: kernels}, withOrigin))
	}
	return b, err
}

func bindFused(f *fuser) (*bound, error) {
	n := len(f.values)
	m := binder{fuser: f, steps: make([]step, 0, n+8), done: make([]bool, n), weight: blockWeight}
	lanes := handler(f.lanes - 1) // handlers exist for each subset of lanes, ordered by bits
	m.steps = append(m.steps, newStep(handlerBeginX+lanes, 0))
	for id := range n {
		if v := &m.values[id]; v.op != opNone && (v.sum || v.uses > 0) && m.fusionOf[id] != absorbed {
			m.emit(ref(id))
		}
	}
	m.steps = append(m.steps, newStep(handlerEndX+lanes, 0))
	if m.weight > longBlock {
		m.steps = slices.Insert(m.steps, 0, newStep(handlerPrefetchX+lanes, 0))
	}
	if m.failed != nil {
		return nil, m.failed
	}
	if !m.allocatePlanes(f.bound) {
		return nil, fmt.Errorf("more than %d values alive at once", maxPlanes)
	}
	f.bound.copyLiterals()
	f.bound.blocks = max(1, callNanoseconds/m.weight)
	return f.bound, nil
}

// emit emits the step of a value or of its fusion, after its operands' steps, unless it
// was emitted before.
func (m *binder) emit(id ref) {
	if at := m.fusionOf[id]; at >= 0 {
		m.emitFusion(&m.fusions[at])
		return
	}
	if m.done[id] {
		return
	}
	m.done[id] = true
	v := &m.values[id]
	if v.op == opNone { // scalar superinstructions read points from planes
		m.steps = append(m.steps, newStep(handlerPositionX+handler(id), 1, id))
		return
	}
	m.weight += weight(v.op)
	if from := v.operands[0]; v.op == opSub && !v.sum && from >= 0 && from < pointLanes {
		if v.operands[1] == constantRef(poolZero) {
			m.steps = append(m.steps, newStep(handlerPositionX+handler(from), 1, id))
		} else {
			m.steps = append(m.steps, newStep(handlerOffsetX+handler(from), 1, id, v.operands[1]))
		}
		return
	}
	for _, r := range v.operands[:v.operandCount()] {
		m.emitOperand(r)
	}
	m.emitOperation(id, v.operands, v.operandCount())
}

func (m *binder) emitOperand(r ref) {
	if !r.constant() {
		m.emit(r)
	}
}

func (m *binder) emitFusion(g *fusion) {
	if g.done {
		return
	}
	if g.visiting {
		m.failed = errCycle
		return
	}
	g.visiting = true
	for _, r := range g.refs[g.results:g.count] {
		m.emitOperand(r)
	}
	g.done = true
	m.weight += fusionWeight
	m.steps = append(m.steps, g.step)
}

// emitOperation emits a single operation. Constants that its handler does not accept are
// first copied to planes.
func (m *binder) emitOperation(id ref, o [4]ref, n int) {
	v := m.values[id]
	variants := &plainHandlers[v.op]
	if v.sum {
		variants = &sumHandlers[v.op][v.lane]
	}
	for {
		which := 0
		for i, r := range o[:n] {
			if r.constant() {
				which |= 1 << i
			}
		}
		switch h := variants[which]; {
		case h != 0 && v.sum:
			m.steps = append(m.steps, newStep(h, 0, o[:n]...))
			return
		case h != 0:
			m.steps = append(m.steps, newStep(h, 1, id, o[0], o[1], o[2], o[3]))
			m.steps[len(m.steps)-1].count = uint8(1 + n)
			return
		case which == 0:
			m.failed = fmt.Errorf("no kernel for %v", v.op)
			return
		case which&1 != 0 && commutes(v.op) && !o[1].constant():
			o[0], o[1] = o[1], o[0]
			continue
		}
		at := bits.TrailingZeros(uint(which))
		m.values = append(m.values, lifted{})
		filled := ref(len(m.values) - 1)
		m.steps = append(m.steps, newStep(handlerFill, 1, filled, o[at]))
		o[at] = filled
	}
}

// commutes reports whether the first two operands may be swapped.
func commutes(o Opcode) bool { return o == opAdd || o == opMul || o == opMad || o == opNmad }

const (
	planeBytes = 4 * BlockPoints
	// maxPlanes bounds the planes; with the smallest pool, fewer fit.
	maxPlanes = MaxScratch/BlockPoints - spareBlocks
	// blockWeight is a block's cost when its points and output are not cached.
	blockWeight = 64
	// longBlock is the weight from which the next block is prefetched.
	longBlock = 150
	// fusionWeight is the cost of most superinstructions per block; see weight.
	fusionWeight = 15
)

// weight estimates an operation's cost per block in nanoseconds, rather too high.
func weight(o Opcode) int {
	switch o {
	case opDiv, opSqrt:
		return 24
	case opRsqrt, opSin, opExp2, opHashSum:
		return 15
	}
	return 5
}
