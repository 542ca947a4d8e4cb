package bots

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/loadtest/bot"
)

// TestPilotStaysInItsArea moves a body for a simulated hour at 20 updates per second
// and 6 m/s.
func TestPilotStaysInItsArea(t *testing.T) {
	for seed := range uint64(20) {
		p := pilot{rng: rand.New(rand.NewPCG(seed, 0)), area: 50}
		var x, z float64
		farthest, turns, last := 0.0, 0, steering.Stick{}
		for range 3600 * 20 {
			in := p.nextStick(x, z, true)
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

// TestRestlessPilot: a restless pilot steers in nearly every tick, and stays in its area.
func TestRestlessPilot(t *testing.T) {
	const ticks = 60 * 600
	p := pilot{rng: rand.New(rand.NewPCG(1, 0)), area: 50, curve: turnPerStep(bot.Restless)}
	var x, z float64
	changes, last := 0, steering.Stick{}
	for range ticks {
		in := p.nextStick(x, z, true)
		if in != last {
			changes++
		}
		last = in
		x += float64(in.X) / 127 * 6 / 60
		z += float64(in.Z) / 127 * 6 / 60
		require.Less(t, math.Max(math.Abs(x), math.Abs(z)), 60.0)
	}
	require.Greater(t, changes, ticks*99/100)
}

// TestPilotWithoutBody: a bot moves before it sees its own body.
func TestPilotWithoutBody(t *testing.T) {
	p := pilot{rng: rand.New(rand.NewPCG(1, 0)), area: 50}
	moved := false
	for range 400 {
		in := p.nextStick(1e9, 1e9, false)
		moved = moved || in != steering.Stick{}
		require.NotEqual(t, int8(-128), in.X)
	}
	require.True(t, moved)
}
