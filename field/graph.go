package field

import "math"

// A program under compilation is a list of scalar values in static single assignment,
// in the text's order. A vector is four values; equal values are shared, and values
// that no output needs are dropped.

// valueID is the index of a value in the graph.
type valueID int32

// theOutput stands for the output as an operand of a sum.
const theOutput valueID = -1

type valueKind uint8

const (
	valueSum      valueKind = iota // no value: a change of a lane of the output
	valuePosition                  // a lane of the position
	valueComputed                  // an operation over other values
	valueUniform                   // time, or a lane of a parameter
	valueLiteral                   // a number
)

// Equal values are shared.
type value struct {
	kind     valueKind
	op       Opcode
	lane     uint8      // of the position or the output
	uniform  uint16     // number of the uniform
	bits     uint32     // of the literal
	operands [4]valueID // unused ones are 0

	readsTime, readsPoint bool // derived
}

// isTimed reports whether the value depends on time and on no point.
func (v *value) isTimed() bool { return v.readsTime && !v.readsPoint }

// A valueKey packs a value without gaps, to be hashed in one piece.
type valueKey [3]uint64

func (v *value) key() valueKey {
	two := func(low, high valueID) uint64 { return uint64(uint32(low)) | uint64(uint32(high))<<32 }
	number := v.bits | uint32(v.uniform) // one of them is 0: no literal is a uniform
	return valueKey{
		uint64(v.kind) | uint64(v.op)<<8 | uint64(v.lane)<<16 | uint64(number)<<32,
		two(v.operands[0], v.operands[1]), two(v.operands[2], v.operands[3]),
	}
}

// isUniform reports whether the value is the same for all points without a computation.
func (v *value) isUniform() bool { return v.kind == valueLiteral || v.kind == valueUniform }

// A vector is four lanes.
type vector [4]valueID

func splat(v valueID) vector { return vector{v, v, v, v} }

// valuesPerStatement is the initial capacity, from the effects shipped with the
// package.
const valuesPerStatement = 6

type graph struct {
	values []value
	lines  []int32 // lines in the text, for messages
	known  map[valueKey]valueID
	splits map[valueID]splitValue // known results of split
	line   int32                  // line being lowered
	sums   int                    // number of sums among the values
	empty  int                    // number of omitted sums of 0
	plain  bool                   // no simplification or sharing, for Explain
}

func (g *graph) add(v value) valueID {
	id := valueID(len(g.values))
	v.readsTime, v.readsPoint = g.dependsOn(&v)
	g.values = append(g.values, v)
	g.lines = append(g.lines, g.line)
	return id
}

// dependsOn reports whether a value depends on time, and whether it depends on the point.
func (g *graph) dependsOn(v *value) (time, point bool) {
	switch v.kind {
	case valueUniform:
		return v.uniform == uniformTime, false
	case valuePosition:
		return false, true
	case valueComputed:
		for _, o := range v.operands[:v.op.operands()] {
			time, point = time || g.values[o].readsTime, point || g.values[o].readsPoint
		}
	}
	return time, point
}

func (g *graph) share(v value) valueID {
	key := v.key()
	id, ok := g.known[key]
	if !ok {
		id = g.add(v)
		g.known[key] = id
	}
	return id
}

func (g *graph) literal(f float32) valueID {
	return g.share(value{kind: valueLiteral, bits: math.Float32bits(f)})
}

func (g *graph) uniform(number int) valueID {
	return g.share(value{kind: valueUniform, uniform: uint16(number)})
}

func (g *graph) position(lane int) valueID {
	return g.share(value{kind: valuePosition, lane: uint8(lane)})
}

// value returns an operation over values, simplified if possible.
func (g *graph) value(o Opcode, operands ...valueID) valueID {
	v := value{kind: valueComputed, op: o}
	copy(v.operands[:], operands[:o.operands()])
	if g.plain {
		return g.add(v)
	}
	v = g.simplify(g.keepPrecise(v))
	if f, ok := g.foldLiterals(v); ok {
		return g.literal(f)
	}
	if id, ok := g.foldIdentity(v); ok {
		return id
	}
	return g.share(v)
}

// sum adds to a lane of the output. Sums are never shared or reordered.
func (g *graph) sum(o Opcode, lane int, operands [4]valueID) {
	v := g.simplify(g.keepPrecise(value{kind: valueSum, op: o, lane: uint8(lane), operands: operands}))
	if g.isZero(v.operands[1]) && (v.op == opAdd || v.op == opSub) {
		g.empty++
		return
	}
	g.add(v)
	g.sums++
}

// addEmptySum builds the program of an effect whose sums are all empty.
func (g *graph) addEmptySum() {
	g.add(value{kind: valueSum, op: opSub, operands: [4]valueID{theOutput, g.literal(0)}})
}

// findLive marks the values that sums need.
func (g *graph) findLive() []bool {
	need := make([]bool, len(g.values))
	for id := len(g.values) - 1; id >= 0; id-- {
		v := &g.values[id]
		if v.kind == valueSum {
			need[id] = true
		}
		if !need[id] || v.kind != valueComputed && v.kind != valueSum {
			continue
		}
		for _, o := range v.operands[:v.op.operands()] {
			if o != theOutput {
				need[o] = true
			}
		}
	}
	return need
}
