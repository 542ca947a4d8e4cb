package world_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func found(w *world.World, center world.Vec3, radius float32) []world.Entity {
	var all []world.Entity
	for e := range w.Within(center, radius) {
		all = append(all, e)
	}
	return all
}

func TestWithinOrderIsAFunctionOfState(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a, crate, _, _ := newWorld(t, world.Config{})
	b, _, _, _ := newWorld(t, world.Config{})
	places := make([]world.Vec3, 300)
	for i := range places {
		places[i] = world.Vec3{X: r.Float32()*100 - 50, Y: r.Float32() * 20, Z: r.Float32()*100 - 50}
		spawn(t, a, crate, places[i])
		spawn(t, b, crate, world.Vec3{X: r.Float32() * 500})
	}
	for _, i := range r.Perm(len(places)) { // b reaches the same state differently
		b.SetPosition(b.Slots().Handle(uint32(i)), world.Vec3{Z: 30})
		b.SetPosition(b.Slots().Handle(uint32(i)), places[i])
	}
	for range 50 {
		center := world.Vec3{X: r.Float32()*100 - 50, Z: r.Float32()*100 - 50}
		radius := r.Float32() * 40
		require.Equal(t, found(a, center, radius), found(b, center, radius))
	}
	require.NoError(t, b.CheckInvariants())
	require.Equal(t, a.StateHash(), b.StateHash())
}

func TestWithinEdges(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{HalfExtent: world.Vec3{X: 20, Y: 20, Z: 20}})
	corner := spawn(t, w, crate, world.Vec3{X: 20, Y: 20, Z: -20})
	middle := spawn(t, w, crate, world.Vec3{})
	spawn(t, w, ghost, world.Vec3{})
	require.Equal(t, []world.Entity{corner, middle}, found(w, world.Vec3{}, math.MaxFloat32))
	require.Equal(t, []world.Entity{corner, middle}, found(w, world.Vec3{}, float32(math.Inf(1))))
	require.Equal(t, []world.Entity{middle}, found(w, world.Vec3{}, 0), "the surface belongs to the sphere")
	require.Equal(t, []world.Entity{middle}, found(w, world.Vec3{Y: 3}, 3))
	require.Equal(t, []world.Entity{corner}, found(w, world.Vec3{X: 1e6, Y: 20, Z: -20}, 1e6-20))
	require.Empty(t, found(w, world.Vec3{}, -1))
	require.Empty(t, found(w, world.Vec3{}, float32(math.NaN())))
	require.Empty(t, found(w, world.Vec3{X: float32(math.NaN())}, 5))
	n := 0
	for range w.Within(world.Vec3{}, 1000) {
		n++
		break
	}
	require.Equal(t, 1, n, "break ends the search")
}

func TestWithinSurvivesChanges(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	for range 40 {
		spawn(t, w, crate, world.Vec3{X: 100, Y: 1})
	}
	var seen []uint32
	for e := range w.Within(world.Vec3{X: 100}, 4) {
		seen = append(seen, e.Index())
		w.SetPosition(e, world.Vec3{X: -100})
		w.Destroy(e)
		if len(seen) == 1 {
			spawn(t, w, crate, world.Vec3{X: 100, Y: 1})
		}
	}
	require.Len(t, seen, 40, "not the one that it spawned")
	for i, slot := range seen {
		require.EqualValues(t, i, slot)
	}
	w.Step()
	require.Equal(t, 1, w.Stats().Entities)
	require.NoError(t, w.CheckInvariants())
}

func TestWithinAllocatesNothing(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	for x := range 30 {
		spawn(t, w, crate, world.Vec3{X: float32(x)})
	}
	n := 0
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for e, at := range w.Within(world.Vec3{X: 5}, 2) {
			if p, ok := w.Position(e); ok && p == at {
				n++
			}
		}
		for range w.WithinBox(world.Vec3{X: 3}, world.Vec3{X: 7, Y: 1}) {
			n++
		}
	}))
	require.Equal(t, 11*(5+5), n)
}

func TestGridFollowsBodies(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	e := must.Get(w.Spawn(crate, world.Vec3{X: -500, Y: 50}, world.Vec3{X: 100}))
	for range 300 {
		w.Step()
		p, _ := w.Position(e)
		require.Equal(t, []world.Entity{e}, found(w, p, 0))
	}
	require.NoError(t, w.CheckInvariants())
}
