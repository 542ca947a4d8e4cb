package field

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
)

// scattered returns small effects, some without a box, and points sorted by x, some of them
// NaN: chunks of points thus miss some effects.
func scattered(t testing.TB, r *rand.Rand, k cpu.Kernels, n int) (s *Set, points Planes) {
	s = &Set{}
	for i := range 40 {
		text := "box (-4,-4,-4) (3,4,5)\n" + randomText(r, 4)
		if i%9 == 0 {
			text = randomText(r, 4)
		}
		p := must.Get(Compile(text))
		env := Env{Time: r.Float64()}
		if i%5 != 0 {
			env.Origin = [3]float32{100 * r.Float32(), 8 * r.Float32(), 8 * r.Float32()}
		}
		require.NoError(t, s.Add(p.with(k), env))
	}
	for range n {
		points.X = append(points.X, 100*r.Float32())
		points.Y = append(points.Y, 12*r.Float32()-4)
		points.Z = append(points.Z, 12*r.Float32()-4)
	}
	slices.Sort(points.X)
	for range n / 50 {
		for _, plane := range points.lanes() {
			plane[r.IntN(n)] = [...]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32}[r.IntN(4)]
		}
	}
	return s, points
}

// evaluateSeparately is the definition of a set: each effect and each point separately.
func evaluateSeparately(s *Set, points, out Planes) {
	scratch := make([]float32, s.Scratch())
	for i := range s.calls {
		for at := range points.X {
			s.calls[i].run(&points, &out, at, at+1, scratch, s.areas[i].boxed)
		}
	}
}

// TestSet: chunks, regions, order and clipping do not change a point's result (F2).
func TestSet(t *testing.T) {
	for k := cpu.Go; k <= cpu.Best(); k++ {
		for seed, n := range []int{0, 1, 63, 256, 257, 1000, regionPoints, 2*regionPoints + 77} {
			if testing.Short() && n > 1000 {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(seed), 31))
			s, points := scattered(t, r, k, n)
			start := randomPoints(r, n)
			want, got := copied(start), copied(start)
			evaluateSeparately(s, points, want)
			require.NoError(t, s.Evaluate(points, got, make([]float32, s.Scratch())))
			requireSame(t, want, got)
		}
	}
}

// TestSetWork: Work counts the chunks that an effect does not miss.
func TestSetWork(t *testing.T) {
	for _, n := range []int{0, 1, 256, 300, 2*regionPoints + 77} {
		s, points := scattered(t, rand.New(rand.NewPCG(1, 33)), cpu.Best(), n)
		want := 0
		for i := range s.areas {
			for at := 0; at < n; at += chunkPoints {
				end := min(at+chunkPoints, n)
				b := boundsGo(nowhere, points.cut(at, end))
				if !s.areas[i].misses(&b) {
					want += end - at
				}
			}
		}
		require.Equal(t, want, s.Work(points))
		if n > regionPoints {
			require.NotZero(t, want)
			require.Less(t, want, n*s.Len(), "something is left out")
		}
	}
}

// TestSetLeavesOut: a set skips distant effects.
func TestSetLeavesOut(t *testing.T) {
	s, points := scattered(t, rand.New(rand.NewPCG(1, 32)), cpu.Best(), 2*regionPoints)
	for i := range points.X { // no far or non-finite points, which would make chunks cover everything
		points.X[i], points.Y[i], points.Z[i] = float32(i)/100, float32(i%12)-4, float32(i%7)-4
	}
	missed, inside, pairs := 0, 0, 0
	for at := 0; at < len(points.X); at += regionPoints {
		var chunks [regionChunks]bounds
		s.findNear(&points, at, &chunks)
		for c := range chunks {
			for i := range s.areas {
				pairs++
				if s.areas[i].misses(&chunks[c]) {
					missed++
				} else if s.areas[i].contains(&chunks[c]) {
					inside++
				}
			}
		}
	}
	require.Greater(t, missed, pairs/2)
	require.Greater(t, inside, 0)
}

func TestSetErrors(t *testing.T) {
	p := must.Get(Compile("param k = 2\noutput = add output, k"))
	var s Set
	require.ErrorIs(t, s.Add(p, Env{Params: make([]Vec4, 2)}), ErrParams)
	require.Zero(t, s.Len())
	require.NoError(t, s.Add(&Program{}, Env{}))
	require.NoError(t, s.Add(p, Env{Params: []Vec4{{3, 3, 3, 3}}}))
	points, out := randomPoints(rand.New(rand.NewPCG(1, 1)), 10), Planes{X: make([]float32, 10), Y: make([]float32, 10), Z: make([]float32, 10)}
	scratch := make([]float32, s.Scratch())
	require.ErrorIs(t, s.Evaluate(points, out, scratch[1:]), ErrScratch)
	require.ErrorIs(t, s.Evaluate(points.cut(0, 9), out, scratch), ErrPlanes)
	require.ErrorIs(t, s.Evaluate(points, points, scratch), ErrOverlap)
	require.Equal(t, make([]float32, 10), out.X, "a refused call changes nothing")
	require.NoError(t, s.Evaluate(points, out, scratch))
	require.Equal(t, float32(3), out.X[9])

	for s.Len() < MaxEffects {
		require.NoError(t, s.Add(p, Env{}))
	}
	require.ErrorIs(t, s.Add(p, Env{}), ErrFull)
	require.Equal(t, MaxEffects, s.Len())
	s.Reset()
	require.Zero(t, s.Len())
	require.Zero(t, s.Scratch())
	require.NoError(t, s.Evaluate(points, out, nil))
}

func TestSetAllocatesNothing(t *testing.T) {
	s, points := scattered(t, rand.New(rand.NewPCG(1, 33)), cpu.Best(), 1000)
	var programs []*Program
	for i := range s.calls {
		programs = append(programs, s.calls[i].program)
	}
	out, scratch := copied(points), make([]float32, s.Scratch())
	require.Zero(t, testing.AllocsPerRun(10, func() {
		s.Reset()
		for _, p := range programs {
			if s.Add(p, Env{}) != nil {
				t.Fail()
			}
		}
		if s.Evaluate(points, out, scratch) != nil {
			t.Fail()
		}
	}))
}

// TestSetConcurrent: evaluation only reads a set (for the race detector).
func TestSetConcurrent(t *testing.T) {
	s, points := scattered(t, rand.New(rand.NewPCG(1, 34)), cpu.Best(), 600)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			out := copied(points)
			if s.Evaluate(points, out, make([]float32, s.Scratch())) != nil {
				t.Fail()
			}
		})
	}
	wg.Wait()
}

// TestBounds: on each path, every point counts in every lane, and NaN is detected at every
// point.
func TestBounds(t *testing.T) {
	measure := func(k cpu.Kernels, points Planes) []bounds {
		to := make([]bounds, (len(points.X)+chunkPoints-1)/chunkPoints)
		for c := boundsBy(k, to, points); c < len(to); c++ {
			to[c] = boundsGo(nowhere, points.cut(c*chunkPoints, min((c+1)*chunkPoints, len(points.X))))
		}
		for c := range to {
			for lane := range to[c] {
				to[c][lane].nan = min(to[c][lane].nan, 1)
			}
		}
		return to
	}
	for _, n := range []int{0, 1, 31, 32, 100, 250, chunkPoints - 1, chunkPoints, chunkPoints + 1, chunkPoints + 77, 3 * chunkPoints, regionPoints} {
		points := randomPoints(rand.New(rand.NewPCG(uint64(n), 36)), n) // some are NaN
		want := measure(cpu.Go, points)
		for k := cpu.AVX2; k <= cpu.Best(); k++ {
			require.Equal(t, want, measure(k, points), "%v, %d points", k, n)
		}
	}
	for _, n := range []int{32, 63, 64, 128, chunkPoints - 1} { // a partial chunk: its points count, and no others
		points := Planes{make([]float32, n), make([]float32, n), make([]float32, n)}
		for lane, plane := range points.lanes() {
			for i := range plane {
				plane[i] = 1
			}
			for i := range plane {
				for k := cpu.AVX2; k <= cpu.Best(); k++ {
					var to [1]bounds
					require.Equal(t, 1, boundsBy(k, to[:], points), "a kernel computes it")
					plane[i] = 2
					boundsBy(k, to[:], points)
					require.Equal(t, extent{1, 2, 0}, to[0][lane])
					plane[i] = float32(math.NaN())
					boundsBy(k, to[:], points)
					require.Equal(t, [2]float32{1, 1}, [2]float32{to[0][lane].least, to[0][lane].greatest})
					require.NotZero(t, to[0][lane].nan)
					plane[i] = 1
				}
			}
		}
	}
	zeros := Planes{make([]float32, 2*chunkPoints), make([]float32, 2*chunkPoints), make([]float32, 2*chunkPoints)}
	for lane, plane := range zeros.lanes() {
		for i := range plane {
			for k := cpu.Go; k <= cpu.Best(); k++ {
				at := i / chunkPoints
				plane[i] = 1000
				require.Equal(t, float32(1000), measure(k, zeros)[at][lane].greatest)
				plane[i] = -1000
				require.Equal(t, float32(-1000), measure(k, zeros)[at][lane].least)
				plane[i] = float32(math.NaN())
				require.Equal(t, uint32(1), measure(k, zeros)[at][lane].nan)
				plane[i] = 0
				require.Zero(t, measure(k, zeros)[at][lane].nan)
			}
		}
	}
}

// BenchmarkSet evaluates 64 effects of 4 to 8 m, half of them whirls, among points in 200
// by 40 by 200 m ordered along a space-filling curve of cells, with and without culling.
// Order measures the sorting, which is needed every 8 to 30 ticks.
func BenchmarkSet(b *testing.B) {
	for _, n := range []int{20_000, 1_000_000} {
		for _, count := range []int{64, 256} {
			b.Run(fmt.Sprintf("points=%d/effects=%d", n, count), func(b *testing.B) { benchmarkSet(b, n, count) })
		}
	}
}

func benchmarkSet(b *testing.B, n, count int) {
	r := rand.New(rand.NewPCG(1, 37))
	var s Set
	for i := range count {
		p := compileSphere(i%2 == 0, 4+4*r.Float32())
		require.NoError(b, s.Add(p, Env{Time: 0.3, Origin: [3]float32{200 * r.Float32(), 40 * r.Float32(), 200 * r.Float32()}}))
	}
	points := randomPoints(r, n)
	for i := range n {
		points.X[i], points.Y[i], points.Z[i] = 200*r.Float32(), 40*r.Float32(), 200*r.Float32()
	}
	inOrder(points)
	out, scratch := Planes{make([]float32, n), make([]float32, n), make([]float32, n)}, make([]float32, s.Scratch())
	perPoint := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/point")
	}
	b.Run("culled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Evaluate(points, out, scratch)
		}
		perPoint(b)
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			for i := range s.calls {
				s.calls[i].run(&points, &out, 0, n, scratch, false)
			}
		}
		perPoint(b)
	})
	b.Run("bounds", func(b *testing.B) {
		for b.Loop() {
			var chunks [regionChunks]bounds
			for at := 0; at < n; at += regionPoints {
				end := min(at+regionPoints, n)
				boundsOf(chunks[:(end-at+chunkPoints-1)/chunkPoints], points.cut(at, end))
			}
		}
		perPoint(b)
	})
	b.Run("order", func(b *testing.B) {
		shuffled := copied(points)
		r.Shuffle(n, func(i, j int) {
			for _, plane := range shuffled.lanes() {
				plane[i], plane[j] = plane[j], plane[i]
			}
		})
		for b.Loop() {
			inOrder(copied(shuffled))
		}
		perPoint(b)
	})
}

func compileSphere(whirl bool, radius float32) *Program {
	body := `
l = dot position, position
k = rsqrt l
k = mul k, 50
k = select_lt l, %[2]v, k, 0
f = mul position, k
output = add output, f`
	if whirl {
		body = `
d = mul position, (1,0,1)
r = length d
k = mad r, %[3]v, 1
k = smooth k
s = mad r, 0.3, time
s = sin s
k = mul k, s
n = normalize d
c = cross (0,1,0), n
c = mul c, k
output = add output, c`
	}
	return must.Get(Compile(fmt.Sprintf("box (-%[1]v,-%[1]v,-%[1]v) (%[1]v,%[1]v,%[1]v)"+body, radius, radius*radius, -1/radius)))
}

// inOrder sorts points by cells of 200/64 m along a Morton curve: the 18 interleaved
// bits of a cell's coordinates, nine at a time.
func inOrder(points Planes) {
	n := len(points.X)
	keys, order, next := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	for i := range keys {
		keys[i] = spread(points.X[i]) | spread(points.Y[i])<<1 | spread(points.Z[i])<<2
		order[i] = uint32(i)
	}
	for shift := 0; shift < 18; shift += 9 {
		var starts [513]int
		for _, k := range keys {
			starts[k>>shift&511+1]++
		}
		for d := range 512 {
			starts[d+1] += starts[d]
		}
		for _, i := range order {
			d := keys[i] >> shift & 511
			next[starts[d]] = i
			starts[d]++
		}
		order, next = next, order
	}
	from := make([]float32, n)
	for _, plane := range points.lanes() {
		copy(from, plane)
		for i, k := range order {
			plane[i] = from[k]
		}
	}
}

// spread puts the six bits of a cell's coordinate two bits apart.
func spread(v float32) (bits uint32) {
	cell := uint32(v * (64.0 / 200))
	cell = (cell | cell<<8) & 0x0300f
	cell = (cell | cell<<4) & 0x030c3
	return (cell | cell<<2) & 0x09249
}

func copied(p Planes) Planes {
	return Planes{X: append([]float32(nil), p.X...), Y: append([]float32(nil), p.Y...), Z: append([]float32(nil), p.Z...)}
}

func requireSameBits(t testing.TB, want, got []float32) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			require.Failf(t, "bits differ", "at %d: %x, not %x", i, got[i], want[i])
		}
	}
}

func requireSame(t testing.TB, want, got Planes) {
	t.Helper()
	for lane, plane := range want.lanes() {
		requireSameBits(t, plane, got.lanes()[lane])
	}
}

// requireCanonical compares an output with the same without the final NaN replacement.
func requireCanonical(t testing.TB, want, got Planes) {
	t.Helper()
	for lane, plane := range want.lanes() {
		canonical(plane)
		requireSameBits(t, plane, got.lanes()[lane])
	}
}
