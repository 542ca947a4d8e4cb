package field

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

// with returns a copy of a program that runs on some kernels.
func (p *Program) with(k cpu.Kernels) *Program {
	q := *p
	q.bind(k)
	return &q
}

// fenced returns planes with guards on both sides.
type fenced struct {
	memory [3][]float32
	Planes
}

const fence = 70

func newFenced(r *rand.Rand, n int) *fenced {
	f := &fenced{}
	for lane := range f.memory {
		f.memory[lane] = make([]float32, fence+n+fence)
		fill(f.memory[lane], 12345.5)
		for i := range n {
			f.memory[lane][fence+i] = hardNumber(r)
		}
	}
	f.X, f.Y, f.Z = f.memory[0][fence:][:n], f.memory[1][fence:][:n], f.memory[2][fence:][:n]
	return f
}

func hardNumber(r *rand.Rand) float32 {
	if r.IntN(8) > 0 {
		return float32(r.IntN(1<<20))/(1<<16) - 8
	}
	return math.Float32frombits([]uint32{0, 1 << 31, 1, 0x00700000, 0x7f800000, 0xff800000, 0x7fc00001, 0xff800001, 0x7f7fffff, 0x42c80000}[r.IntN(10)])
}

func (f *fenced) clone() *fenced {
	g := &fenced{}
	for lane, plane := range f.memory {
		g.memory[lane] = append([]float32(nil), plane...)
	}
	n := len(f.X)
	g.X, g.Y, g.Z = g.memory[0][fence:][:n], g.memory[1][fence:][:n], g.memory[2][fence:][:n]
	return g
}

// requirePaths runs a program on all kernels of this processor, plain, with an origin,
// and clipped, and compares all bits, including those beside the planes, with the
// portable instructions.
func requirePaths(t testing.TB, p *Program, r *rand.Rand, n int) {
	t.Helper()
	points, start := newFenced(r, n), newFenced(r, n)
	for _, origin := range [][3]float32{{}, {0.5, -3, 7.25}} {
		env := Env{Time: 0.75, Origin: origin}
		for _, clip := range []bool{false, true} {
			want := runOn(p.with(cpu.Go), points, start.clone(), env, clip)
			for k := cpu.AVX2; k <= cpu.Best(); k++ {
				got := runOn(p.with(k), points, start.clone(), env, clip)
				for lane := range got.memory {
					if err := firstDifference(want.memory[lane], got.memory[lane]); err != nil {
						t.Fatalf("%v, %d points, origin %v, clip %v, lane %d: %v\n%s", k, n, origin, clip, lane, err, p)
					}
				}
			}
		}
	}
}

func runOn(p *Program, points, out *fenced, env Env, clip bool) *fenced {
	var c call
	c.prepare(p, &env, make([]float32, p.pool))
	c.run(&points.Planes, &out.Planes, 0, len(out.X), make([]float32, p.work), clip && p.boxed)
	return out
}

func firstDifference(want, got []float32) error {
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			return fmt.Errorf("at %d: %x, not %x", i-fence, got[i], want[i])
		}
	}
	return nil
}

// TestPaths compares every path with the portable instructions on random programs (F1).
func TestPaths(t *testing.T) {
	for seed := range shorttest.Pick(600, 100) {
		r := rand.New(rand.NewPCG(uint64(seed), 21))
		p := must.Get(Compile("box (-4,-4,-4) (3,4,5)\n" + randomText(r, 1+r.IntN(30))))
		requireBound(t, p)
		requirePaths(t, p, r, r.IntN(200))
	}
}

// requireBound: this build's vector kernels run a program, with and without an origin.
func requireBound(t testing.TB, p *Program) {
	t.Helper()
	for _, k := range kernelsOfBuild {
		require.NoError(t, p.with(k).Interpreted(), "%v\n%s", k, p)
	}
}

// TestPhrases is TestPaths for typical effects: library functions of distances and
// coordinates, which have superinstructions.
func TestPhrases(t *testing.T) {
	for seed := range shorttest.Pick(400, 80) {
		r := rand.New(rand.NewPCG(uint64(seed), 25))
		p := must.Get(Compile(randomPhrases(r)))
		requireBound(t, p)
		requirePaths(t, p, r, r.IntN(100))
	}
}

func randomPhrases(r *rand.Rand) string {
	pick := func(phrases ...string) string { return phrases[r.IntN(len(phrases))] }
	number := func() string {
		return pick("position.x", "position.y", "position.z", "(position.y - 3)", "(4 - position.z)", "length(position)", "axis_distance(position)",
			"length(position - (1, 2, 3))", "axis_distance(position - c)", "dot(position, (0.6, 0, 0.8))", "(time / 2)", "noise(position)", "s")
	}
	factor := func() string {
		return fmt.Sprintf(pick("smoothstep(3, 1, %s)", "smoothstep(s, 0.75 * s, %s)", "falloff(%s, 5)", "falloff_linear(%s, s)", "shell(%s, 4, 2)", "saturate(%s)",
			"swell(%s, 3)", "sin(0.2 * %s + time)", "select(%s < 4, 1, 0.5)", "falloff_inverse_square(%s, 2)", "pulse(%s, 4, 0.5)", "sqrt(%s)", "rsqrt(%s)"), number())
	}
	vector := func() string {
		return pick("outward(position)", "outward(position - c)", "around(position)", "around_axis(position, (0.6, 0, 0.8))", "whirl(position, 3, s, 2)", "vortex(position, s, 2)",
			"updraft(position - (1, 0, 2), 3, s)", "explosion(position - (1, 0, 2), 3)", "(0, 1, 0)", "c", "curl_noise(position / 6)", "level(position)", "cross(position, c)")
	}
	text := "param s = 6\nparam c = (1, -2, 0.5)\nbox (-4, -4, -4) (3, 4, 5)\n"
	for range 1 + r.IntN(3) {
		if r.IntN(4) == 0 {
			text += "output." + pick("x", "y", "z") + " += " + factor() + " * " + factor() + "\n"
		} else {
			text += "output += " + vector() + " * (" + factor() + " * " + factor() + ")\n"
		}
	}
	return text
}

// TestTails: kernels process any number of points without accessing memory outside of them.
func TestTails(t *testing.T) {
	for _, text := range []string{explosionPrinted, randomText(rand.New(rand.NewPCG(3, 3)), 20)} {
		p := must.Get(Compile("box (-2,-2,-2) (5,5,5)\n" + text))
		for n := range 131 {
			requirePaths(t, p, rand.New(rand.NewPCG(uint64(n), 22)), n)
		}
	}
}

// TestMutatedPaths: all paths agree on verified bytecode that no compiler would generate.
func TestMutatedPaths(t *testing.T) {
	programs, accepted := shorttest.Pick(60, 15), 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 23))
		p := must.Get(Compile(randomText(r, 12)))
		good := p.encode()
		for range 100 {
			b := append([]byte(nil), good...)
			for range 1 + r.IntN(3) {
				b[len(b)-1-r.IntN(min(len(b), instructionBytes*len(p.code)))] = byte(r.IntN(40))
			}
			if mutant, err := Load(b); err == nil {
				requirePaths(t, mutant, r, 67)
				accepted++
			}
		}
	}
	require.Greater(t, accepted, programs/2)
}

// TestLongCall: splitting a call changes nothing (F2).
func TestLongCall(t *testing.T) {
	p := must.Get(Compile(explosionPrinted))
	requirePaths(t, p, rand.New(rand.NewPCG(5, 24)), 40_003)
}
