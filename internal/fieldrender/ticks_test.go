package fieldrender

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestStepFor(t *testing.T) {
	for _, c := range []struct {
		span   float64
		count  int
		step   float64
		second string
	}{
		{10, 5, 2, "4"},
		{10, 4, 5, "10"},
		{0.7, 5, 0.2, "0.4"},
		{80, 5, 20, "40"},
		{1e6, 5, 2e5, "400000"},
		{3e7, 5, 1e7, "2e+07"},
		{5e-5, 5, 1e-5, "2e-05"},
		{math.MaxFloat32, 5, 1e38, "2e+38"},
		{math.SmallestNonzeroFloat32, 5, 5e-46, "1e-45"},
	} {
		s := stepFor(c.span, c.count)
		require.InEpsilon(t, c.step, s.value(1), 1e-15)
		require.Equal(t, c.second, s.label(2))
	}
}

// There is at most one tick more than requested, all are inside, and none is missing.
func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-MaxCoordinate, MaxCoordinate).Draw(t, "lo")
		span := rapid.Float64Range(1e-2, MaxCoordinate).Draw(t, "span")
		count := rapid.IntRange(3, 9).Draw(t, "count")
		s := stepFor(span, count)
		ticks := s.within(lo, lo+span)
		require.LessOrEqual(t, len(ticks), count+1)
		require.NotEmpty(t, ticks)
		require.GreaterOrEqual(t, s.value(ticks[0]), lo)
		require.Less(t, s.value(ticks[0]-1), lo)
		require.LessOrEqual(t, s.value(ticks[len(ticks)-1]), lo+span)
		require.Greater(t, s.value(ticks[len(ticks)-1]+1), lo+span)
	})
}

func TestScale(t *testing.T) {
	many := func(value float32, more ...float32) []float32 {
		m := make([]float32, 200, 203)
		for i := range m {
			m[i] = value
		}
		return append(m, more...)
	}
	infinite := float32(math.Inf(1))
	for _, c := range []struct {
		name       string
		magnitudes []float32
		top        float64
		over       bool
	}{
		{"round", []float32{1, 36, 37}, 40, false},
		{"exact", []float32{1, 48, 50}, 50, false},
		{"nothing", []float32{0, 0}, 1, false},
		{"a peak", many(9, 100), 10, true},
		{"a small peak", many(9, 26), 30, false},
		{"a point in nothing", many(0, 7), 8, false},
		{"infinity", many(9, infinite), 10, true},
		{"half infinite", []float32{1, 2, infinite, infinite}, 2, true},
		{"all infinite", []float32{infinite, infinite}, 1, true},
		{"smallest", []float32{math.SmallestNonzeroFloat32}, 1.5e-45, false},
		{"largest", []float32{math.MaxFloat32}, 4e38, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScale(c.magnitudes)
			require.InEpsilon(t, c.top, s.top(), 1e-12)
			require.Equal(t, c.over, s.over)
			require.Equal(t, 0, s.level(0))
			require.Equal(t, levels-1, s.level(infinite))
			if c.top < math.MaxFloat32 && c.top > 1e-40 {
				require.Equal(t, levels/2, s.level(float32(s.top()/2)))
			}
		})
	}
}
