package world

import (
	"math"

	"github.com/worldd/worldd/world/motion"
)

// zone is what a query looks in: the points of a box that are close enough to a
// centre, with or without regard to height.
type zone struct {
	low, high Vec3
	center    Vec3
	limit     float64 // square of the largest distance
	upright   float64 // 1: distance counts height; 0: it does not
}

func everywhere() (low, high Vec3) {
	inf := float32(math.Inf(1))
	return Vec3{X: -inf, Y: -inf, Z: -inf}, Vec3{X: inf, Y: inf, Z: inf}
}

func (s *zone) has(p Vec3) bool {
	x, y, z := float64(p.X)-float64(s.center.X), float64(p.Y)-float64(s.center.Y), float64(p.Z)-float64(s.center.Z)
	y = float64(y * s.upright)
	return float64(x*x)+float64(y*y)+float64(z*z) <= s.limit &&
		p.X >= s.low.X && p.X <= s.high.X && p.Y >= s.low.Y && p.Y <= s.high.Y && p.Z >= s.low.Z && p.Z <= s.high.Z
}

// Within calls f for every body whose centre is in the sphere, its surface
// included, until f returns false. The order is a function of the positions: cell
// by cell along x, then z, and ascending by slot within a cell. f may change the
// world: an entity that f moves to a cell still to come is met again, and one that
// f spawns there is met, too. A sphere whose centre is not finite, or whose radius is
// negative or no number, is empty.
func (w *World) Within(center Vec3, radius float32, f func(Entity, Vec3) bool) {
	if motion.Finite(center) && radius >= 0 {
		w.withinRound(center, radius, 1, f)
	}
}

// WithinCircle is Within for all bodies above and below a circle on the ground:
// the height of the centre does not matter.
func (w *World) WithinCircle(center Vec3, radius float32, f func(Entity, Vec3) bool) {
	if motion.Finite(center) && radius >= 0 {
		w.withinRound(center, radius, 0, f)
	}
}

func (w *World) withinRound(center Vec3, radius float32, upright float64, f func(Entity, Vec3) bool) {
	s := zone{center: center, limit: float64(radius) * float64(radius), upright: upright}
	s.low, s.high = everywhere()
	x, z, r := float64(center.X), float64(center.Z), float64(radius)
	w.visit(w.grid.cover(x-r, x+r, z-r, z+r), &s, f)
}

// WithinBox is Within for a box with these corners, its faces included; it may be
// infinite. One whose low corner is above the high one is empty.
func (w *World) WithinBox(low, high Vec3, f func(Entity, Vec3) bool) {
	if !(low.X <= high.X && low.Y <= high.Y && low.Z <= high.Z) {
		return
	}
	s := zone{low: low, high: high, limit: math.Inf(1)}
	w.visit(w.grid.cover(float64(low.X), float64(high.X), float64(low.Z), float64(high.Z)), &s, f)
}

func (w *World) visit(cover region, s *zone, f func(Entity, Vec3) bool) {
	for z := cover.z0; z <= cover.z1; z++ {
		for x := cover.x0; x <= cover.x1; x++ {
			if !w.visitCell(z*w.grid.columns+x, s, f) {
				return
			}
		}
	}
}

func (w *World) visitCell(c int32, s *zone, f func(Entity, Vec3) bool) bool {
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
			slots, settled, recent = lowest(settled, recent)
		}
		for _, slot := range slots {
			p := w.bodies.Position(int(w.rowOf[slot]))
			if !s.has(p) {
				continue
			}
			if !f(w.pool.HandleAt(slot), p) {
				return false
			}
			if g.version != version { // f moved, spawned or stepped: go on behind the slot
				settled, recent = g.runs(c)
				settled, recent = above(slot, settled), above(slot, recent)
				version = g.version
				break
			}
		}
	}
	return true
}
