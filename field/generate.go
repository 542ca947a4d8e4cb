package field

import "fmt"

// generator turns the live values of a graph into operations. Values are made
// in the order of the text; a register is free again after the last use of its
// value, and the lowest free one is taken.
type generator struct {
	graph     *graph
	need      []bool
	dying     [][]valueID // per value: those whose last use is when it is made
	place     []uint8     // per value: its operand number
	free      uint64      // bit per register
	program   *Program
	registers int
}

// generate fills in p's operations. It returns what is too much, if anything.
func (p *Program) generate(g *graph) string {
	e := &generator{
		graph: g, need: g.live(), program: p, free: 1<<MaxRegisters - 1,
		dying: make([][]valueID, len(g.nodes)), place: make([]uint8, len(g.nodes)),
	}
	e.findLastUses()
	next := 0
	for id := range g.nodes {
		if !e.need[id] {
			continue
		}
		if why := e.emit(valueID(id)); why != "" {
			return why
		}
		next = e.emitOutputs(next, valueID(id))
	}
	p.ops = append(p.ops, op{code: opEnd})
	if len(p.ops) > MaxOps {
		return fmt.Sprintf("the effect takes %d operations, at most %d are allowed", len(p.ops), MaxOps)
	}
	p.registers = e.registers
	return ""
}

// findLastUses files every value under the one whose making is its last use.
// An output comes after the newest of all values up to it, so that outputs
// stay in the order of the text (M3).
func (e *generator) findLastUses() {
	last := make([]valueID, len(e.graph.nodes))
	for id, n := range e.graph.nodes {
		if e.need[id] && n.kind == nodeOp {
			for _, a := range n.args[:n.op.info().operands] {
				last[a] = valueID(id)
			}
		}
	}
	at := valueID(0)
	for _, o := range e.graph.outputs {
		at = max(at, o.value)
		last[o.value] = max(last[o.value], at)
	}
	for id, n := range e.graph.nodes {
		if e.need[id] && n.kind == nodeOp {
			e.dying[last[id]] = append(e.dying[last[id]], valueID(id))
		}
	}
}

// emitOutputs writes the outputs that are due once value id is made.
func (e *generator) emitOutputs(next int, id valueID) int {
	for next < len(e.graph.outputs) && e.graph.outputs[next].value <= id {
		o := e.graph.outputs[next]
		e.program.ops = append(e.program.ops, op{code: opOutX + Opcode(o.lane), args: [4]uint8{e.place[o.value]}})
		next++
	}
	e.release(id)
	return next
}

// emit gives value id a place, and makes it if it is an operation.
func (e *generator) emit(id valueID) string {
	n := e.graph.nodes[id]
	switch n.kind {
	case nodePosition:
		e.place[id] = operandX + uint8(n.at)
		return ""
	case nodeConstant, nodeParam, nodeTime:
		if len(e.program.constants) == MaxConstants {
			return fmt.Sprintf("the effect has more than %d different numbers", MaxConstants)
		}
		e.place[id] = operandConstant + uint8(len(e.program.constants))
		e.program.constants = append(e.program.constants, constant{kind: n.kind, at: n.at, bits: n.bits})
		return ""
	}
	o := op{code: n.op}
	for i, a := range n.args[:n.op.info().operands] {
		o.args[i] = e.place[a]
	}
	if e.free == 0 {
		return fmt.Sprintf("the effect needs more than %d values at once", MaxRegisters)
	}
	o.dst = lowestBit(e.free)
	e.free &^= 1 << o.dst
	e.place[id] = o.dst
	e.registers = max(e.registers, int(o.dst)+1)
	e.program.ops = append(e.program.ops, o)
	return ""
}

// release frees the registers of the values whose last use is behind.
func (e *generator) release(now valueID) {
	for _, id := range e.dying[now] {
		e.free |= 1 << e.place[id]
	}
}
