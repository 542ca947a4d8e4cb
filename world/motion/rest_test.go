package motion

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Between RestSpeed and twice RestSpeed the rest timer stands still.
func TestRestHasHysteresis(t *testing.T) {
	s, b := testStepper(BoundsClamp), newBodies(1)
	for _, c := range []struct {
		speed float32 // as a multiple of RestSpeed
		want  uint32
	}{{0, 1}, {1, 2}, {1.01, 2}, {1.9, 2}, {0.5, 3}, {2, 3}, {2.01, 0}, {1.5, 0}, {1, 1}} {
		b.SetVelocity(0, Vec3{Z: s.RestSpeed * c.speed})
		require.False(t, s.CountRest(b, 0))
		require.Equal(t, c.want, b.Rest[0], "at %v", c.speed)
	}
	b.SetVelocity(0, Vec3{})
	for tick := range 50 {
		require.Equal(t, tick >= 28, s.CountRest(b, 0), "the timer stays at RestTicks")
	}
	require.EqualValues(t, 30, b.Rest[0])
}

// A kinematic body rests only at zero: the square of a tiny speed underflows, and a slow
// lift must not stop.
func TestKinematicBodiesRestOnlyAtZero(t *testing.T) {
	s, b := testStepper(BoundsClamp), newBodies(1)
	b.Kind[0], b.Rest[0] = 2, 7
	b.SetVelocity(0, Vec3{X: 1e-30})
	require.False(t, s.CountRest(b, 0))
	require.Zero(t, b.Rest[0])
	b.SetVelocity(0, Vec3{})
	require.False(t, s.CountRest(b, 0))
	require.EqualValues(t, 1, b.Rest[0])
}
