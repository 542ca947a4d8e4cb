package field

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Registers are allocated in one pass over the values in order: each value takes the
// lowest free register until its last use. Nothing is spilled; graph_recompute.go handles
// register pressure instead.
//
// A uniform must be loaded into a register to be used. The most used uniforms, as many as
// fit, are loaded once before the first block and stay resident. All others are loaded
// before each use.

// A need is a uniform that some instruction reads.
type need struct {
	id   valueID
	uses int
}

// An allocator emits instructions for a given set of resident uniforms.
type allocator struct {
	graph    *graph
	live     []bool
	last     []valueID // by value: its last reader
	uniforms []uint16  // by value: number of the uniform
	plane    []uint8   // by value: its plane
	resident []bool    // by value

	code      []instruction
	free      uint32 // bitmap of free registers
	registers int
}

// allocate fills in the instructions. On failure it returns the source line and the
// reason.
func (p *Program) allocate(g *graph) (at int32, why string) {
	a := &allocator{
		graph: g, live: g.findLive(), last: make([]valueID, len(g.values)), uniforms: make([]uint16, len(g.values)),
		plane: make([]uint8, len(g.values)), resident: make([]bool, len(g.values)),
	}
	needs := a.findUses()
	if at, why := p.numberUniforms(g, a, needs); why != "" {
		return at, why
	}
	slices.SortStableFunc(needs, func(x, y need) int { return cmp.Compare(y.uses, x.uses) })
	for residents := min(len(needs), MaxRegisters); residents >= 0; residents-- {
		at, why = a.allocateWith(needs, residents)
		if why == "" {
			p.code, p.preloads, p.registers = a.code, residents, a.registers
			return 0, ""
		}
	}
	return at, why
}

// findUses finds each value's last use, and the uniforms in order of first use.
func (a *allocator) findUses() []need {
	var needs []need
	at := map[valueID]int{}
	for id := range a.graph.values {
		for _, o := range a.operands(valueID(id)) {
			if o == theOutput {
				continue
			}
			a.last[o] = valueID(id)
			if !a.graph.values[o].isUniform() {
				continue
			}
			if _, ok := at[o]; !ok {
				at[o] = len(needs)
				needs = append(needs, need{id: o})
			}
			needs[at[o]].uses++
		}
	}
	return needs
}

// operands returns the operands of a computed value, or none if it is unused.
func (a *allocator) operands(id valueID) []valueID {
	v := &a.graph.values[id]
	if !a.live[id] || v.kind != valueComputed && v.kind != valueSum {
		return nil
	}
	return v.operands[:v.op.operands()]
}

// numberUniforms assigns uniform numbers, and stores literals in the program.
func (p *Program) numberUniforms(g *graph, a *allocator, needs []need) (at int32, why string) {
	for _, n := range needs {
		v := &g.values[n.id]
		a.uniforms[n.id] = v.uniform
		if v.kind == valueUniform {
			continue
		}
		if len(p.literals) == MaxLiterals {
			return g.lines[n.id], fmt.Sprintf("the effect has more than %d distinct numbers", MaxLiterals)
		}
		a.uniforms[n.id] = uint16(uniformParams + 4*len(p.params) + len(p.literals))
		p.literals = append(p.literals, math.Float32frombits(v.bits))
	}
	return 0, ""
}

func (a *allocator) allocateWith(needs []need, residents int) (at int32, why string) {
	a.code, a.free, a.registers = a.code[:0], math.MaxUint32, 0
	clear(a.resident)
	for _, n := range needs[:residents] {
		a.resident[n.id] = true
		a.plane[n.id], _ = a.takeRegister()
		a.code = append(a.code, instruction{op: opLoad, to: a.plane[n.id], uniform: a.uniforms[n.id]})
	}
	for id := range a.graph.values {
		v := &a.graph.values[id]
		if v.kind == valuePosition {
			a.plane[id] = planePosition + v.lane
		}
		if !a.live[id] || v.kind != valueComputed && v.kind != valueSum {
			continue
		}
		if !a.emit(valueID(id)) {
			return a.graph.lines[id], fmt.Sprintf("the effect has more than %d values alive at this point", MaxRegisters)
		}
		if len(a.code) >= MaxInstructions { // opEnd needs an instruction too
			return a.graph.lines[id], fmt.Sprintf("the effect has more than %d instructions", MaxInstructions)
		}
	}
	a.code = append(a.code, instruction{op: opEnd})
	return 0, ""
}

// emit emits a value's instruction, or returns false if registers run out.
func (a *allocator) emit(id valueID) bool {
	v := &a.graph.values[id]
	in := instruction{op: v.op, to: planeOutput + v.lane}
	var done uint32 // registers free after this instruction
	for i, o := range a.operands(id) {
		if o == theOutput {
			in.operands[i] = in.to
			continue
		}
		switch kind := a.graph.values[o].kind; {
		case kind == valueComputed:
			if a.last[o] == id {
				done |= 1 << a.plane[o]
			}
		case kind == valuePosition || a.resident[o]:
		case slices.Contains(v.operands[:i], o): // loaded for an earlier operand of this instruction
		default:
			r, ok := a.takeRegister()
			if !ok {
				return false
			}
			a.plane[o] = r
			a.code = append(a.code, instruction{op: opLoad, to: r, uniform: a.uniforms[o]})
			done |= 1 << r
		}
		in.operands[i] = a.plane[o]
	}
	a.free |= done
	if v.kind == valueComputed {
		r, ok := a.takeRegister()
		if !ok {
			return false
		}
		a.plane[id], in.to = r, r
	}
	a.code = append(a.code, in)
	return true
}

// takeRegister allocates the lowest free register.
func (a *allocator) takeRegister() (uint8, bool) {
	r := bits.TrailingZeros32(a.free)
	if r == MaxRegisters {
		return 0, false
	}
	a.free &^= 1 << r
	a.registers = max(a.registers, r+1)
	return uint8(r), true
}
