package field

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// fieldAt evaluates a text at points.
func fieldAt(t testing.TB, source string, points Planes) Planes {
	t.Helper()
	p := must.Get(Compile(source))
	n := len(points.X)
	out := Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
	require.NoError(t, p.Evaluate(points, out, Env{}, make([]float32, p.Scratch())))
	return out
}

func somewhere(r *rand.Rand, n int, size float32) (p Planes) {
	for range n {
		for _, plane := range []*[]float32{&p.X, &p.Y, &p.Z} {
			*plane = append(*plane, float32(r.Float32()*2*size)-size)
		}
	}
	return p
}

func shifted(p Planes, x, y, z float32) (q Planes) {
	for i := range p.X {
		q.X, q.Y, q.Z = append(q.X, p.X[i]+x), append(q.Y, p.Y[i]+y), append(q.Z, p.Z[i]+z)
	}
	return q
}

func TestNoise(t *testing.T) {
	const text = "output.x += noise(position)"
	points := somewhere(rand.New(rand.NewPCG(1, 9)), 200_000, 50)
	noise := fieldAt(t, text, points).X
	low, high, sum, squares := float32(1), float32(-1), 0.0, 0.0
	for _, f := range noise {
		low, high = min(low, f), max(high, f)
		sum += float64(f)
		squares += float64(f) * float64(f)
	}
	n := float64(len(noise))
	require.True(t, low >= -1 && high <= 1, "%g to %g", low, high)
	require.True(t, low < -0.9 && high > 0.9, "%g to %g", low, high)
	require.InDelta(t, 0, sum/n, 0.02)
	require.InDelta(t, 0.4, math.Sqrt(squares/n), 0.02, "as LANGUAGE.md says")

	// Noise is continuous, including between cells.
	near := fieldAt(t, text, shifted(points, 1.0/1024, 0, 0)).X
	steepest := 0.0
	for i := range near {
		steepest = max(steepest, math.Abs(float64(near[i]-noise[i]))*1024)
	}
	require.Less(t, steepest, 3.9)
	walls := somewhere(rand.New(rand.NewPCG(2, 9)), 2000, 50)
	for i := range walls.X {
		walls.X[i] = float32(math.Floor(float64(walls.X[i])))
	}
	at, before := fieldAt(t, text, walls).X, fieldAt(t, text, shifted(walls, -1.0/4096, 0, 0)).X
	for i := range at {
		require.InDelta(t, at[i], before[i], 1e-5)
	}

	// On the lattice, noise equals the hash.
	lattice := fieldAt(t, text, Planes{X: []float32{3, -7}, Y: []float32{0, 12}, Z: []float32{-1, 5}}).X
	require.Equal(t, []float32{fma32(hash32(3, 0, -1), 2, -1), fma32(hash32(-7, 12, 5), 2, -1)}, lattice)
}

// TestNoiseEdges: results stay in range where numbers have no fractions, and inputs that
// are not finite add nothing.
func TestNoiseEdges(t *testing.T) {
	big, inf := float32(1<<30), float32(math.Inf(1))
	almost := math.Nextafter32(1, 0)
	for _, f := range []float32{0, neg32(0), 1e-45, -1e-45, almost, -almost, 1 << 23, 1<<23 - 0.5, big, -big, math.MaxFloat32, inf, -inf, float32(math.NaN())} {
		v := fieldAt(t, "output += curl_noise(position)\noutput.x += noise(position)", Planes{X: []float32{f}, Y: []float32{almost}, Z: []float32{f}})
		for _, f := range []float32{v.X[0], v.Y[0], v.Z[0]} {
			require.Less(t, abs32(f), float32(10), "%g", f)
		}
		n := fieldAt(t, "output += (noise(position), 0, 0)", Planes{X: []float32{f}, Y: []float32{almost}, Z: []float32{f}})
		require.LessOrEqual(t, abs32(n.X[0]), float32(1), "%g", f)
	}
}

// TestCurlNoise: curl noise equals the curl of the noises by difference quotients, and its
// divergence is negligible compared to its slopes.
func TestCurlNoise(t *testing.T) {
	const h = 1.0 / 256
	points := somewhere(rand.New(rand.NewPCG(3, 9)), 3000, 20)
	curl := fieldAt(t, "output += curl_noise(position)", points)
	// The three noises of curlNoise.
	const three = "output += (noise(position + (1031,0,0)), noise(position + (2063,0,0)), noise(position + (4093,0,0)))"
	slope := func(x, y, z float32) Planes {
		high, low := fieldAt(t, three, shifted(points, x*h, y*h, z*h)), fieldAt(t, three, shifted(points, -x*h, -y*h, -z*h))
		for i := range high.X {
			high.X[i] = (high.X[i] - low.X[i]) / (2 * h)
			high.Y[i] = (high.Y[i] - low.Y[i]) / (2 * h)
			high.Z[i] = (high.Z[i] - low.Z[i]) / (2 * h)
		}
		return high
	}
	x, y, z := slope(1, 0, 0), slope(0, 1, 0), slope(0, 0, 1)
	squares := 0.0
	for i := range points.X {
		require.InDelta(t, y.Z[i]-z.Y[i], curl.X[i], 0.02)
		require.InDelta(t, z.X[i]-x.Z[i], curl.Y[i], 0.02)
		require.InDelta(t, x.Y[i]-y.X[i], curl.Z[i], 0.02)
		for _, f := range []float32{curl.X[i], curl.Y[i], curl.Z[i]} {
			squares += float64(f) * float64(f)
		}
	}
	require.InDelta(t, 1.9, math.Sqrt(squares/float64(len(points.X))), 0.1, "the strength that LANGUAGE.md says")

	along := func(axis int, x, y, z float32) []float64 {
		high, low := fieldAt(t, "output += curl_noise(position)", shifted(points, x*h, y*h, z*h)), fieldAt(t, "output += curl_noise(position)", shifted(points, -x*h, -y*h, -z*h))
		a, b := [][]float32{high.X, high.Y, high.Z}[axis], [][]float32{low.X, low.Y, low.Z}[axis]
		var d []float64
		for i := range a {
			d = append(d, float64(a[i]-b[i])/(2*h))
		}
		return d
	}
	dx, dy, dz := along(0, 1, 0, 0), along(1, 0, 1, 0), along(2, 0, 0, 1)
	divergence, slopes := 0.0, 0.0
	for i := range dx {
		divergence += math.Abs(dx[i] + dy[i] + dz[i])
		slopes += math.Abs(dx[i]) + math.Abs(dy[i]) + math.Abs(dz[i])
	}
	require.Less(t, divergence/slopes, 1e-2)
}

// TestNoiseFits: a certain amount of noise fits into an effect's instructions and
// registers. More noise is an error with a position.
func TestNoiseFits(t *testing.T) {
	for _, c := range []struct {
		source string
		most   int // instructions
	}{
		{"output.x += noise(position)", 60},
		{"output += curl_noise(position)", 150},
		{"let p = position / 8\noutput += curl_noise(p + (time, 0, 0)) * 3 + curl_noise(p * 2)", 310},
		{"output += curl_noise2(position)", 300},
		{"output += curl_noise2(position) * noise3(position)", 460}, // register pressure
		{"let n = noise3(position / 7)\noutput += curl_noise2(position) * n", 460},
		{"output += (noise(position), noise(position + (9.5, 0, 0)), noise(position + (0, 9.5, 0)))", 180},
	} {
		p, err := Compile(c.source)
		require.NoError(t, err, c.source)
		require.LessOrEqual(t, len(p.code), c.most, c.source)
		requireRoundTrip(t, p)
	}
	text := "let p0 = position\n"
	for i := range 12 {
		text += "output += curl_noise(position * " + spell(float32(i)+0.5) + ")\n"
	}
	_, err := Compile(text)
	var wrong *SyntaxError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "the effect has more than 1024 instructions", wrong.Message)
	require.Equal(t, "output += curl_noise(position * 6.5)", wrong.Source)
}
