package bot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/scenes/steering"
)

// TestPilotStaysInItsArea moves a body for a simulated hour at 20 updates per second
// and 6 m/s.
func TestPilotStaysInItsArea(t *testing.T) {
	for seed := range uint64(20) {
		p := pilot{rng: rand.New(rand.NewPCG(seed, 0)), area: 50}
		var x, z float64
		farthest, turns, last := 0.0, 0, steering.Stick{}
		for range 3600 * 20 {
			in := p.steer(x, z, true)
			if in != last {
				turns++
			}
			last = in
			x += float64(in.X) / 127 * 6 / 20
			z += float64(in.Z) / 127 * 6 / 20
			farthest = max(farthest, math.Abs(x), math.Abs(z))
		}
		require.Less(t, farthest, 55.0, "seed %d", seed)
		require.Greater(t, farthest, 25.0, "seed %d: it roams", seed)
		require.Greater(t, turns, 300, "seed %d", seed)
	}
}

// TestPilotWithoutBody: a bot moves before it sees its own body.
func TestPilotWithoutBody(t *testing.T) {
	p := pilot{rng: rand.New(rand.NewPCG(1, 0)), area: 50}
	moved := false
	for range 400 {
		in := p.steer(1e9, 1e9, false)
		moved = moved || in != steering.Stick{}
		require.NotEqual(t, int8(-128), in.X)
	}
	require.True(t, moved)
}
