package field

import "math"

// A program under compilation is a list of scalar values, each made once, in the
// order of the text (static single assignment). Vectors are gone: four lanes are
// four values, equal ones are one value, and what no output needs is dropped.

// valueID names a value of the graph: its index.
type valueID int32

// theOutput stands for the output among the operands of a sum.
const theOutput valueID = -1

type valueKind uint8

const (
	valueSum      valueKind = iota // no value: a lane of the output changes
	valuePosition                  // a lane of the position
	valueComputed                  // an operation over other values
	valueUniform                   // time, or a lane of a parameter
	valueLiteral                   // a number
)

// Two values that are equal are one.
type value struct {
	kind     valueKind
	op       Opcode
	lane     uint8      // of the position or the output
	uniform  uint16     // number of the uniform
	bits     uint32     // of the literal
	operands [4]valueID // unused ones are 0
}

// A valueKey is all of a value without gaps: it is hashed in one piece.
type valueKey [3]uint64

func (v *value) key() valueKey {
	two := func(low, high valueID) uint64 { return uint64(uint32(low)) | uint64(uint32(high))<<32 }
	number := v.bits | uint32(v.uniform) // one of them is 0: no literal is a uniform
	return valueKey{
		uint64(v.kind) | uint64(v.op)<<8 | uint64(v.lane)<<16 | uint64(number)<<32,
		two(v.operands[0], v.operands[1]), two(v.operands[2], v.operands[3]),
	}
}

// isUniform says whether the value is the same for all points without computing.
func (v *value) isUniform() bool { return v.kind == valueLiteral || v.kind == valueUniform }

// A vector is four lanes.
type vector [4]valueID

func splat(v valueID) vector { return vector{v, v, v, v} }

// valuesPerStatement is about what effects that ship with the package have: room that
// a graph begins with.
const valuesPerStatement = 6

type graph struct {
	values []value
	lines  []int32 // of the text, for messages about a value
	known  map[valueKey]valueID
	line   int32 // that is being lowered
	sums   int   // how many values are sums
	empty  int   // how many sums of 0 were left out
	plain  bool  // nothing is simplified or shared, to be looked at
}

func (g *graph) add(v value) valueID {
	id := valueID(len(g.values))
	g.values = append(g.values, v)
	g.lines = append(g.lines, g.line)
	return id
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

// value makes an operation over values, unless it is known without computing.
func (g *graph) value(o Opcode, operands ...valueID) valueID {
	v := value{kind: valueComputed, op: o}
	copy(v.operands[:], operands[:o.operands()])
	if g.plain {
		return g.add(v)
	}
	v = g.normal(v)
	if f, ok := g.fold(v); ok {
		return g.literal(f)
	}
	if id, ok := g.identity(v); ok {
		return id
	}
	return g.share(v)
}

// sum adds to a lane of the output. Sums are never shared and keep their order.
func (g *graph) sum(o Opcode, lane int, operands [4]valueID) {
	v := g.normal(value{kind: valueSum, op: o, lane: uint8(lane), operands: operands})
	if g.isZero(v.operands[1]) && (v.op == opAdd || v.op == opSub) {
		g.empty++
		return
	}
	g.add(v)
	g.sums++
}

// nothing makes the program of an effect whose sums are all empty.
func (g *graph) nothing() {
	g.add(value{kind: valueSum, op: opSub, operands: [4]valueID{theOutput, g.literal(0)}})
}

// live marks the values that the sums need.
func (g *graph) live() []bool {
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
