package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// A trace sees each system with its deferred changes, and the motion between both phases.
func TestTraceSystems(t *testing.T) {
	w := must.Get(world.New(world.Config{TickHz: 30, Seed: 1, MaxEntities: 4, HalfExtent: world.Vec3{X: 40, Y: 10, Z: 40}}))
	kind := must.Get(w.AddKind(world.Kind{Name: "ball", Body: &world.BodyDef{Mass: 1, Radius: 0.5}}))
	must.Get(w.Spawn(kind, world.Vec3{Y: 3}, world.Vec3{X: 1}))
	require.NoError(t, w.AddSystem(world.After, "draw", func(w *world.World) { w.Rand().Uint64() }))
	require.NoError(t, w.AddSystem(world.Before, "idle", func(*world.World) {}))
	require.NoError(t, w.AddSystem(world.Before, "spawn", func(w *world.World) {
		must.Get(w.DeferSpawn(kind, world.Vec3{Y: 5}, world.Vec3{}, 0))
	}))

	var order []string
	hashes, before := []uint64{}, w.StateHash()
	w.TraceSystems(func(system string) {
		order = append(order, system)
		hashes = append(hashes, w.StateHash())
	})
	w.Step()
	require.Equal(t, []string{"idle", "spawn", "", "draw"}, order)
	require.NotEqual(t, before, hashes[0], "the tick has begun")
	require.NotEqual(t, hashes[0], hashes[1], "a deferred spawn belongs to its system")
	require.NotEqual(t, hashes[1], hashes[2], "the body has moved")
	require.NotEqual(t, hashes[2], hashes[3], "the generator has been used")
	require.Equal(t, w.StateHash(), hashes[3])

	w.TraceSystems(nil)
	w.Step()
	require.Len(t, order, 4)
}
