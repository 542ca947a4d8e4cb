package rowschema_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

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
