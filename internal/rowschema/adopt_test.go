package rowschema_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

type bearing struct {
	X     float32 `net:"range=-8..8,step=1/16"`
	Angle float32 `net:"angle,bits=6"`
	Count uint8
}

// Adopt moves a state across the edge of a step, and never away from the quantised state.
// Near accepts states less than a step from the quantised state.
func TestNearAndAdopt(t *testing.T) {
	const step, turn = 1.0 / 16, 2 * math.Pi / 64
	s := schema.New()
	schema.Define[bearing](s, "bearing")
	require.NoError(t, s.Err())
	component := rowschema.New(s).Component(0)
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]uint32, s.Values())
	edges := 0
	for range 10_000 {
		truth := bearing{float32(15*r.Float64() - 7.5), float32(2*math.Pi*r.Float64() - math.Pi), 7}
		guess := truth
		guess.X += float32((r.Float64() - 0.5) * step)
		guess.Angle += float32((r.Float64() - 0.5) * turn)
		component.Quantise(&truth, want)
		require.True(t, component.Near(want, &guess))
		adopted := guess
		component.Adopt(want, &adopted)
		got := make([]uint32, s.Values())
		component.Quantise(&adopted, got)
		require.Equal(t, want, got)
		off := func(b bearing) (x, angle float64) {
			return math.Abs(float64(b.X - truth.X)), math.Abs(math.Remainder(float64(b.Angle-truth.Angle), 2*math.Pi))
		}
		x, angle := off(adopted)
		x0, angle0 := off(guess)
		require.LessOrEqual(t, x, max(x0, step/500))
		require.LessOrEqual(t, angle, max(angle0, turn/500))
		if adopted != guess {
			edges++
		}
		guess.Count++
		require.False(t, component.Near(want, &guess), "a number without steps")
		guess = truth
		guess.X = truth.X + float32(math.Copysign(2.1*step, -float64(truth.X)))
		require.False(t, component.Near(want, &guess), "more than a step")
	}
	require.Greater(t, edges, 1000)
}

// Distances are 0 exactly where Near finds no difference.
func TestDistances(t *testing.T) {
	type sample struct {
		X      float32 `net:"range=-8..8,step=1/16"`
		Raw    float64
		Angle  float32    `net:"angle,bits=8"`
		Facing [4]float32 `net:"quat,bits=10"`
		Signed int16
		Wide   uint64
		Mode   uint8 `net:"enum=5"`
		Is     bool
		By     bulk.Handle `net:"ref"`
		Hidden int         `net:"-"`
	}
	s := schema.New()
	schema.Define[sample](s, "sample")
	require.NoError(t, s.Err())
	component := rowschema.New(s).Component(0)
	server := sample{1, 2, 3, about(0, 1), -5, 1 << 40, 4, true, bulk.NewHandle(7, 1), 0}
	values, got := make([]uint32, s.Values()), make([]float64, len(s.Components()[0].Fields))
	component.Quantise(&server, values)
	for i, c := range []struct {
		change   func(*sample)
		distance float64
	}{
		{func(v *sample) { v.X = -2 }, 3},
		{func(v *sample) { v.Raw = math.NaN() }, math.Inf(1)},
		{func(v *sample) { v.Angle = -3 }, 2*math.Pi - 6},
		{func(v *sample) { v.Facing = about(0, -0.5) }, 1.5},
		{func(v *sample) { v.Signed = 100 }, 105},
		{func(v *sample) { v.Wide = 1<<40 - 3 }, 3},
		{func(v *sample) { v.Mode = 1 }, 3},
		{func(v *sample) { v.Is = false }, 1},
		{func(v *sample) { v.By = 0 }, 1},
	} {
		predicted := server
		predicted.Hidden = 9
		predicted.X += 1.0 / 20 // within a step
		component.Distances(values, &predicted, got)
		require.Equal(t, make([]float64, len(got)), got)
		c.change(&predicted)
		component.Distances(values, &predicted, got)
		require.False(t, component.Near(values, &predicted))
		for j, d := range got {
			switch {
			case j != i:
				require.Zero(t, d, "field %d of case %d", j, i)
			case math.IsInf(c.distance, 0):
				require.Equal(t, c.distance, d)
			default:
				require.InDelta(t, c.distance, d, 0.03, "field %d", i)
			}
		}
	}
}
