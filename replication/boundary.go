package replication

import (
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// boundary caches the entities near a viewer's two radii, as a Verlet list does. A full
// query also lists the entities that could cross a radius while the viewer stays within
// margin of origin. Until it leaves that circle, only listed and changed entities can
// enter or leave.
type boundary struct {
	origin    world.Vec3 // centre of the last full query
	margin    float32    // metres; 0: no entity is listed
	mayEnter  []uint32   // slots of entities close to the enter radius
	mayLeave  []uint32   // slots of members close to the leave radius
	maxListed int        // length of both lists at which a full query is cheaper
}

const (
	// marginDivisor makes the margin a part of the gap between the radii: an entity
	// within the enter radius plus two margins, the farthest that the viewer can move
	// there and back, is not yet beyond the leave radius.
	marginDivisor = 4
	// fewChangedDivisor: margins are used while at most one slot in so many has
	// changed. With more changes, entities near a radius would be listed repeatedly,
	// and most need a check in any case.
	fewChangedDivisor = 8
	// minListed is the number of entities that may be listed in any case.
	minListed = 64
)

// valid reports whether every unchanged entity that could enter or leave at a centre is
// listed. few tells whether few entities have changed.
func (b *boundary) valid(at world.Vec3, few bool) bool {
	if b.margin == 0 {
		return at == b.origin
	}
	d := at.Sub(b.origin)
	limit := float32(b.margin * 0.99) // a margin for rounding
	return few && d.Dot(d) < float32(limit*limit) && len(b.mayEnter)+len(b.mayLeave) <= b.maxListed
}

// reset begins a full query.
func (b *boundary) reset(from world.Vec3, margin float32) {
	*b = boundary{origin: from, margin: margin, mayEnter: b.mayEnter[:0], mayLeave: b.mayLeave[:0]}
}

// seal ends a full query. Entities listed later have changed, perhaps repeatedly, and
// are not searched for in the lists.
func (b *boundary) seal() { b.maxListed = 2*(len(b.mayEnter)+len(b.mayLeave)) + minListed }

// boundaryMargin returns how far the viewer may move after a full query at a centre. It
// is 0 where many entities change, where more than positions decides, and where the
// viewer is so fast that every other snapshot would need a full query.
func (v *Viewer) boundaryMargin(at world.Vec3, few bool) float32 {
	c := &v.replicator.config
	margin := (c.LeaveRadius - c.EnterRadius) / marginDivisor
	if d := at.Sub(v.center); !few || !v.onlyPositionsMatter() || !(4*d.Dot(d) <= margin*margin) { // the margin is NaN if both radii are infinite
		return 0
	}
	return margin
}

// crossBoundary handles the listed entities that crossed a radius because the viewer
// moved: those inside become candidates, those outside leave.
func (v *Viewer) crossBoundary(s *candidates) {
	r := v.replicator
	enter, leave := square(r.config.EnterRadius), square(r.config.LeaveRadius)
	for _, slot := range v.boundary.mayEnter {
		if b := r.grid.body(slot); b != nil && b.distance2(v.center) <= enter {
			s.add(slot>>6, 1<<(slot&63))
		}
	}
	for _, slot := range v.boundary.mayLeave {
		if b := r.grid.body(slot); b == nil || b.distance2(v.center) <= leave {
			continue
		}
		rowIndex := v.members.rowRef(slot)
		if rowIndex == nil || *rowIndex == noRow {
			continue // left already
		}
		if h := v.handles[*rowIndex]; h == r.frame.summaries[slot].handle && !v.Owns(h) {
			v.leave(slot, rowIndex, wire.LeftInterest)
		}
	}
}

// checkEnterRadius reports whether a candidate is within the enter radius, and lists it
// if it is not.
func (v *Viewer) checkEnterRadius(slot uint32) bool {
	b := v.replicator.grid.body(slot)
	if b == nil || b.distance2(v.center) <= square(v.replicator.config.EnterRadius) {
		return b != nil
	}
	v.boundary.mayEnter = append(v.boundary.mayEnter, slot)
	return false
}
