package world

import (
	"iter"
	"math"

	"github.com/worldd/worldd/world/motion"
)

// zone is the region of a query: the points of a box that are within a distance of a
// centre.
type zone struct {
	low, high Vec3
	center    Vec3
	limit     float64   // square of the largest distance
	past      *pastZone // not nil: the query is at a moment
	began     loopStart
}

func everywhere() (low, high Vec3) {
	inf := float32(math.Inf(1))
	return Vec3{X: -inf, Y: -inf, Z: -inf}, Vec3{X: inf, Y: inf, Z: inf}
}

func (s *zone) has(p Vec3) bool {
	x, y, z := float64(p.X)-float64(s.center.X), float64(p.Y)-float64(s.center.Y), float64(p.Z)-float64(s.center.Z)
	return float64(x*x)+float64(y*y)+float64(z*z) <= s.limit &&
		p.X >= s.low.X && p.X <= s.high.X && p.Y >= s.low.Y && p.Y <= s.high.Y && p.Z >= s.low.Z && p.Z <= s.high.Z
}

// Within yields the bodies whose centre is in the sphere, its surface included, and their
// positions. The order is a function of the positions: cell by cell along x, then z, and
// ascending by slot within a cell. The loop may change the world: it yields an entity twice
// if the entity moves to a later cell, and never yields an entity that it spawns. A sphere
// whose centre is not finite, or whose radius is negative or NaN, is empty. Ranging over
// the result does not allocate.
func (w *World) Within(center Vec3, radius float32) iter.Seq2[Entity, Vec3] {
	return func(yield func(Entity, Vec3) bool) { w.withinRound(center, radius, yield) }
}

// WithinBox is like Within, for a box with these corners, its faces included. The box may
// be infinite. A box whose low corner is above the high one is empty.
func (w *World) WithinBox(low, high Vec3) iter.Seq2[Entity, Vec3] {
	return func(yield func(Entity, Vec3) bool) { w.withinBox(low, high, yield) }
}

func (w *World) withinRound(center Vec3, radius float32, yield func(Entity, Vec3) bool) {
	if !motion.Finite(center) || !(radius >= 0) {
		return
	}
	s := roundZone(center, float64(radius))
	w.visit(w.coverRound(center, float64(radius)), &s, yield)
}

func roundZone(center Vec3, radius float64) zone {
	s := zone{center: center, limit: float64(radius * radius)}
	s.low, s.high = everywhere()
	return s
}

func (w *World) coverRound(center Vec3, radius float64) region {
	x, z := float64(center.X), float64(center.Z)
	return w.grid.cover(x-radius, x+radius, z-radius, z+radius)
}

func (w *World) withinBox(low, high Vec3, yield func(Entity, Vec3) bool) {
	if !(low.X <= high.X && low.Y <= high.Y && low.Z <= high.Z) {
		return
	}
	s := boxZone(low, high)
	w.visit(w.coverBox(low, high), &s, yield)
}

func boxZone(low, high Vec3) zone { return zone{low: low, high: high, limit: math.Inf(1)} }

func (w *World) coverBox(low, high Vec3) region {
	return w.grid.cover(float64(low.X), float64(high.X), float64(low.Z), float64(high.Z))
}

func (w *World) visit(cover region, s *zone, yield func(Entity, Vec3) bool) {
	s.began = w.beginLoop()
	for z := cover.z0; z <= cover.z1; z++ {
		for x := cover.x0; x <= cover.x1; x++ {
			if !w.visitCell(z*w.grid.columns+x, s, yield) {
				return
			}
		}
	}
}

func (w *World) visitCell(c int32, s *zone, yield func(Entity, Vec3) bool) bool {
	g := &w.grid
	if g.cells[c].count == 0 {
		return true
	}
	settled, recent := g.runs(c)
	version := g.version
	for len(settled)+len(recent) != 0 {
		slots := settled
		if len(recent) == 0 {
			settled = nil
		} else {
			slots, settled, recent = takeLowest(settled, recent)
		}
		for _, slot := range slots {
			p := w.bodies.Position(int(w.rowOf[slot]))
			if !s.has(p) || w.isSpawnedSince(s.began, slot) {
				continue
			}
			if s.past != nil {
				var ok bool
				if p, ok = w.inPast(s.past, slot); !ok {
					continue
				}
			}
			if !yield(w.tenant(slot), p) {
				return false
			}
			if g.version != version { // the loop moved, spawned or stepped: continue after the slot
				settled, recent = g.runs(c)
				settled, recent = slotsAbove(slot, settled), slotsAbove(slot, recent)
				version = g.version
				break
			}
		}
	}
	return true
}
