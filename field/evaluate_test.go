package field_test

import (
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// busy uses most registers, a load in the body, parameters and time.
const busy = `param a = (0.1, 0.2, 0.3, 0.4)
u = mad position, a, time
v = sin u
w = cross u, v
x = sub position, (1.5, 2.5, 3.5)
y = smooth x
z = floor x
s = select_ge x, w, y, z
t = div s, 1.75
l = length t
r = rsqrt l
output = mad w, r, output
q = max u, (7.5, 8.5, 9.5)
q = min q, (10.5, 11.5, 12.5)
k = add v, w
k = add k, x
k = add k, y
k = add k, z
k = mul k, (0.25, 0.125, 0.0625)
q = nmad q, k, t
output = add output, q
`

// TestPrograms checks the promises of all programs on some examples.
func TestPrograms(t *testing.T) {
	for name, text := range map[string]string{"explosion": explosion, "busy": busy, "constant": "output = add output, 1"} {
		t.Run(name, func(t *testing.T) {
			p := compile(t, text)
			require.LessOrEqual(t, p.Scratch(), field.MaxScratch)
			const n = 300
			points, env := somePoints(n), field.Env{Time: 1.5}
			whole := evaluated(t, p, points, env)

			// F2: the bits are the same for any split of the points, down to single points.
			for _, step := range []int{1, 7, 63, 64, 65, 128, 299} {
				parts := ramp(n)
				for from := 0; from < n; from += step {
					to := min(from+step, n)
					require.NoError(t, p.Evaluate(cut(points, from, to), cut(parts, from, to), env, make([]float32, p.Scratch())))
				}
				requireSame(t, whole, parts)
			}

			// F6: the text and the bytes give the same program.
			again := compile(t, p.String())
			require.Equal(t, p.Hash(), again.Hash(), "%s", p)
			require.Equal(t, p.String(), again.String())
			b := must.Get(p.MarshalBinary())
			loaded := must.Get(field.Load(b))
			require.Equal(t, p, loaded)
			requireSame(t, whole, evaluated(t, loaded, points, env))
		})
	}
}

// cut returns points [from:to] with no spare capacity.
func cut(p field.Planes, from, to int) field.Planes {
	return field.Planes{X: p.X[from:to:to], Y: p.Y[from:to:to], Z: p.Z[from:to:to]}
}

// evaluated runs a program from ramp in guarded memory, to detect writes outside of the
// output and the scratch.
func evaluated(t testing.TB, p *field.Program, points field.Planes, env field.Env) field.Planes {
	t.Helper()
	const guard, margin = float32(12345.5), 70
	n := len(points.X)
	fenced := func(size int) ([]float32, func()) {
		memory := make([]float32, margin+size+margin)
		for i := range memory {
			memory[i] = guard
		}
		return memory[margin : margin+size], func() {
			t.Helper()
			for i := range margin {
				require.Equal(t, guard, memory[i])
				require.Equal(t, guard, memory[margin+size+i])
			}
		}
	}
	var out field.Planes
	var checks [4]func()
	out.X, checks[0] = fenced(n)
	out.Y, checks[1] = fenced(n)
	out.Z, checks[2] = fenced(n)
	scratch, last := fenced(p.Scratch())
	checks[3] = last
	start := ramp(n)
	copy(out.X, start.X)
	copy(out.Y, start.Y)
	copy(out.Z, start.Z)
	before := [3][]float32{append([]float32(nil), points.X...), append([]float32(nil), points.Y...), append([]float32(nil), points.Z...)}
	require.NoError(t, p.Evaluate(points, out, env, scratch))
	for _, check := range checks {
		check()
	}
	requireSame(t, points, field.Planes{X: before[0], Y: before[1], Z: before[2]})
	return out
}

func requireSame(t testing.TB, a, b field.Planes) {
	t.Helper()
	x, y := bitsOf(a), bitsOf(b)
	for lane := range x {
		require.Len(t, y[lane], len(x[lane]))
		for i, bits := range x[lane] {
			if y[lane][i] != bits {
				require.Failf(t, "planes differ", "lane %d of point %d: %#x, not %#x", lane, i, y[lane][i], bits)
			}
		}
	}
}

// ramp is a nonzero output.
func ramp(n int) field.Planes {
	p := planes(n)
	for i := range n {
		p.X[i], p.Y[i], p.Z[i] = 0, float32(i), -1
	}
	return p
}

// bitsOf makes NaNs and signed zeros comparable.
func bitsOf(p field.Planes) (r [3][]uint32) {
	for i, plane := range [3][]float32{p.X, p.Y, p.Z} {
		for _, f := range plane {
			r[i] = append(r[i], math.Float32bits(f))
		}
	}
	return r
}

func TestEvaluateNothing(t *testing.T) {
	p := compile(t, explosion)
	require.NoError(t, p.Evaluate(field.Planes{}, field.Planes{}, field.Env{}, make([]float32, p.Scratch())))
	var zero field.Program
	out := planes(3)
	require.NoError(t, zero.Evaluate(planes(3), out, field.Env{}, make([]float32, zero.Scratch())))
	requireSame(t, planes(3), out)
}

// TestCallersFault: wrong calls are rejected before anything is written.
func TestCallersFault(t *testing.T) {
	p := compile(t, busy)
	points, scratch := somePoints(100), make([]float32, p.Scratch())
	shared := make([]float32, 3000)
	for name, c := range map[string]struct {
		points, out field.Planes
		env         field.Env
		scratch     []float32
		want        error
		text        string
	}{
		"short out":         {points: points, out: cut(planes(100), 0, 99), scratch: scratch, want: field.ErrPlanes, text: "points 100, 100, 100, out 99, 99, 99"},
		"one plane long":    {points: points, out: field.Planes{X: make([]float32, 100), Y: make([]float32, 101), Z: make([]float32, 100)}, scratch: scratch, want: field.ErrPlanes},
		"no z":              {points: field.Planes{X: points.X, Y: points.Y}, out: planes(100), scratch: scratch, want: field.ErrPlanes},
		"no scratch":        {points: points, out: planes(100), want: field.ErrScratch, text: "got 0 float32s, "},
		"one float short":   {points: points, out: planes(100), scratch: scratch[1:], want: field.ErrScratch},
		"no parameters":     {points: points, out: planes(100), env: field.Env{Params: []field.Vec4{}}, scratch: scratch, want: field.ErrParams, text: "got 0, the program has 1"},
		"two parameters":    {points: points, out: planes(100), env: field.Env{Params: make([]field.Vec4, 2)}, scratch: scratch, want: field.ErrParams},
		"out is points":     {points: points, out: points, scratch: scratch, want: field.ErrOverlap},
		"out in points":     {points: field.Planes{X: shared[:100], Y: shared[100:200], Z: shared[200:300]}, out: field.Planes{X: shared[299:399], Y: shared[400:500], Z: shared[500:600]}, scratch: scratch, want: field.ErrOverlap},
		"out in out":        {points: points, out: field.Planes{X: shared[:100], Y: shared[100:200], Z: shared[199:299]}, scratch: scratch, want: field.ErrOverlap},
		"scratch is out":    {points: points, out: field.Planes{X: shared[:100], Y: shared[100:200], Z: shared[200:300]}, scratch: shared[299:], want: field.ErrOverlap},
		"points in scratch": {points: cut(field.Planes{X: shared, Y: shared, Z: shared}, 0, 100), out: planes(100), scratch: shared, want: field.ErrOverlap},
	} {
		t.Run(name, func(t *testing.T) {
			before := bitsOf(c.out)
			err := p.Evaluate(c.points, c.out, c.env, c.scratch)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, before, bitsOf(c.out))
		})
	}
	same := planes(100).X
	require.NoError(t, p.Evaluate(field.Planes{X: same, Y: same, Z: same}, planes(100), field.Env{}, scratch), "what is only read may overlap")
}

func TestNoAllocations(t *testing.T) {
	p := compile(t, busy)
	points, out, scratch := somePoints(1000), planes(1000), make([]float32, p.Scratch())
	params := []field.Vec4{{1, 2, 3, 4}}
	require.Zero(t, testing.AllocsPerRun(20, func() {
		if p.Evaluate(points, out, field.Env{Params: params}, scratch) != nil {
			panic("evaluate")
		}
	}))
}

func TestScratchIsSmall(t *testing.T) {
	require.LessOrEqual(t, field.MaxScratch*int(unsafe.Sizeof(float32(0))), 10<<10)
}

// TestShared: goroutines may share a program.
func TestShared(t *testing.T) {
	p := compile(t, busy)
	points := somePoints(500)
	want := evaluated(t, p, points, field.Env{Time: 3})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				out := ramp(500)
				if p.Evaluate(points, out, field.Env{Time: 3}, make([]float32, field.MaxScratch)) != nil || bitsOf(out)[0][499] != bitsOf(want)[0][499] {
					t.Error("differs")
				}
			}
		})
	}
	all.Wait()
}
