package world_test

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/world"
)

// scattered returns a world of bodies of three sizes.
func scattered(t *testing.T, r *rand.Rand, half float32) *world.World {
	w, _, _, lift := newWorld(t, world.Config{
		HalfExtent: world.Vec3{X: half, Y: half, Z: half / 2}, CellMetres: half / 15, Gravity: -1,
	})
	kinds := []world.KindID{lift, rock(t, w), addKind(t, w, world.Kind{Name: "moon", Body: &world.BodyDef{Radius: half / 8}})}
	for range 300 {
		spawn(t, w, kinds[r.IntN(3)], point(r, half*1.1))
	}
	return w
}

func point(r *rand.Rand, half float32) world.Vec3 {
	return world.Vec3{X: spread(r, half), Y: half/2 + spread(r, half/2), Z: spread(r, half)}
}

// everyHit is the obvious ray: it checks every body.
func everyHit(w *world.World, from, to world.Vec3, thickness float32) []world.Hit {
	return everyHitOf(w, w.Position, from, to, thickness)
}

func everyHitOf(w *world.World, at func(world.Entity) (world.Vec3, bool), from, to world.Vec3, thickness float32) []world.Hit {
	var hits []world.Hit
	for slot := range w.Slots().Len() {
		p, ok := at(w.Slots().Handle(slot))
		kind, _ := w.KindOf(w.Slots().Handle(slot))
		if !ok {
			continue
		}
		reach := float64(w.Kinds()[kind].Body.Radius) + float64(thickness)
		// first of many points on the segment inside the sphere
		length := distance(from, to)
		nearest := max(0, min(1, dot(p, from, to)/max(length*length, 1e-30)))
		gap := distance(p, lerp(from, to, nearest))
		if gap > reach {
			continue
		}
		enter := nearest*length - math.Sqrt(reach*reach-gap*gap)
		if nearest == 1 { // past the end: use the triangle of the closest approach
			along := dot(p, from, to) / length
			enter = along - math.Sqrt(max(0, reach*reach-(distance(p, from)*distance(p, from)-along*along)))
		}
		if distance(p, from) <= reach {
			enter = 0
		}
		hits = append(hits, world.Hit{Entity: w.Slots().Handle(slot), Distance: float32(enter)})
	}
	return hits
}

func distance(a, b world.Vec3) float64 {
	return math.Hypot(math.Hypot(float64(a.X)-float64(b.X), float64(a.Y)-float64(b.Y)), float64(a.Z)-float64(b.Z))
}

func dot(p, from, to world.Vec3) float64 {
	return (float64(p.X)-float64(from.X))*(float64(to.X)-float64(from.X)) +
		(float64(p.Y)-float64(from.Y))*(float64(to.Y)-float64(from.Y)) +
		(float64(p.Z)-float64(from.Z))*(float64(to.Z)-float64(from.Z))
}

func lerp(a, b world.Vec3, t float64) world.Vec3 {
	part := func(a, b float32) float32 { return float32(float64(a) + t*(float64(b)-float64(a))) }
	return world.Vec3{X: part(a.X, b.X), Y: part(a.Y, b.Y), Z: part(a.Z, b.Z)}
}

func TestRayAgainstAllBodies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, half := range []float32{10, 300, 1e5} {
		w := scattered(t, r, half)
		found := 0
		for range 400 {
			from, to := point(r, half*1.3), point(r, half*1.3)
			switch r.IntN(6) {
			case 0:
				to.Z = from.Z
			case 1:
				to.X = from.X
			case 2:
				to = from
			}
			thickness := float32(r.IntN(3)) * half / 50
			got, want := w.AppendRay(nil, from, to, thickness), everyHit(w, from, to, thickness)
			require.True(t, slices.IsSortedFunc(got, func(a, b world.Hit) int {
				if a.Distance != b.Distance {
					return int(math.Copysign(1, float64(a.Distance-b.Distance)))
				}
				return int(a.Entity.Index()) - int(b.Entity.Index())
			}))
			distances := map[world.Entity]float32{}
			for _, hit := range got {
				distances[hit.Entity] = hit.Distance
			}
			require.Len(t, distances, len(got), "each once")
			require.Len(t, want, len(got), "%v to %v, %v wide", from, to, thickness)
			for _, hit := range want {
				require.InDelta(t, hit.Distance, distances[hit.Entity], 1e-2*float64(half)/10, "%v to %v", from, to)
			}
			found += len(got)
		}
		require.Greater(t, found, 500)
	}
}

func TestRayEdges(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	kind := rock(t, w)
	a, b := spawn(t, w, kind, world.Vec3{X: 5, Y: 9}), spawn(t, w, kind, world.Vec3{X: 2, Y: 9})
	c := spawn(t, w, kind, world.Vec3{X: 5, Y: 9})
	ray := func(from, to world.Vec3, thickness float32) []world.Hit { return w.AppendRay(nil, from, to, thickness) }
	start := world.Vec3{Y: 9}
	require.Equal(t, []world.Hit{{b, 1.5}, {a, 4.5}, {c, 4.5}}, ray(start, world.Vec3{X: 50, Y: 9}, 0))
	require.Equal(t, []world.Hit{{b, 1.5}}, ray(start, world.Vec3{X: 4.4, Y: 9}, 0), "too short for the others")
	require.Equal(t, []world.Hit{{b, 0}}, ray(world.Vec3{X: 2.2, Y: 9}, world.Vec3{X: 2.2, Y: 9}, 0), "a point inside")
	require.Equal(t, []world.Hit{{b, 0}}, ray(world.Vec3{X: 2.2, Y: 9}, world.Vec3{X: -9, Y: 9}, 0))
	require.Empty(t, ray(world.Vec3{X: 3, Y: 9}, world.Vec3{X: 3, Y: 20}, 0))
	require.Len(t, ray(world.Vec3{X: 3, Y: 9}, world.Vec3{X: 3, Y: 20}, 0.5), 1, "touches")
	nan := float32(math.NaN())
	require.Empty(t, ray(world.Vec3{X: nan}, start, 0))
	require.Empty(t, ray(start, world.Vec3{X: float32(math.Inf(1)), Y: 9}, 0))
	require.Empty(t, ray(start, world.Vec3{X: 50, Y: 9}, nan))
	require.Empty(t, ray(start, world.Vec3{X: 50, Y: 9}, -1))
	list := make([]world.Hit, 1, 8)
	require.Len(t, w.AppendRay(list, start, world.Vec3{X: 50, Y: 9}, 0), 4, "appended")
	require.Zero(t, testing.AllocsPerRun(10, func() { w.AppendRay(list, start, world.Vec3{X: 50, Y: 9}, 0) }))
}

func TestBoxAndCircleAgainstAllBodies(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	w := scattered(t, r, 100)
	collect := func(bodies iter.Seq2[world.Entity, world.Vec3]) []world.Entity {
		var all []world.Entity
		for e, p := range bodies {
			at, _ := w.Position(e)
			require.Equal(t, at, p)
			all = append(all, e)
		}
		return all
	}
	total := 0
	for range 300 {
		a, b := point(r, 130), point(r, 130)
		low := world.Vec3{X: min(a.X, b.X), Y: min(a.Y, b.Y), Z: min(a.Z, b.Z)}
		high := world.Vec3{X: max(a.X, b.X), Y: max(a.Y, b.Y), Z: max(a.Z, b.Z)}
		var inBox []world.Entity
		for slot := range w.Slots().Len() {
			p, _, _ := w.Slots().Body(slot)
			if p.X >= low.X && p.X <= high.X && p.Y >= low.Y && p.Y <= high.Y && p.Z >= low.Z && p.Z <= high.Z {
				inBox = append(inBox, w.Slots().Handle(slot))
			}
		}
		got := collect(w.WithinBox(low, high))
		require.ElementsMatch(t, inBox, got)
		total += len(got)
	}
	require.Greater(t, total, 5000)
	inf := float32(math.Inf(1))
	all := collect(w.WithinBox(world.Vec3{X: -inf, Y: -inf, Z: -inf}, world.Vec3{X: inf, Y: inf, Z: inf}))
	require.Len(t, all, 300)
	require.Empty(t, collect(w.WithinBox(world.Vec3{X: 1}, world.Vec3{})))
	require.Empty(t, collect(w.WithinBox(world.Vec3{X: float32(math.NaN())}, world.Vec3{X: inf, Y: inf, Z: inf})))
}

// A ray from the far end of a large world misses the bodies beside it and hits the others
// at the right distance.
func TestRayFromFarAway(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{HalfExtent: world.Vec3{X: 1e6, Y: 1e6, Z: 1e6}, CellMetres: 1e4, Gravity: -1})
	pin := addKind(t, w, world.Kind{Name: "pin", Body: &world.BodyDef{Radius: 0.01, Kinematic: true}})
	spawn(t, w, pin, world.Vec3{X: 9e5, Y: 1.02})
	met := spawn(t, w, pin, world.Vec3{X: 9e5, Y: 1.008})
	for _, start := range []float32{-1e6, -1e9} {
		hits := w.AppendRay(nil, world.Vec3{X: start, Y: 1}, world.Vec3{X: 1e6, Y: 1}, 0)
		require.Len(t, hits, 1, "from %v", start)
		require.Equal(t, met, hits[0].Entity)
		require.InEpsilon(t, 9e5-start, hits[0].Distance, 1e-6)
	}
}
