package world

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Between RestSpeed and twice that, the rest timer stands still.
func TestRestHasHysteresis(t *testing.T) {
	w := sleepers(t, 1, 1)
	b := &w.bodies
	for _, c := range []struct {
		speed float32 // of RestSpeed
		want  uint32
	}{{0, 1}, {1, 2}, {1.01, 2}, {1.9, 2}, {0.5, 3}, {2, 3}, {2.01, 0}, {1.5, 0}, {1, 1}} {
		b.setVelocity(0, Vec3{Z: w.cfg.RestSpeed * c.speed})
		w.countRest(0, 30)
		require.Equal(t, c.want, b.rest[0], "at %v", c.speed)
	}
	b.setVelocity(0, Vec3{})
	for range 50 {
		w.countRest(0, 30)
	}
	require.EqualValues(t, 30, b.rest[0], "it waits for its group")
}
