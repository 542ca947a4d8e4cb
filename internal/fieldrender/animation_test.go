package fieldrender

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// Drawn over each other, the images of an animation equal the separately drawn frames.
func TestAnimationEqualsFrames(t *testing.T) {
	p := compile(t, turning)
	v := Around(p, XZ)
	const size = 96
	film := must.Get(animation(p, v, 2, size))
	require.Len(t, film.Image, frames)
	shown := append([]byte(nil), film.Image[0].Pix...)
	for _, over := range film.Image[1:] {
		kept := 0
		for i, index := range over.Pix {
			if _, _, _, alpha := over.Palette[index].RGBA(); alpha == 0 {
				kept++
				continue
			}
			shown[i] = index
		}
		require.Greater(t, kept, len(shown)/2, "most pixels are unchanged")
		require.Less(t, kept, len(shown), "at least the time changes")
	}
	m := must.Get(newMotion(p, v, 2, size, frames))
	m.scale = scaleOf(m.magnitudes[0])
	last := newFigure(p, m.views, 1, size)
	m.advance()
	m.drawOn(last, 0, 0)
	require.True(t, string(last.canvas.image.Pix) == string(shown))
}

// The midpoint rule keeps particles on circles.
func TestParticlesTurn(t *testing.T) {
	p := compile(t, turning)
	const step = 2 * math.Pi / 100 // a turn is a hundred steps
	s := newSwarm(p, Around(p, XZ), 50, step)
	const radius = 6
	s.position.X[7], s.position.Y[7], s.position.Z[7] = radius, 0, 0
	for range 25 {
		s.life[7] = maxLife
		s.advance()
	}
	require.InDelta(t, 0, s.position.X[7], 0.01)
	require.InDelta(t, -radius, s.position.Z[7], 0.01, "(0, 1, 0) cross (1, 0, 0) is (0, 0, -1)")
	require.Zero(t, s.position.Y[7])
}

// Particles gain speed at the rate of the acceleration.
func TestParticlesFall(t *testing.T) {
	p := uniform(t, "(0, -10, 0)")
	v := Around(p, XY)
	v.Mode = Acceleration
	s := newSwarm(p, v, 10, 0.001)
	s.position.Y[3] = 8
	for range 1000 {
		s.advance()
	}
	require.InDelta(t, 3, s.position.Y[3], 0.01)
	require.InDelta(t, -10, s.velocity.Y[3], 0.01)
	require.Zero(t, s.velocity.X[3])
}

// No particle is drawn outside the region. In a wind no particle stays where nothing moves.
func TestParticlesRestart(t *testing.T) {
	p := compile(t, "a = select_lt position.x, 0, (50, 0, 3), 0\noutput = add output, a")
	v := Around(p, XZ)
	s := newSwarm(p, v, 60, 0.01)
	for range 150 {
		s.advance()
		for i, x := range s.position.X {
			require.LessOrEqual(t, x, v.Max[0])
			require.GreaterOrEqual(t, x, v.Min[0])
			require.Positive(t, s.life[i])
			if x > 1 {
				require.LessOrEqual(t, s.traces[i].count, idleSteps+windTrace+1)
			}
		}
	}
}

// P1: equal views have equal swarms.
func TestSwarmsAreSeeded(t *testing.T) {
	p := compile(t, whirl)
	v := Around(p, XZ)
	a, b := newSwarm(p, v, 30, 0.02), newSwarm(p, v, 30, 0.02)
	for range 60 {
		a.advance()
		b.advance()
	}
	require.Equal(t, a.position, b.position)
	require.Equal(t, a.life, b.life)
	require.NotEqual(t, a.position.X[0], a.position.X[1])
}
