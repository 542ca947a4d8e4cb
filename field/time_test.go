package field

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

const secondsPerYear = 365 * 24 * 3600

// timeTexts returns effects that time moves smoothly for ever.
func timeTexts() map[string]string {
	texts := map[string]string{
		"sine":        "output.x += 10 * sin(time / 2)",
		"wave":        "output.x += sin(position.x * 0.3 - time)",
		"quarters":    "output.x += cos(position.y / 4 + time / 3)",
		"scaled wave": "param k = 0.37\noutput.x += sin((position.z - 3 * time) * k)",
		"stripes":     "output.x += abs(fract(position.x / 7 - time / 5) - 0.5)",
		"swell":       "output.x += swell(time + position.x, 3)",
		"noise":       "output.x += noise(position / 5 - (time, 0.3 * time, time / 9))",
		"dull noise":  "output.x += noise((time / 3, position.y, position.z))",
		"noises":      "output.x += noise3(position / 9 + (0, time, 0))",
		"eddies":      "output += curl_noise2((position - (3, 1, 2) * time) / 8)",
		"geyser":      "output.x += falloff(abs(position.y - 24 * fract(time / 2)), 12)",
		"circle":      "output.x += position.x - 12 * cos(time / 20)",
		"assembly":    "a = mul position, 0.2\nb = mul time, (1, 2, 3)\na = sub a, b\na = sin a\noutput = add output, a",
	}
	for _, name := range ShippedNames() {
		texts[name], _ = Shipped(name)
	}
	return texts
}

// smoothness describes how an effect changes at some points in two seconds.
type smoothness struct {
	distinct int     // values, of all points and lanes
	largest  float64 // change from tick to tick
}

func smoothnessOf(t testing.TB, p *Program, from float64, hz int) (s smoothness) {
	points := randomGrid(40)
	var last [3][]float32
	type value struct {
		lane, point int
		bits        uint32
	}
	seen := map[value]bool{}
	ticks := uint64(from * float64(hz))
	for n := ticks; n <= ticks+2*uint64(hz); n++ {
		out := planesOf(40)
		require.NoError(t, p.Evaluate(points, out, Env{Time: float64(n) / float64(hz)}, make([]float32, p.Scratch())))
		for lane, plane := range out.lanes() {
			for i, v := range plane {
				if last[lane] != nil {
					s.largest = max(s.largest, math.Abs(float64(v)-float64(last[lane][i])))
				}
				seen[value{lane, i, math.Float32bits(v)}] = true
			}
			last[lane] = plane
		}
	}
	s.distinct = len(seen)
	return s
}

// randomGrid returns points within the boxes of the shipped effects, mostly.
func randomGrid(n int) (p Planes) {
	r := rand.New(rand.NewPCG(5, 6))
	for range n {
		p.X, p.Y, p.Z = append(p.X, 30*r.Float32()-15), append(p.Y, 30*r.Float32()), append(p.Z, 30*r.Float32()-15)
	}
	return p
}

func planesOf(n int) Planes {
	return Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
}

// TestTimeIsExact: after a year, effects move in the steps of the first day, at every tick rate.
func TestTimeIsExact(t *testing.T) {
	racetest.SkipSequential(t)
	for name, text := range timeTexts() {
		p, err := Compile(text)
		require.NoError(t, err, name)
		for _, hz := range []int{1, 20, 60, 128, 1000} {
			if testing.Short() && hz > 60 {
				continue
			}
			// Expected: the smoothness at any moment of the first day.
			want := smoothnessOf(t, p, 0, hz)
			for _, s := range []float64{1234, 5678, 23456, 44444, 66666} {
				other := smoothnessOf(t, p, s, hz)
				want.distinct, want.largest = min(want.distinct, other.distinct), max(want.largest, other.largest)
			}
			for _, day := range []float64{1, 12.5, 25, 365} {
				got := smoothnessOf(t, p, day*24*3600, hz)
				require.GreaterOrEqual(t, float64(got.distinct), 0.9*float64(want.distinct), "%s, day %v, %d Hz", name, day, hz)
				require.LessOrEqual(t, got.largest, 1.3*want.largest, "%s, day %v, %d Hz", name, day, hz)
			}
		}
	}
}

// TestTimeAcrossTheLattice: the cells at which moved noise repeats are neighbours like all
// others.
func TestTimeAcrossTheLattice(t *testing.T) {
	for name, text := range map[string]string{
		"along":      "output.x += noise(position - (64 * time, 0, 0))",
		"against":    "output.x += noise(position + (64 * time, 0, 0))",
		"all":        "output += curl_noise(position - (64, 64, -64) * time)",
		"time alone": "output += curl_noise((position.x, 64 * time, position.z))",
	} {
		p := must.Get(Compile(text))
		points := randomGrid(40)
		largest := func(from float64) (change float64) {
			before := planesOf(40)
			for n := range 3000 { // 120 cells of 25 steps
				out := planesOf(40)
				require.NoError(t, p.Evaluate(points, out, Env{Time: (from + float64(n)/25) / 64}, make([]float32, p.Scratch())))
				for lane, plane := range out.lanes() {
					for i, v := range plane {
						if n > 0 {
							change = max(change, math.Abs(float64(v-before.lanes()[lane][i])))
						}
					}
				}
				before = out
			}
			return change
		}
		require.Less(t, largest(latticePeriod/2-60), 1.2*largest(1000), name)
	}
}

// TestTimeMovesNoise: noise in a moving frame equals still noise at the frame's original
// position.
func TestTimeMovesNoise(t *testing.T) {
	for _, time := range []float32{0.5, 3, 40} {
		moved := must.Get(Compile("output += curl_noise((position - (2, 1, -3) * time) / 4) + (noise(position + (time, 0, time)), 0, 0)"))
		at := func(v float32) string { return spell(v * time) }
		still := must.Get(Compile(fmt.Sprintf("output += curl_noise((position - (%s, %s, %s)) / 4) + (noise(position + (%s, 0, %[4]s)), 0, 0)", at(2), at(1), at(-3), at(1))))
		points, got, want := randomGrid(40), planesOf(40), planesOf(40)
		require.NoError(t, moved.Evaluate(points, got, Env{Time: float64(time)}, make([]float32, moved.Scratch())))
		require.NoError(t, still.Evaluate(points, want, Env{}, make([]float32, still.Scratch())))
		for lane, plane := range got.lanes() {
			for i, v := range plane {
				require.InDelta(t, want.lanes()[lane][i], v, 1e-3, "lane %d", lane)
			}
		}
	}
}

// TestTimePaths: every kernel and the oracle give the same bits, even after a year (F1).
func TestTimePaths(t *testing.T) {
	for name, text := range timeTexts() {
		p, err := Compile(text)
		require.NoError(t, err, name)
		requireRoundTrip(t, p)
		requireBound(t, p)
		r := rand.New(rand.NewPCG(7, 8))
		for _, time := range []float64{0, 0.7, 12.5 * 24 * 3600, secondsPerYear + 1.0/7, -3} {
			points, start := newFenced(r, 130), newFenced(r, 130)
			want := runOn(p.with(cpu.Go), points, start.clone(), Env{Time: time}, false)
			for k := cpu.AVX2; k <= cpu.Best(); k++ {
				got := runOn(p.with(k), points, start.clone(), Env{Time: time}, false)
				for lane := range got.memory {
					require.NoError(t, firstDifference(want.memory[lane], got.memory[lane]), "%s on %v at %v", name, k, time)
				}
			}
		}
	}
}
