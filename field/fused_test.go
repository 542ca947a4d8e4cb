//go:build amd64 && !purego

package field

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/racetest"
)

type vec3 = [3]float32

// A fusedPoint holds the inputs of a superinstruction at a point: the position, vectors and
// a number in planes, constants, and the output. The superinstruction changes out, or sets
// the vector v or the number s.
type fusedPoint struct {
	position, v, w vec3
	s              float32
	t, u           vec3       // constants in threes
	c              [5]float32 // single constants
	square         float32
	out            vec3
}

// A fusedCase defines a superinstruction by the operations that it replaces. Its operands,
// in order: V is the vector operand. W is another vector in planes, X and Y are lanes of W,
// and P is a number. T and U are three constants each, C is one constant, R a row of
// constants. Z receives the root of the number, I the inverse root of the square.
type fusedCase struct {
	name         string
	handler      handler
	vectorResult bool // its result is a vector
	pairResult   bool // its results are x and z of a vector, in planes
	numberResult bool // its result includes a number, which follows the vector if there is one
	operands     string
	f            func(p *fusedPoint)
}

func mul32(a, b float32) float32 { return evaluate(opMul, a, b, 0, 0) }

func dotOf(a, b vec3) float32 { return fma32(a[2], b[2], fma32(a[1], b[1], mul32(a[0], b[0]))) }

func eachLane(f func(lane int) float32) (v vec3) {
	return vec3{f(0), f(1), f(2)}
}

func offset(p *fusedPoint, c vec3) vec3 {
	return eachLane(func(l int) float32 { return p.position[l] - c[l] })
}

func crossOf(a, b vec3) vec3 {
	return eachLane(func(l int) float32 {
		j, k := (l+1)%3, (l+2)%3
		return fma32(-a[k], b[j], mul32(a[j], b[k]))
	})
}

func besideAxis(v, axis vec3, s float32) vec3 {
	return eachLane(func(l int) float32 { return fma32(-axis[l], s, v[l]) })
}

func smoothOf(s, k, c float32) float32 {
	s = saturate32(s)
	return mul32(mul32(s, s), fma32(-s, k, c))
}

var fusedCases = []fusedCase{
	{"offset", handlerOffsetV, true, false, false, "T", func(p *fusedPoint) { p.v = offset(p, p.t) }},
	{"sub constants", handlerSubCVV, true, false, false, "VT", func(p *fusedPoint) { p.v = eachLane(func(l int) float32 { return p.v[l] - p.t[l] }) }},
	{"mul constants", handlerMulCVV, true, false, false, "VT", func(p *fusedPoint) { p.v = eachLane(func(l int) float32 { return mul32(p.v[l], p.t[l]) }) }},
	{"scale", handlerScaleVV, true, false, false, "VP", func(p *fusedPoint) { p.v = eachLane(func(l int) float32 { return mul32(p.v[l], p.s) }) }},
	{"scale by inverse root", handlerScaleRsqrtVV, true, false, false, "PV", func(p *fusedPoint) {
		k := rsqrt32(p.s)
		p.v = eachLane(func(l int) float32 { return mul32(p.v[l], k) })
	}},
	{"scale and shift", handlerScaleShiftVV, true, false, false, "PVT", func(p *fusedPoint) {
		p.v = eachLane(func(l int) float32 { return fma32(p.v[l], p.s, p.t[l]) })
	}},
	{"below", handlerBelowVV, true, false, false, "PVCT", func(p *fusedPoint) {
		p.v = eachLane(func(l int) float32 { return selectLT32(p.s, p.c[0], p.v[l], p.t[l]) })
	}},
	{"axis", handlerAxisVV, true, false, false, "PVT", func(p *fusedPoint) { p.v = besideAxis(p.v, p.t, p.s) }},
	{"cross", handlerCrossVV, true, false, false, "VT", func(p *fusedPoint) { p.v = crossOf(p.t, p.v) }},
	{"offset square", handlerOffsetSquareV, true, false, true, "T", func(p *fusedPoint) {
		p.v = offset(p, p.t)
		p.s = dotOf(p.v, p.v)
	}},
	{"cylinder", handlerCylinderV, true, false, true, "TU", func(p *fusedPoint) {
		d := offset(p, p.t)
		p.v = besideAxis(d, p.u, dotOf(d, p.u))
		p.s = dotOf(p.v, p.v)
	}},
	{"square", handlerSquareV, false, false, true, "V", func(p *fusedPoint) { p.s = dotOf(p.v, p.v) }},
	{"dot with constants", handlerDotCV, false, false, true, "VT", func(p *fusedPoint) { p.s = dotOf(p.v, p.t) }},
	{"dot", handlerDotV, false, false, true, "VW", func(p *fusedPoint) { p.s = dotOf(p.v, p.w) }},
	{"distance square", handlerDistanceSquare, false, false, true, "T", func(p *fusedPoint) {
		d := offset(p, p.t)
		p.s = dotOf(d, d)
	}},
	{"distance square xz", handlerDistanceSquareXZ, false, false, true, "CC", func(p *fusedPoint) {
		x, z := p.position[0]-p.c[0], p.position[2]-p.c[1]
		p.s = fma32(z, z, mul32(x, x))
	}},
	{"out add", handlerOutAddV, false, false, false, "V", func(p *fusedPoint) { p.out = eachLane(func(l int) float32 { return p.out[l] + p.v[l] }) }},
	{"out mad", handlerOutMadPV, false, false, false, "VP", func(p *fusedPoint) {
		p.out = eachLane(func(l int) float32 { return fma32(p.v[l], p.s, p.out[l]) })
	}},
	{"out mad with constants", handlerOutMadCV, false, false, false, "VT", func(p *fusedPoint) {
		p.out = eachLane(func(l int) float32 { return fma32(p.v[l], p.t[l], p.out[l]) })
	}},
	{"out mad of constants", handlerOutMadPT, false, false, false, "TP", func(p *fusedPoint) {
		p.out = eachLane(func(l int) float32 { return fma32(p.t[l], p.s, p.out[l]) })
	}},
	{"out cross", handlerOutCrossV, false, false, false, "VTP", func(p *fusedPoint) {
		c := crossOf(p.t, p.v)
		p.out = eachLane(func(l int) float32 { return fma32(c[l], p.s, p.out[l]) })
	}},
	{"offset length xz", handlerOffsetLengthXZ, false, true, true, "ZCC", func(p *fusedPoint) {
		p.v[0], p.v[2] = p.position[0]-p.c[0], p.position[2]-p.c[1]
		p.s = fma32(p.v[2], p.v[2], mul32(p.v[0], p.v[0]))
	}},
	{"offset square xz", handlerOffsetSquareXZ, false, true, true, "CC", func(p *fusedPoint) {
		p.v[0], p.v[2] = p.position[0]-p.c[0], p.position[2]-p.c[1]
		p.s = fma32(p.v[2], p.v[2], mul32(p.v[0], p.v[0]))
	}},
	{"offset roots xz", handlerOffsetRootsXZ, false, true, true, "ICC", func(p *fusedPoint) {
		p.v[0], p.v[2] = p.position[0]-p.c[0], p.position[2]-p.c[1]
		p.square = fma32(p.v[2], p.v[2], mul32(p.v[0], p.v[0]))
		p.s = sqrt32(p.square)
	}},
	{"roots", handlerRoots, false, false, true, "IP", func(p *fusedPoint) { p.square, p.s = p.s, sqrt32(p.s) }},
	{"rsqrt below", handlerRsqrtBelow, false, false, true, "PR", func(p *fusedPoint) {
		p.s = selectLT32(p.s, p.c[0], mul32(rsqrt32(p.s), p.c[1]), 0)
	}},
	{"saturate of mad", handlerSaturateMad, false, false, true, "PR", func(p *fusedPoint) { p.s = saturate32(fma32(p.s, p.c[0], p.c[1])) }},
	{"saturate of nmad", handlerSaturateNmad, false, false, true, "PR", func(p *fusedPoint) { p.s = saturate32(fma32(-p.s, p.c[0], p.c[1])) }},
	{"smooth", handlerSmooth, false, false, true, "PR", func(p *fusedPoint) { p.s = smoothOf(p.s, p.c[0], p.c[1]) }},
	{"smooth of mad", handlerSmoothMad, false, false, true, "PR", func(p *fusedPoint) {
		p.s = smoothOf(fma32(p.s, p.c[0], p.c[1]), p.c[2], p.c[3])
	}},
	{"smooth of nmad", handlerSmoothNmad, false, false, true, "PR", func(p *fusedPoint) {
		p.s = smoothOf(fma32(-p.s, p.c[0], p.c[1]), p.c[2], p.c[3])
	}},
	{"saturate of sub and mul", handlerSaturateSubMul, false, false, true, "PR", func(p *fusedPoint) { p.s = saturate32(mul32(p.s-p.c[0], p.c[1])) }},
	{"saturate of div and sub", handlerSaturateDivSub, false, false, true, "PR", func(p *fusedPoint) { p.s = saturate32(p.c[1] - p.s/p.c[0]) }},
	{"smooth of sub and mul", handlerSmoothSubMul, false, false, true, "PR", func(p *fusedPoint) {
		p.s = smoothOf(mul32(p.s-p.c[0], p.c[1]), p.c[2], p.c[3])
	}},
	{"smooth of div and sub", handlerSmoothDivSub, false, false, true, "PR", func(p *fusedPoint) {
		p.s = smoothOf(p.c[1]-p.s/p.c[0], p.c[2], p.c[3])
	}},
	{"rsqrt times", handlerRsqrtTimes, false, false, true, "PX", func(p *fusedPoint) { p.s = mul32(rsqrt32(p.s), p.w[0]) }},
	{"smooth times", handlerSmooth + 1, false, false, true, "PRX", func(p *fusedPoint) { p.s = mul32(smoothOf(p.s, p.c[0], p.c[1]), p.w[0]) }},
	{"smooth of mad times", handlerSmoothMad + 1, false, false, true, "PRX", func(p *fusedPoint) {
		p.s = mul32(smoothOf(fma32(p.s, p.c[0], p.c[1]), p.c[2], p.c[3]), p.w[0])
	}},
	{"smooth of nmad times", handlerSmoothNmad + 1, false, false, true, "PRX", func(p *fusedPoint) {
		p.s = mul32(smoothOf(fma32(-p.s, p.c[0], p.c[1]), p.c[2], p.c[3]), p.w[0])
	}},
	{"smooth of sub and mul times", handlerSmoothSubMul + 1, false, false, true, "PRX", func(p *fusedPoint) {
		p.s = mul32(smoothOf(mul32(p.s-p.c[0], p.c[1]), p.c[2], p.c[3]), p.w[0])
	}},
	{"smooth of div and sub times", handlerSmoothDivSub + 1, false, false, true, "PRX", func(p *fusedPoint) {
		p.s = mul32(smoothOf(p.c[1]-p.s/p.c[0], p.c[2], p.c[3]), p.w[0])
	}},
	{"sin of mad times", handlerSinMad + 1, false, false, true, "PRX", func(p *fusedPoint) {
		p.s = mul32(sin32(fma32(p.s, p.c[0], p.c[1])), p.w[0])
	}},
	{"rsqrt times two", handlerRsqrtTimesC, false, false, true, "PXC", func(p *fusedPoint) {
		p.s = mul32(mul32(rsqrt32(p.s), p.w[0]), p.c[0])
	}},
	{"explosion", handlerOutExplosion, false, false, false, "R", func(p *fusedPoint) {
		d := offset(p, vec3{p.c[0], p.c[1], p.c[2]})
		square := dotOf(d, d)
		s := selectLT32(square, p.c[3], mul32(rsqrt32(square), p.c[4]), 0)
		p.out = eachLane(func(l int) float32 { return fma32(d[l], s, p.out[l]) })
	}},
	{"out turned one way", handlerOutMadXNmadZ, false, false, false, "XYP", func(p *fusedPoint) {
		p.out[0], p.out[2] = fma32(p.w[0], p.s, p.out[0]), fma32(-p.w[1], p.s, p.out[2])
	}},
	{"out turned the other way", handlerOutNmadXMadZ, false, false, false, "XYP", func(p *fusedPoint) {
		p.out[0], p.out[2] = fma32(-p.w[0], p.s, p.out[0]), fma32(p.w[1], p.s, p.out[2])
	}},
	{"square of two", handlerSquareTwo, false, false, true, "PX", func(p *fusedPoint) { p.s = fma32(p.w[0], p.w[0], mul32(p.s, p.s)) }},
	{"offset x", handlerOffsetX, false, false, true, "C", func(p *fusedPoint) { p.s = p.position[0] - p.c[0] }},
	{"offset y", handlerOffsetY, false, false, true, "C", func(p *fusedPoint) { p.s = p.position[1] - p.c[0] }},
	{"offset z", handlerOffsetZ, false, false, true, "C", func(p *fusedPoint) { p.s = p.position[2] - p.c[0] }},
	{"sin of mad", handlerSinMad, false, false, true, "PR", func(p *fusedPoint) { p.s = sin32(fma32(p.s, p.c[0], p.c[1])) }},
	{"product of three planes", handlerMulMulPPP, false, false, true, "PXY", func(p *fusedPoint) { p.s = mul32(mul32(p.s, p.w[0]), p.w[1]) }},
	{"product with a constant inside", handlerMulMulPCP, false, false, true, "PCX", func(p *fusedPoint) { p.s = mul32(mul32(p.s, p.c[0]), p.w[0]) }},
	{"product with a constant", handlerMulMulPPC, false, false, true, "PXC", func(p *fusedPoint) { p.s = mul32(mul32(p.s, p.w[0]), p.c[0]) }},
}

// The bench's planes. X and Y are the first lanes of W.
const (
	planeV, planeW, planeP, planeGiven, planeNumber, planeRoot = 0, 3, 6, 7, 10, 11
	constantT, constantU, constantC, constantZero              = 20, 23, 30, 40
)

// TestFusedHandlers compares every superinstruction, with vectors in planes and in the
// accumulator, with the operations that it replaces (F1).
func TestFusedHandlers(t *testing.T) {
	racetest.SkipSequential(t)
	for _, k := range kernelsHere() {
		for i := range fusedCases {
			c := &fusedCases[i]
			takes := c.takesVector()
			for variant := range handler(4) {
				given, taken := variant&1 != 0, variant&2 != 0
				if given && !c.vectorResult || taken && !takes || variant > 0 && k != cpu.AVX512 {
					continue
				}
				h := c.handler + variant
				if !c.vectorResult {
					h = c.handler + variant/2
				}
				for seed := range uint64(12) {
					requireFused(t, newBench(k, rand.New(rand.NewPCG(seed, uint64(i)))), c, h, given, taken)
				}
			}
		}
	}
}

func (c *fusedCase) takesVector() bool {
	for i := range c.operands {
		if c.operands[i] == 'V' {
			return true
		}
	}
	return false
}

func requireFused(t *testing.T, b *bench, c *fusedCase, h handler, given, taken bool) {
	t.Helper()
	clear(b.pool[constantZero:][:3])
	want := make([]fusedPoint, BlockPoints)
	for i := range want {
		want[i] = b.point(i)
		c.f(&want[i])
	}
	var operands []uint16
	if c.vectorResult && !given {
		operands = append(operands, planeOperand(planeGiven), planeOperand(planeGiven+1), planeOperand(planeGiven+2))
	}
	if c.pairResult {
		operands = append(operands, planeOperand(planeGiven), planeOperand(planeGiven+2))
	}
	if c.numberResult {
		operands = append(operands, planeOperand(planeNumber))
	}
	operands = append(operands, c.encode(taken)...)
	code := []benchInstruction{{handlerBeginXYZ, nil}}
	if taken {
		code = append(code, benchInstruction{handlerSubCVV + 1, []uint16{planeOperand(planeV), planeOperand(planeV + 1), planeOperand(planeV + 2), constantOperand(constantZero)}})
	}
	code = append(code, benchInstruction{h, operands})
	if given {
		code = append(code, benchInstruction{handlerSubCVV + 2, []uint16{planeOperand(planeGiven), planeOperand(planeGiven + 1), planeOperand(planeGiven + 2), constantOperand(constantZero)}})
	}
	before := append([]float32(nil), b.scratch...)
	b.execute(t, append(code, benchInstruction{handlerEndXYZ, nil}))
	same := func(want, got float32, what string) {
		if !sameNumber(want, got) {
			t.Fatalf("%v, %s, %s: %x, not %x", b.bound.kernels, c.name, what, got, want)
		}
	}
	for i := range want {
		for lane := range 3 {
			if c.vectorResult || c.pairResult && lane != 1 {
				same(want[i].v[lane], b.plane(planeGiven + lane)[i], "the vector")
			}
			if want[i].out[lane] != want[i].out[lane] {
				want[i].out[lane] = 0
			}
			same(want[i].out[lane], b.out.lanes()[lane][i], "the output")
		}
		if c.numberResult {
			same(want[i].s, b.plane(planeNumber)[i], "the number")
			if strings.Contains(c.operands, "Z") {
				same(sqrt32(want[i].s), b.plane(planeRoot)[i], "its root")
			}
			if strings.Contains(c.operands, "I") {
				same(rsqrt32(want[i].square), b.plane(planeRoot)[i], "the inverse root")
			}
		}
	}
	for plane := range planeNumber + 1 {
		if !((c.vectorResult || c.pairResult) && plane >= planeGiven && plane < planeGiven+3) && !(c.numberResult && plane == planeNumber) {
			requireSameBits(t, before[(spareBlocks+plane)*BlockPoints:][:BlockPoints], b.plane(plane))
		}
	}
}

// encode returns the operands that are not results.
func (c *fusedCase) encode(taken bool) (operands []uint16) {
	constant := constantC
	for i := range c.operands {
		switch c.operands[i] {
		case 'V':
			if !taken {
				operands = append(operands, planeOperand(planeV), planeOperand(planeV+1), planeOperand(planeV+2))
			}
		case 'W':
			operands = append(operands, planeOperand(planeW), planeOperand(planeW+1), planeOperand(planeW+2))
		case 'X':
			operands = append(operands, planeOperand(planeW))
		case 'Y':
			operands = append(operands, planeOperand(planeW+1))
		case 'Z', 'I':
			operands = append(operands, planeOperand(planeRoot))
		case 'P':
			operands = append(operands, planeOperand(planeP))
		case 'T':
			operands = append(operands, constantOperand(constantT))
		case 'U':
			operands = append(operands, constantOperand(constantU))
		case 'R':
			operands = append(operands, constantOperand(constantC))
		case 'C':
			operands = append(operands, constantOperand(constant))
			constant++
		}
	}
	return operands
}

func (b *bench) point(i int) (p fusedPoint) {
	for lane := range 3 {
		p.position[lane], p.out[lane] = b.points.lanes()[lane][i], b.out.lanes()[lane][i]
		p.v[lane], p.w[lane] = b.plane(planeV + lane)[i], b.plane(planeW + lane)[i]
	}
	p.s = b.plane(planeP)[i]
	copy(p.t[:], b.pool[constantT:])
	copy(p.u[:], b.pool[constantU:])
	copy(p.c[:], b.pool[constantC:])
	return p
}
