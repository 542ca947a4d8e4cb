package field

import "math"

// Equal values are computed once and kept until their last use. If that needs too many
// registers, cheap values that were not used for a while are computed again (P. Briggs, K.
// Cooper, L. Torczon, "Rematerialization", 1992; here before allocation, by distance).

const (
	// farUse is the number of values after its last use from which a value is
	// recomputed.
	farUse = 48
	// cheapValue is the maximum number of operations to recompute.
	cheapValue = 32
)

// A recomputer copies a graph.
type recomputer struct {
	from, to *graph
	cost     []int     // by value: total operations it takes
	now      []valueID // by value: newest copy
	used     []int     // by value: last use of its newest copy; -1 if none
	clock    int       // values copied so far; literals and uniforms have no order
}

// recomputed returns the graph without unused values, and with values recomputed for
// distant uses. It returns nil if that exceeds a program's limits. Values of the result are
// not shared: the result serves only allocate.
//
// The first copy of a value stays at its place. When the printed program is compiled,
// sharing therefore recovers the original graph (F6).
func (g *graph) recomputed() *graph {
	r := &recomputer{
		from: g, to: &graph{sums: g.sums},
		cost: make([]int, len(g.values)), now: make([]valueID, len(g.values)), used: make([]int, len(g.values)),
	}
	live := g.findLive()
	for id := range g.values {
		if r.clock >= MaxInstructions {
			return nil // also bounds the work for hostile texts
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

// copy copies a value, using the newest copies of its operands.
func (r *recomputer) copy(id valueID, line int32) {
	v := r.from.values[id]
	for i, o := range v.operands[:v.op.operands()] {
		if o != theOutput {
			v.operands[i] = r.reuse(o, line)
		}
	}
	r.clock++
	r.now[id] = r.add(v, line)
}

// reuse returns a value for the next reader, recomputed if necessary.
func (r *recomputer) reuse(id valueID, line int32) valueID {
	if r.from.values[id].kind != valueComputed {
		return r.now[id]
	}
	if last := r.used[id]; last >= 0 && r.clock-last > farUse && r.cost[id] <= cheapValue {
		r.copy(id, line)
	}
	r.used[id] = r.clock
	return r.now[id]
}
