//go:build amd64 && !purego

package field

import (
	"math"
	"math/bits"

	"github.com/worldd/worldd/internal/cpu"
)

// allocatePlanes assigns each value a plane from its step to its last reader, or the
// accumulator, and writes the code. It returns false if planes run out.
func (m *binder) allocatePlanes(b *bound) bool {
	l := planeAllocator{
		last: make([]int16, len(m.values)), reads: make([]int16, len(m.values)),
		plane: make([]uint8, len(m.values)), free: math.MaxUint64,
	}
	for i := range m.steps {
		s := &m.steps[i]
		for k, r := range s.refs[:s.count] {
			if !r.constant() {
				l.last[r] = int16(i)
				if k >= int(s.results) {
					l.reads[r]++
				}
			}
		}
	}
	if b.kernels == cpu.AVX512 {
		l.assignAccumulator(m.steps)
	}
	addresses := handlersOf(b.kernels)
	b.code = make([]boundInstruction, len(m.steps))
	for i := range m.steps {
		s := &m.steps[i]
		if !l.allocateStep(s, i) {
			return false
		}
		b.code[i].handler = addresses[l.variant(s)]
		l.writeOperands(&b.code[i], s)
	}
	b.planes = l.planes
	return true
}

// A planeAllocator tracks free planes at the current step.
type planeAllocator struct {
	last   []int16 // by value: last step that reads it
	reads  []int16 // by value: number of reads
	plane  []uint8 // by value
	free   uint64  // bitmap of free planes
	planes int
}

// inAccumulator marks a value in the accumulator.
const inAccumulator = math.MaxUint8

// assignAccumulator assigns vectors to the accumulator. In the order of steps, a vector
// whose readers all take it as a vector gets the accumulator if it is free, and keeps it
// until its last read. A step may replace its vector operand.
func (l *planeAllocator) assignAccumulator(steps []step) {
	taken := make([]int16, len(l.reads)) // by first lane: number of steps that take the value as a vector
	for i := range steps {
		if s := &steps[i]; s.vectorOperand >= 0 && !s.refs[s.vectorOperand].constant() {
			taken[s.refs[s.vectorOperand]]++
		}
	}
	free := 0
	for i := range steps {
		s := &steps[i]
		if !s.vectorResult || i < free {
			continue
		}
		v := [3]ref(s.refs[:])
		n := taken[v[0]]
		if l.reads[v[0]] != n || l.reads[v[1]] != n || l.reads[v[2]] != n || !allTakeVector(steps[i:], v, n) {
			continue
		}
		for _, r := range v {
			l.plane[r] = inAccumulator
			free = max(free, int(l.last[r]))
		}
	}
}

// allTakeVector reports whether n steps take v as a vector.
func allTakeVector(steps []step, v [3]ref, n int16) bool {
	for i := range steps {
		if n == 0 {
			break
		}
		if s := &steps[i]; s.vectorOperand >= 0 && s.refs[s.vectorOperand] == v[0] {
			if [3]ref(s.refs[s.vectorOperand:]) != v {
				return false
			}
			n--
		}
	}
	return n == 0
}

// variant returns a step's handler for the locations of its vectors.
func (l *planeAllocator) variant(s *step) handler {
	h, bit := s.handler, handler(1)
	if s.vectorResult {
		if l.plane[s.refs[0]] == inAccumulator {
			h += bit
		}
		bit = 2
	}
	if s.vectorOperand >= 0 && l.plane[s.refs[s.vectorOperand]] == inAccumulator {
		h += bit
	}
	return h
}

// writeOperands writes an instruction's operands, except for the accumulator.
func (l *planeAllocator) writeOperands(in *boundInstruction, s *step) {
	n := 0
	for _, r := range s.refs[:s.count] {
		switch {
		case r.constant():
			in.operands[n] = 4 * r.poolIndex()
		case l.plane[r] == inAccumulator:
			continue
		default:
			in.operands[n] = planeBytes * (spareBlocks + uint16(l.plane[r]))
		}
		n++
	}
}

// allocateStep assigns planes to a step's results and frees operands after their last
// read. A handler with one result has read all operands before it writes, so the result
// may reuse an operand's plane.
func (l *planeAllocator) allocateStep(s *step, i int) bool {
	results, operands := s.refs[:s.results], s.refs[s.results:s.count]
	if s.results == 1 {
		l.release(operands, i)
	}
	for _, r := range results {
		if l.plane[r] == inAccumulator {
			continue
		}
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

func (l *planeAllocator) release(refs []ref, i int) {
	for _, r := range refs {
		if !r.constant() && int(l.last[r]) == i && l.plane[r] != inAccumulator {
			l.free |= 1 << l.plane[r]
		}
	}
}
