//go:build amd64 && !purego

package field

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/racetest"
)

// A bench is a block with planes and constants full of awkward numbers, on which
// handlers run one at a time.
type bench struct {
	bound       bound
	points, out Planes
	scratch     []float32
	pool        []float32
}

const benchPlanes = 12

func newBench(k cpu.Kernels, r *rand.Rand) *bench {
	b := &bench{bound: bound{kernels: k, blocks: 1}, pool: make([]float32, 64)}
	b.scratch = aligned(make([]float32, lineFloats+(spareBlocks+benchPlanes)*BlockPoints))
	b.points, b.out = awkwardPlanes(r), awkwardPlanes(r)
	for i := range b.scratch {
		b.scratch[i] = awkwardNumber(r)
	}
	for i := range b.pool {
		b.pool[i] = awkwardNumber(r)
	}
	return b
}

func awkwardPlanes(r *rand.Rand) (p Planes) {
	for range BlockPoints {
		p.X, p.Y, p.Z = append(p.X, awkwardNumber(r)), append(p.Y, awkwardNumber(r)), append(p.Z, awkwardNumber(r))
	}
	return p
}

// awkwardNumber returns random bits, ordinary numbers, small integers, ties, zeros,
// infinities, NaNs, or neighbours of class boundaries.
func awkwardNumber(r *rand.Rand) float32 {
	special := []uint32{
		0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x00800001, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x7f7fffff, 0xff7fffff,
		0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0x7fc12345, 0x2b8cbccc, 0x4a800000, 0x4b000000,
	}
	switch r.IntN(6) {
	case 0:
		return math.Float32frombits(special[r.IntN(len(special))])
	case 1:
		return math.Float32frombits(r.Uint32())
	case 2:
		return float32(r.IntN(9)) - 4
	case 3:
		return float32(r.IntN(1<<20)) / (1 << 18)
	}
	return float32(r.NormFloat64() * 8)
}

// plane returns plane i of the code, as an operand and as numbers.
func (b *bench) plane(i int) []float32 {
	return b.scratch[(spareBlocks+i)*BlockPoints:][:BlockPoints]
}

func planeOperand(i int) uint16    { return planeBytes * uint16(spareBlocks+i) }
func constantOperand(i int) uint16 { return 4 * uint16(i) }

// A benchInstruction is a handler by its number, and operands.
type benchInstruction struct {
	handler  handler
	operands []uint16
}

// execute runs code on the block.
func (b *bench) execute(t testing.TB, code []benchInstruction) {
	t.Helper()
	addresses := handlersOf(b.bound.kernels)
	b.bound.code = make([]boundInstruction, len(code))
	for i, in := range code {
		require.NotZero(t, addresses[in.handler], "%v has no handler %d", b.bound.kernels, in.handler)
		b.bound.code[i].handler = addresses[in.handler]
		copy(b.bound.code[i].operands[:], in.operands)
	}
	b.bound.run(&b.points, &b.out, 0, BlockPoints, b.pool, b.scratch, false)
}

// run executes one handler between a begin and an end.
func (b *bench) run(t testing.TB, h handler, operands ...uint16) {
	t.Helper()
	b.execute(t, []benchInstruction{{handlerBeginXYZ, nil}, {h, operands}, {handlerEndXYZ, nil}})
}

// kernelsHere lists this processor's kernels, except Go.
func kernelsHere() (all []cpu.Kernels) {
	for k := cpu.AVX2; k <= cpu.Best(); k++ {
		all = append(all, k)
	}
	return all
}

// sameNumber compares bits, treating all NaNs as equal: no result depends on the kind of
// NaN.
func sameNumber(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// TestPlainHandlers compares every operation with every kind of operand to the
// arithmetic (F1), and checks that nothing else is written.
func TestPlainHandlers(t *testing.T) {
	racetest.SkipSequential(t)
	for _, k := range kernelsHere() {
		for o := range boundOpcodes {
			for which, h := range plainHandlers[o] {
				if h == 0 {
					continue
				}
				for seed := range uint64(12) {
					b := newBench(k, rand.New(rand.NewPCG(seed, uint64(o))))
					requirePlain(t, b, o, which, h, seed%2 == 1)
				}
			}
		}
	}
}

func requirePlain(t *testing.T, b *bench, o Opcode, which int, h handler, inPlace bool) {
	t.Helper()
	to := 5
	if inPlace {
		to = 0 // the plane of the first plane operand
	}
	operands, values := []uint16{planeOperand(to)}, make([][]float32, 4)
	at := 0
	for i := range 4 {
		switch {
		case i >= boundOperandCount(o):
			values[i] = make([]float32, BlockPoints)
		case which>>i&1 != 0:
			operands = append(operands, constantOperand(20+i))
			values[i] = make([]float32, BlockPoints)
			fill(values[i], b.pool[20+i])
		default:
			operands = append(operands, planeOperand(at))
			values[i] = append([]float32(nil), b.plane(at)...)
			at++
		}
	}
	before := append([]float32(nil), b.scratch...)
	out := copied(b.out)
	b.run(t, h, operands...)
	for i := range BlockPoints {
		want := evaluateBound(o, values[0][i], values[1][i], values[2][i], values[3][i])
		if !sameNumber(want, b.plane(to)[i]) || o >= opcodes && math.Float32bits(want) != math.Float32bits(b.plane(to)[i]) {
			t.Fatalf("%v, %v %#b of %x, %x, %x, %x: %x, not %x", b.bound.kernels, o, which,
				values[0][i], values[1][i], values[2][i], values[3][i], b.plane(to)[i], want)
		}
	}
	copy(b.plane(to), before[(spareBlocks+to)*BlockPoints:])
	requireSameBits(t, before, b.scratch)
	requireCanonical(t, out, b.out)
}

// TestSumHandlers compares additions to the output with the arithmetic (F1).
func TestSumHandlers(t *testing.T) {
	for _, k := range kernelsHere() {
		for o := range opcodes {
			for lane := range 3 {
				for which, h := range sumHandlers[o][lane] {
					if h == 0 {
						continue
					}
					for seed := range uint64(12) {
						b := newBench(k, rand.New(rand.NewPCG(seed, uint64(o))))
						requireSum(t, b, o, lane, which, h)
					}
				}
			}
		}
	}
}

func requireSum(t *testing.T, b *bench, o Opcode, lane, which int, h handler) {
	t.Helper()
	var operands []uint16
	var values [2][]float32
	for i := range o.operands() - 1 {
		values[i] = b.plane(i)
		operands = append(operands, planeOperand(i))
		if which>>i&1 != 0 {
			values[i] = make([]float32, BlockPoints)
			fill(values[i], b.pool[20+i])
			operands[i] = constantOperand(20 + i)
		}
	}
	before, want := append([]float32(nil), b.scratch...), copied(b.out)
	for i, out := range want.lanes()[lane] {
		if o.accumulator() == 0 {
			want.lanes()[lane][i] = evaluate(o, out, values[0][i], 0, 0)
		} else {
			want.lanes()[lane][i] = evaluate(o, values[0][i], values[1][i], out, 0)
		}
	}
	b.run(t, h, operands...)
	requireSameBits(t, before, b.scratch)
	requireCanonical(t, want, b.out)
}

// TestControlHandlers: constants and positions are copied to planes.
func TestControlHandlers(t *testing.T) {
	for _, k := range kernelsHere() {
		b := newBench(k, rand.New(rand.NewPCG(1, 2)))
		b.run(t, handlerFill, planeOperand(3), constantOperand(7))
		for _, v := range b.plane(3) {
			require.Equal(t, math.Float32bits(b.pool[7]), math.Float32bits(v))
		}
		for lane, plane := range b.points.lanes() {
			b.run(t, handlerPositionX+handler(lane), planeOperand(4))
			requireSameBits(t, plane, b.plane(4))
		}
	}
}

// TestHandlersThere: AVX-512 has all handlers, AVX2 those without accumulator, and a
// test of this package covers each.
func TestHandlersThere(t *testing.T) {
	tested := map[handler]bool{handlerFill: true, handlerPositionX: true, handlerPositionY: true, handlerPositionZ: true}
	accumulated := map[handler]bool{}
	for lanes := range handler(7) { // TestLanesOfTheOutput
		tested[handlerPrefetchX+lanes], tested[handlerBeginX+lanes], tested[handlerEndX+lanes] = true, true, true
	}
	for o := range boundOpcodes {
		for which := range plainHandlers[o] {
			tested[plainHandlers[o][which]] = true
		}
	}
	for o := range opcodes {
		for which := range sumHandlers[o][0] {
			for lane := range 3 {
				tested[sumHandlers[o][lane][which]] = true
			}
		}
	}
	for i := range fusedCases {
		c, variants := &fusedCases[i], handler(1)
		if c.vectorResult {
			variants *= 2
		}
		if c.takesVector() {
			variants *= 2
		}
		for v := range variants {
			tested[c.handler+v], accumulated[c.handler+v] = true, v > 0
		}
	}
	for h := handlerNone + 1; h < handlers; h++ {
		require.True(t, tested[h], "handler %d", h)
		require.NotZero(t, handlersAVX512[h], "handler %d", h)
		require.Equal(t, accumulated[h], handlersAVX2[h] == 0, "handler %d", h)
	}
}
