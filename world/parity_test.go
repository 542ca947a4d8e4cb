package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// Every handle that a world issues has an odd generation: even ones are provisional handles
// of clients (H7). This also holds after a restart from an image, and for deferred spawns.
func TestGenerationsAreOdd(t *testing.T) {
	for _, first := range []uint32{1, 77, 1<<24 + 1} {
		w, kind := worldFrom(first)
		h, restored := churn(t, w, kind), 0
		img := &world.Image{}
		w.TakeImage(img)
		again, kind := worldFrom(1)
		require.NoError(t, again.RestoreRun(img))
		require.Equal(t, uint32(1), again.Config().FirstGeneration&1)
		require.Equal(t, bulk.Stale, again.Status(h), "the entity has a handle of the new run")
		for slot := range again.Live().All() {
			require.Equal(t, uint32(1), again.Slots().Handle(slot).Generation()%2)
			restored++
		}
		require.NotZero(t, restored)
		churn(t, again, kind)
	}
	require.ErrorContains(t, must.Fail(world.New(world.Config{FirstGeneration: 2})), "must be odd")
	require.ErrorContains(t, must.Fail(bulk.NewPool[int](bulk.Options{MaxSlots: 4, FirstGeneration: 4})), "odd number")
}

func worldFrom(first uint32) (*world.World, world.KindID) {
	w := must.Get(world.New(world.Config{Seed: 5, MaxEntities: 64, FirstGeneration: first}))
	kind := must.Get(w.AddKind(world.Kind{Name: "ghost"}))
	return w, kind
}

// churn spawns and destroys entities until each used slot has had several, and returns a
// live entity.
func churn(t *testing.T, w *world.World, kind world.KindID) (last world.Entity) {
	for range 40 {
		a := must.Get(w.Spawn(kind, world.Vec3{}, world.Vec3{}))
		b := must.Get(w.DeferSpawn(kind, world.Vec3{}, world.Vec3{}, 0))
		for _, h := range []world.Entity{a, b} {
			require.True(t, h.Valid() && h.Generation()%2 == 1, "%v", h)
		}
		w.Step()
		if last != 0 {
			w.Destroy(last)
		}
		w.Destroy(b)
		last = a
	}
	for slot := range w.Live().All() {
		require.Equal(t, uint32(1), w.Slots().Handle(slot).Generation()%2)
	}
	return last
}
