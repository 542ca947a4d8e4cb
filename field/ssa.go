package field

// A program under compilation is a list of scalar values in single assignment
// form. Vectors exist in the text alone: four lanes are four values, and a lane
// that nothing needs is never made.

// valueID names a value of the graph.
type valueID int32

// node is what a value is: a constant, a lane of a parameter, time, a lane of
// the position, or an operation over other values.
type node struct {
	kind nodeKind
	op   Opcode
	bits uint32 // constant: of its float32
	at   uint16 // parameter lane: 4*parameter + lane; position: lane
	args [4]valueID
}

type nodeKind uint8

const (
	nodeConstant nodeKind = iota
	nodeParam
	nodeTime
	nodePosition
	nodeOp
)

// output is one addition to a lane of the output, in the order of the text.
type output struct {
	lane  int
	value valueID
}

// graph shares equal values and folds constants as they are made.
type graph struct {
	nodes   []node
	known   map[node]valueID
	outputs []output
}

func (g *graph) add(n node) valueID {
	if id, ok := g.known[n]; ok {
		return id
	}
	id := valueID(len(g.nodes))
	g.nodes = append(g.nodes, n)
	g.known[n] = id
	return id
}

func (g *graph) constant(v float32) valueID {
	return g.add(node{kind: nodeConstant, bits: floatBits(v)})
}

// apply makes the value of an operation. Folding uses the machine's own
// arithmetic, so that it changes no bits (M1).
func (g *graph) apply(o Opcode, args ...valueID) valueID {
	n := node{kind: nodeOp, op: o}
	copy(n.args[:], args)
	if o == opMov {
		return n.args[0]
	}
	var v [4]float32
	folds := true
	for i, a := range args {
		if g.nodes[a].kind != nodeConstant {
			folds = false
			break
		}
		v[i] = bitsFloat(g.nodes[a].bits)
	}
	if folds {
		if r := scalar(o, v[0], v[1], v[2], v[3]); r == r {
			return g.constant(r)
		}
	}
	return g.add(n)
}

// vector is four lanes.
type vector [4]valueID

func (g *graph) splat(id valueID) vector { return vector{id, id, id, id} }

// each applies an operation lane by lane.
func (g *graph) each(o Opcode, args ...vector) (v vector) {
	lane := make([]valueID, len(args))
	for i := range v {
		for j := range args {
			lane[j] = args[j][i]
		}
		v[i] = g.apply(o, lane...)
	}
	return v
}

// dot is fma(z, z', fma(y, y', x*x')).
func (g *graph) dot(a, b vector) valueID {
	x := g.apply(opMul, a[0], b[0])
	return g.apply(opMad, a[2], b[2], g.apply(opMad, a[1], b[1], x))
}

func (g *graph) cross(a, b vector) vector {
	lane := func(i, j int) valueID {
		return g.apply(opNmad, a[j], b[i], g.apply(opMul, a[i], b[j]))
	}
	return vector{lane(1, 2), lane(2, 0), lane(0, 1), g.constant(0)}
}

// live marks the values that the outputs need.
func (g *graph) live() []bool {
	need := make([]bool, len(g.nodes))
	for _, o := range g.outputs {
		need[o.value] = true
	}
	for id := len(g.nodes) - 1; id >= 0; id-- {
		n := &g.nodes[id]
		if !need[id] || n.kind != nodeOp {
			continue
		}
		for _, a := range n.args[:n.op.info().operands] {
			need[a] = true
		}
	}
	return need
}
