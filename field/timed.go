package field

import "math"

// A timed value depends on time and on no point. It is a float64, because a float32 of
// seconds has steps of 1/8 s after twelve days (PROGRAM.md, Time). Each operation here is
// rounded to float64 and never fused, as float64(...) around products ensures.

// evaluateTimed is evaluate in float64, for timed operands.
func evaluateTimed(o Opcode, a, b, c, d float64) float64 {
	switch o {
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return float64(a * b)
	case opDiv:
		return a / b
	case opMad:
		return float64(a*b) + c
	case opNmad:
		return c - float64(a*b)
	case opMin:
		return min64(a, b)
	case opMax:
		return max64(a, b)
	case opAbs:
		return math.Abs(a)
	case opNeg:
		return math.Float64frombits(math.Float64bits(a) ^ 1<<63)
	case opFloor:
		return math.Floor(a)
	case opSqrt:
		return math.Sqrt(a)
	case opSaturate:
		return min64(max64(a, 0), 1)
	case opSelectLT:
		if a < b {
			return c
		}
		return d
	case opSelectGE:
		if a >= b {
			return c
		}
		return d
	case opSin:
		a -= math.Floor(a + 0.5) // whole turns
	}
	return float64(evaluate(o, float32(a), float32(b), float32(c), float32(d)))
}

// min64 and max64 are min32 and max32 in float64.
func min64(a, b float64) float64 {
	if a < b {
		return a
	}
	return b
}

func max64(a, b float64) float64 {
	if a > b {
		return a
	}
	return b
}

// dependence says which inputs change a value. A result has the lowest dependence of its
// operands.
type dependence uint8

const (
	onPoints  dependence = iota
	onTime               // timed
	onNothing            // parameters and literals at most
)

// findTimed returns which instructions have timed results, or nil if none has.
func (p *Program) findTimed() (timed []bool) {
	var planes [planeCount]dependence
	for i, in := range p.code {
		of := onNothing
		if in.op == opLoad && in.uniform == uniformTime {
			of = onTime
		}
		for _, plane := range in.operands[:in.op.operands()] {
			of = min(of, planes[plane])
		}
		if in.to >= MaxRegisters {
			continue
		}
		planes[in.to] = of
		if of == onTime {
			if timed == nil {
				timed = make([]bool, len(p.code))
			}
			timed[i] = true
		}
	}
	return timed
}
