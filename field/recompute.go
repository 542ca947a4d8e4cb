package field

import "math"

// What is equal is computed once, and kept for as long as somebody needs it. Where
// that is more than there are registers, keeping is the wrong bargain: what was not
// used for a while, and is soon computed, is computed again (P. Briggs, K. Cooper,
// L. Torczon, "Rematerialization", 1992; here before allocation, by distance).

const (
	// farUse is how many values after its last use a value is computed again.
	farUse = 48
	// cheapValue is how many operations that may take.
	cheapValue = 32
)

// A recomputer copies a graph.
type recomputer struct {
	from, to *graph
	cost     []int     // by value: operations that it takes, all told
	now      []valueID // by value: its newest copy
	used     []int     // by value: when that was used last; -1 if never
	clock    int       // how many values were copied; literals and uniforms are in no order
}

// recomputed is the graph without what nobody needs, and with values that are used
// far apart computed several times; nil if that is more than a program may have.
// Nothing is shared by it: it is for allocate.
//
// The first copy of a value stays where it was, and is used. So what compiles the
// printed program finds, by sharing, the graph that this one was made of (F6).
func (g *graph) recomputed() *graph {
	r := &recomputer{
		from: g, to: &graph{sums: g.sums},
		cost: make([]int, len(g.values)), now: make([]valueID, len(g.values)), used: make([]int, len(g.values)),
	}
	live := g.live()
	for id := range g.values {
		if r.clock >= MaxInstructions {
			return nil // also so that no text makes this large
		}
		v := &g.values[id]
		r.used[id] = -1
		switch {
		case v.kind == valueComputed && live[id]:
			r.cost[id] = r.costOf(v)
			r.copy(valueID(id), g.lines[id])
		case v.kind == valueSum:
			r.copy(valueID(id), g.lines[id])
		case v.kind != valueComputed:
			r.now[id] = r.add(*v, g.lines[id])
		}
	}
	return r.to
}

func (r *recomputer) costOf(v *value) int {
	cost := 1
	for _, o := range v.operands[:v.op.operands()] {
		cost = min(cost+r.cost[o], math.MaxInt32)
	}
	return cost
}

func (r *recomputer) add(v value, line int32) valueID {
	r.to.line = line
	return r.to.add(v)
}

// copy makes a value anew, of the newest copies of its operands.
func (r *recomputer) copy(id valueID, line int32) {
	v := r.from.values[id]
	for i, o := range v.operands[:v.op.operands()] {
		if o != theOutput {
			v.operands[i] = r.use(o, line)
		}
	}
	r.clock++
	r.now[id] = r.add(v, line)
}

// use gives a value to somebody who comes next.
func (r *recomputer) use(id valueID, line int32) valueID {
	if r.from.values[id].kind != valueComputed {
		return r.now[id]
	}
	if last := r.used[id]; last >= 0 && r.clock-last > farUse && r.cost[id] <= cheapValue {
		r.copy(id, line)
	}
	r.used[id] = r.clock
	return r.now[id]
}
