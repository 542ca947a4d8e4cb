package replication

import (
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// border is whom a viewer has to look at again when it walks a little. A look all
// around finds, beside those within the enter radius, who is so close to one of the
// two radii that he can come across it while the viewer stays within a margin of
// where it looked from. As long as it does, everybody else who does not change stays
// a member, or none; and who changes is looked at anyway.
type boundary struct {
	origin    world.Vec3 // where the viewer looked all around
	margin    float32    // metres; 0: nobody is listed
	mayEnter  []uint32   // slots of those who may enter
	mayLeave  []uint32   // slots of members who may leave
	maxListed int        // in both lists, before it is time to look all around again
}

const (
	// marginShare: the margin is this part of the gap between the radii. Who is
	// within the enter radius and both margins that the viewer may have walked there
	// and back is then not beyond the leave radius.
	marginDivisor = 4
	// fewShare: margins are for worlds of which at most one slot in so many has
	// changed. Where more has, each who changed close to a radius is listed time and
	// again, and most are to be looked at anyway.
	fewChangedDivisor = 8
	// leastListed is how many may be listed in any case.
	minListed = 64
)

// holds says whether all are listed who may come or go at a centre, besides those
// who have changed, be they few or not.
func (b *boundary) valid(at world.Vec3, few bool) bool {
	if b.margin == 0 {
		return at == b.origin
	}
	d := at.Sub(b.origin)
	limit := float32(b.margin * 0.99) // less by more than rounding
	return few && d.Dot(d) < float32(limit*limit) && len(b.mayEnter)+len(b.mayLeave) <= b.maxListed
}

// begin is for a look all around.
func (b *boundary) reset(from world.Vec3, margin float32) {
	*b = boundary{origin: from, margin: margin, mayEnter: b.mayEnter[:0], mayLeave: b.mayLeave[:0]}
}

// end is for its end. Those who are listed later have changed, time and again
// perhaps, and are not looked for in the lists.
func (b *boundary) seal() { b.maxListed = 2*(len(b.mayEnter)+len(b.mayLeave)) + minListed }

// margin is how far the viewer may walk after a look all around at a centre: not at
// all where many change, or anything but places says who is in view, or it walks so
// far between two snapshots that it would look all around in every other one.
func (v *Viewer) boundaryMargin(at world.Vec3, few bool) float32 {
	c := &v.replicator.config
	margin := (c.LeaveRadius - c.EnterRadius) / marginDivisor
	if d := at.Sub(v.center); !few || !v.onlyPositionsMatter() || !(4*d.Dot(d) <= margin*margin) { // margin is NaN where both radii are infinite
		return 0
	}
	return margin
}

// cross finds who has come across a radius without having changed, since the viewer
// walked: who comes in is added to the sweep, who goes out leaves.
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
			continue // who left already
		}
		if h := v.handles[*rowIndex]; h == r.frame.summaries[slot].handle && !v.Owns(h) {
			v.leave(slot, rowIndex, wire.ReasonLeftInterest)
		}
	}
}

// enters says whether somebody whom a look found is within the enter radius. Who is
// not may be soon, and is listed.
func (v *Viewer) checkEnterRadius(slot uint32) bool {
	b := v.replicator.grid.body(slot)
	if b == nil || b.distance2(v.center) <= square(v.replicator.config.EnterRadius) {
		return b != nil
	}
	v.boundary.mayEnter = append(v.boundary.mayEnter, slot)
	return false
}
