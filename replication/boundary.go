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
	mayEnter  []gridBody // entities close to the enter radius
	mayLeave  []gridBody // members close to the leave radius
	maxListed int        // entities listed since then at which a full query is cheaper
	dropped   int        // listed entities that left
}

const (
	// marginDivisor makes the margin a part of the gap between the radii: an entity
	// within the enter radius plus two margins, the farthest that the viewer can move
	// there and back, is not yet beyond the leave radius.
	marginDivisor = 4
	// fewChangedDivisor: margins are used while at most 1/fewChangedDivisor of the slots has
	// changed. With more changes, entities near a radius would be listed repeatedly,
	// and most need a check in any case.
	fewChangedDivisor = 4
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
	return few && d.Dot(d) < float32(limit*limit) && len(b.mayEnter)+len(b.mayLeave)+b.dropped <= b.maxListed
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
// moved: those inside become candidates, those outside leave. It compares the positions in the
// lists first. One that has changed was listed again, or is too far from the radius to cross it.
func (v *Viewer) crossBoundary(s *candidates) {
	r := v.replicator
	enter, leave := square(r.config.EnterRadius), square(r.config.LeaveRadius)
	for i := range v.boundary.mayEnter {
		b := &v.boundary.mayEnter[i]
		if b.distance2(v.center) > enter {
			continue
		}
		if at, ok := r.grid.position(b.slot); ok && distance2(at, v.center) <= enter {
			s.add(b.slot>>6, 1<<(b.slot&63))
		}
	}
	kept := v.boundary.mayLeave[:0]
	for i := range v.boundary.mayLeave {
		b := &v.boundary.mayLeave[i]
		if b.distance2(v.center) <= leave || !v.leaveListed(b.slot, leave) {
			kept = append(kept, *b)
		}
	}
	v.boundary.dropped += len(v.boundary.mayLeave) - len(kept)
	v.boundary.mayLeave = kept
}

// leaveListed makes the entity in a slot leave if it is beyond a squared radius, unless the
// viewer owns it, and reports whether it is no longer a member. To become one again while the
// boundary is valid, it must change.
func (v *Viewer) leaveListed(slot uint32, limit float32) bool {
	if at, ok := v.replicator.grid.position(slot); !ok || distance2(at, v.center) <= limit {
		return false
	}
	rowIndex := v.members.rowRef(slot)
	if rowIndex == nil || *rowIndex == noRow {
		return true // left already
	}
	h := v.members.handles[*rowIndex]
	if h != v.replicator.frame.summaries[slot].handle {
		return true // updateMembers destroys it
	}
	if v.Owns(h) {
		return false
	}
	v.leave(slot, rowIndex, wire.LeftInterest)
	return true
}

// checkEnterRadius reports whether a candidate is within the enter radius, and lists it
// if it is not.
func (v *Viewer) checkEnterRadius(slot uint32) bool {
	at, ok := v.replicator.grid.position(slot)
	if !ok || distance2(at, v.center) <= square(v.replicator.config.EnterRadius) {
		return ok
	}
	v.boundary.mayEnter = append(v.boundary.mayEnter, gridBody{slot, at.X, at.Y, at.Z})
	return false
}
