package world

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/worldd/worldd/world/motion"
)

// pastZone is the region of a query at a moment. Another zone, larger by the distance that
// bodies have moved since the moment, tests their present positions first and refers to
// this one.
type pastZone struct {
	zone
	at Moment
}

// WithinAt is like Within, but tests and yields the positions that bodies had at a moment
// (see PositionAt). It serves a blast aimed at positions that a client displayed. It yields
// live bodies only, each at most once: first bodies teleported since the moment, ascending
// by slot, then the others in the order of their present cells. The loop may change the
// world; it may miss a body that it moves. It yields nothing at a moment for which
// PositionAt returns false.
func (w *World) WithinAt(at Moment, center Vec3, radius float32) iter.Seq2[Entity, Vec3] {
	return func(yield func(Entity, Vec3) bool) {
		if !w.knows(at) || !motion.Finite(center) || !(radius >= 0) {
			return
		}
		reach := w.history.reachSince(at.Tick)
		past := pastZone{roundZone(center, float64(radius)), at}
		wide := roundZone(center, float64(radius)+reach)
		wide.past = &past
		if w.visitListed(&past, yield) {
			w.visit(w.coverRound(center, float64(radius)+reach), &wide, yield)
		}
	}
}

// WithinBoxAt is like WithinAt, for the box of WithinBox.
func (w *World) WithinBoxAt(at Moment, low, high Vec3) iter.Seq2[Entity, Vec3] {
	return func(yield func(Entity, Vec3) bool) {
		if !w.knows(at) || !(low.X <= high.X && low.Y <= high.Y && low.Z <= high.Z) {
			return
		}
		reach := float32(w.history.reachSince(at.Tick))
		margin := Vec3{X: reach, Y: reach, Z: reach}
		past := pastZone{boxZone(low, high), at}
		wide := boxZone(low.Sub(margin), high.Add(margin))
		wide.past = &past
		if w.visitListed(&past, yield) {
			w.visit(w.coverBox(wide.low, wide.high), &wide, yield)
		}
	}
}

// visitListed yields the listed (teleported) bodies in a past zone, which the grid search
// skips. It returns false if yield does.
func (w *World) visitListed(s *pastZone, yield func(Entity, Vec3) bool) bool {
	h := &w.history
	for slot, ok := h.nextListed(0, s.at.Tick); ok; slot, ok = h.nextListed(slot+1, s.at.Tick) {
		if row := w.rowOf[slot]; row != noRow {
			if p, ok := w.positionAt(int(row), s.at); ok && s.has(p) && !yield(w.tenant(slot), p) {
				return false
			}
		}
	}
	return true
}

// inPast returns the position of a slot's body at the moment of s, and whether it was in
// s; false if visitListed yields it.
func (w *World) inPast(s *pastZone, slot uint32) (Vec3, bool) {
	if w.history.isListed(slot, s.at.Tick) {
		return Vec3{}, false
	}
	p, ok := w.positionAt(int(w.rowOf[slot]), s.at)
	return p, ok && s.has(p)
}

// AppendRayAt is like AppendRay, for the positions that bodies had at a moment (see
// PositionAt): for a shot aimed at positions that a client displayed. The ray hits only
// live bodies. It hits none at a moment for which PositionAt returns false.
func (w *World) AppendRayAt(list []Hit, at Moment, from, to Vec3, thickness float32) []Hit {
	if !w.knows(at) || !isRay(from, to, thickness) {
		return list
	}
	h, first := &w.history, len(list)
	reach := h.reachSince(at.Tick)
	r, wide := newRay(from, to, float64(thickness)), newRay(from, to, float64(thickness)+reach)
	for slot, ok := h.nextListed(0, at.Tick); ok; slot, ok = h.nextListed(slot+1, at.Tick) {
		if row := w.rowOf[slot]; row != noRow {
			list = w.appendPastHit(list, &r, int(row), at)
		}
	}
	w.visitRay(&wide, func(c int32) {
		for _, slot := range w.grid.slots(c) {
			row := int(w.rowOf[slot])
			if _, near := wide.intersect(w.bodies.Position(row), w.radiusOf(row)); near && !h.isListed(slot, at.Tick) {
				list = w.appendPastHit(list, &r, row, at)
			}
		}
	})
	sortHits(list[first:])
	return list
}

func (w *World) appendPastHit(list []Hit, r *ray, row int, at Moment) []Hit {
	if p, ok := w.positionAt(row, at); ok {
		if d, ok := r.intersect(p, w.radiusOf(row)); ok {
			list = append(list, Hit{w.tenant(w.bodies.slot[row]), d})
		}
	}
	return list
}

func (w *World) radiusOf(row int) float64 {
	return float64(w.motion.Kinds[w.bodies.Kind[row]].Radius)
}

func isRay(from, to Vec3, thickness float32) bool {
	return motion.Finite(from) && motion.Finite(to) && thickness >= 0 && !math.IsInf(float64(thickness), 1)
}

func sortHits(list []Hit) {
	slices.SortFunc(list, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Entity.Index(), b.Entity.Index()))
	})
}
