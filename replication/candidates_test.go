package replication

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// TestAddWithinFindsAll compares queries with a distance test of every body, while
// bodies move in a world with height.
func TestAddWithinFindsAll(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 4))
		radius := []float32{0.5, 7, 48, 300}[seed%4]
		half := world.Vec3{X: 100, Y: 100, Z: 60}
		p := newGrid(half, radius)
		p.capture = 1
		where := map[uint32]world.Vec3{}
		at := func() world.Vec3 {
			return world.Vec3{X: (2*r.Float32() - 1) * 110, Y: r.Float32() * 100, Z: (2*r.Float32() - 1) * 70}
		}
		var s candidates
		for range 30 {
			for range 100 {
				slot := r.Uint32N(2000)
				if r.UintN(4) == 0 {
					p.removeBody(slot)
					delete(where, slot)
					continue
				}
				to := at()
				if from, ok := where[slot]; ok && r.UintN(2) == 0 {
					to = from.Add(world.Vec3{X: r.Float32() - 0.5, Y: r.Float32() - 0.5})
				}
				p.putBody(slot, to)
				where[slot] = to
			}
			p.updateHeights()
			s.reserveSlots(2000)
			requireFound(t, &p, &s, at(), radius, where)
			for _, center := range where { // a radius that ends exactly at a body
				requireFound(t, &p, &s, center.Add(world.Vec3{X: radius}), radius, where)
				break
			}
		}
	}
}

func requireFound(t *testing.T, p *grid, s *candidates, center world.Vec3, radius float32, where map[uint32]world.Vec3) {
	want := map[uint32]bool{}
	for slot, at := range where {
		if d := at.Sub(center); d.Dot(d) <= float32(radius*radius) {
			want[slot] = true
		}
		got, ok := p.positionOf(slot)
		stored := p.cells[p.refs[slot].cell-1].bodies[p.refs[slot].index]
		if !ok || got != at || stored != (gridBody{slot, at.X, at.Y, at.Z}) {
			require.Fail(t, "wrong position", "%v and %v, want %v", got, stored, at)
		}
	}
	s.addWithin(p, center, radius, 0)
	require.Equal(t, want, drained(s))
	require.Equal(t, make([]uint64, len(s.inside)), s.inside, "drain empties the candidates")
	require.Equal(t, make([]byte, len(s.touched)), s.touched)
}

// TestUpdateHeights: a cell with stale heights must not count as wholly within a
// radius.
func TestUpdateHeights(t *testing.T) {
	p := newGrid(world.Vec3{X: 50, Y: 50, Z: 50}, 10)
	p.putBody(1, world.Vec3{Y: 2})
	p.putBody(2, world.Vec3{Y: 40})
	number := p.rowOf(0)*p.columns + p.columnOf(0)
	require.Equal(t, float32(40), p.cells[number].high)
	p.removeBody(2)
	p.updateHeights()
	require.Equal(t, float32(2), p.cells[number].high)
	p.putBody(1, world.Vec3{Y: 3})
	p.updateHeights()
	require.Equal(t, float32(3), p.cells[number].low)
	require.Equal(t, float32(3), p.cells[number].high)
}

// TestNaNPosition: a body at NaN is within no radius and can be removed.
func TestNaNPosition(t *testing.T) {
	p := newGrid(world.Vec3{X: 50, Y: 50, Z: 50}, 10)
	p.capture = 1
	nan := float32(math.NaN())
	p.putBody(1, world.Vec3{X: nan})
	var s candidates
	s.reserveSlots(64)
	s.addWithin(&p, world.Vec3{}, 1000, 0)
	s.addWithin(&p, world.Vec3{X: -50, Z: -50}, 10, 0)
	require.Zero(t, s.inside[0])
	p.removeBody(1)
	must.Lack(p.positionOf(1))
}

// TestAddWithinChanged: a query for changes skips unchanged cells.
func TestAddWithinChanged(t *testing.T) {
	p := newGrid(world.Vec3{X: 100, Y: 50, Z: 100}, 10)
	var s candidates
	s.reserveSlots(64)
	found := func(capture uint64) (all uint64) {
		s.addWithin(&p, world.Vec3{}, 10, capture)
		s.drainWords(func(_ uint32, mask, _ uint64) { all = mask })
		return all
	}
	p.capture = 1
	p.putBody(1, world.Vec3{})
	p.putBody(2, world.Vec3{X: 60})
	p.putBody(3, world.Vec3{X: 6})
	require.Equal(t, uint64(1<<1|1<<3), found(0))
	require.Zero(t, found(1), "the cells did not change")
	p.capture = 2
	p.putBody(2, world.Vec3{X: 6})
	require.Equal(t, uint64(1<<2|1<<3), found(1), "came close")
	p.capture = 3
	p.putBody(2, world.Vec3{X: 60})
	require.Equal(t, uint64(1<<3), found(2), "went away")
	p.capture = 4
	p.putBody(3, world.Vec3{X: 5.9})
	require.Equal(t, uint64(1<<3), found(3), "moved a little")
}

// TestChangedBodiesFindAll compares queries of changed bodies with a distance test of each,
// in worlds of few and of many cells, and at positions outside.
func TestChangedBodiesFindAll(t *testing.T) {
	racetest.SkipSequential(t)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		radius := []float32{2, 7, 48, 900}[seed%4]
		half := world.Vec3{X: 400, Y: 100, Z: 300}
		g := newGrid(half, radius)
		var b changedBodies
		var s candidates
		for range 20 {
			var changed bulk.Bitset
			where := map[uint32]world.Vec3{}
			for range 300 {
				slot := r.Uint32N(2000)
				at := world.Vec3{X: (2*r.Float32() - 1) * 410, Y: r.Float32() * 100, Z: (2*r.Float32() - 1) * 310}
				changed.Set(slot)
				g.removeBody(slot)
				if r.UintN(8) > 0 {
					g.putBody(slot, at)
				}
			}
			for slot := range changed.All() {
				if at, ok := g.positionOf(slot); ok {
					where[slot] = at
				}
			}
			b.sortByBlock(&g, &changed)
			require.Len(t, b.bodies, len(where))
			s.reserveSlots(2000)
			for slot, at := range where {
				if slot%16 != 0 {
					continue
				}
				for _, center := range []world.Vec3{at, at.Add(world.Vec3{X: radius}), at.Add(world.Vec3{Z: -radius / 2})} {
					want := map[uint32]bool{}
					for slot, at := range where {
						if distance2(at, center) <= square(radius) {
							want[slot] = true
						}
					}
					s.addChangedWithin(&g, &b, center, radius)
					require.Equal(t, want, drained(&s))
				}
			}
		}
	}
}

// drained empties s and returns its slots.
func drained(s *candidates) map[uint32]bool {
	got := map[uint32]bool{}
	s.drainWords(func(word uint32, mask, _ uint64) {
		for slot := range bulk.Bits(word<<6, mask) {
			got[slot] = true
		}
	})
	return got
}
