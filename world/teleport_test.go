package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/world"
)

// A move that is longer than MaxSpeed allows in a tick is a teleport, by whatever moves the body; a shorter one is if
// the game says so. A teleport counts for the step in which it happens or which follows it.
func TestTeleports(t *testing.T) {
	const tickHz = 60
	stride := float32(world.MaxSpeed) / tickHz
	for _, c := range []struct {
		name     string
		distance float32
		want     bool
	}{{"short", stride, false}, {"long", 1.02 * stride, true}} {
		t.Run(c.name, func(t *testing.T) {
			w, _, _, _ := newWorld(t, world.Config{TickHz: tickHz})
			kind := addKind(t, w, world.Kind{Name: "drum", Body: &world.BodyDef{Radius: 0.5}})
			other, e := spawn(t, w, kind, world.Vec3{X: -50, Y: 5}), spawn(t, w, kind, world.Vec3{Y: 5})
			w.Step()
			require.Empty(t, w.Slots().AppendTeleported(nil), "a spawn is none")
			at := world.Vec3{X: c.distance, Y: 5}
			require.True(t, w.SetPosition(e, world.Vec3{Y: 5}))
			require.True(t, w.SetPosition(e, at))
			w.Step()
			require.Equal(t, c.want, len(w.Slots().AppendTeleported(nil)) == 1)
			w.Step()
			require.Empty(t, w.Slots().AppendTeleported(nil))

			require.True(t, w.MarkTeleported(other))
			w.Step()
			require.Equal(t, []uint32{other.Index()}, w.Slots().AppendTeleported(nil))
			w.Destroy(other)
			w.Step()
			require.False(t, w.MarkTeleported(other))

			require.NoError(t, w.SetMover(func(_ *world.World, bodies []world.MovingBody) {
				for i := range bodies {
					bodies[i].Position.X -= c.distance
				}
			}))
			w.Step()
			require.Equal(t, c.want, len(w.Slots().AppendTeleported(nil)) == 1, "by a mover")
		})
	}
}
