package replication

import "github.com/worldd/worldd/world"

// boundary caches the entities near a viewer's two radii, as a Verlet list does. A full
// query also lists the entities that could cross a radius while the viewer stays within
// margin of origin. Until it leaves that circle, only listed and changed entities can
// enter or leave.
type boundary struct {
	origin    world.Vec3 // centre of the last full query
	margin    float32    // metres; 0: no entity is listed
	mayEnter  []gridBody // entities close to the enter radius
	mayLeave  []gridBody // members close to the leave radius
	maxListed int        // number of listed entities from which on a full query is cheaper
	dropped   int        // listed entities that left
}

const (
	// marginDivisor sets the margin to this share of the gap between the radii. An entity
	// that enters then cannot leave before the next full query: the viewer moves at most
	// two margins away from it.
	marginDivisor = 4
	// fewChangedDivisor is the inverse of the largest share of changed slots at which a
	// margin is used. With more changes, entities near a radius would be listed repeatedly,
	// and most entities would need a check anyway.
	fewChangedDivisor = 4
	// minListed is added to the number of entities that may be listed.
	minListed = 64
)

// coversCentre reports whether the lists hold every unchanged entity that could enter or
// leave around centre at. few tells whether few entities have changed.
func (b *boundary) coversCentre(at world.Vec3, few bool) bool {
	if b.margin == 0 {
		return at == b.origin
	}
	d := at.Sub(b.origin)
	limit := float32(b.margin * 0.99) // 1 % covers rounding
	return few && d.Dot(d) < float32(limit*limit) && len(b.mayEnter)+len(b.mayLeave)+b.dropped <= b.maxListed
}

// beginQuery begins a full query.
func (b *boundary) beginQuery(from world.Vec3, margin float32) {
	*b = boundary{origin: from, margin: margin, mayEnter: b.mayEnter[:0], mayLeave: b.mayLeave[:0]}
}

// endQuery ends a full query and bounds the lists. Later an entity is listed each time it
// changes, even if it is listed already.
func (b *boundary) endQuery() { b.maxListed = 2*(len(b.mayEnter)+len(b.mayLeave)) + minListed }

// listNewcomer lists an entity that may enter.
func (b *boundary) listNewcomer(body gridBody) { b.mayEnter = append(b.mayEnter, body) }

// listLeaver lists a member that may leave.
func (b *boundary) listLeaver(body gridBody) { b.mayLeave = append(b.mayLeave, body) }

// keepLeavers reduces the list of members that may leave to kept.
func (b *boundary) keepLeavers(kept []gridBody) {
	b.dropped += len(b.mayLeave) - len(kept)
	b.mayLeave = kept
}

// boundaryMargin returns how far the viewer may move after a full query at a centre. It is
// 0 if many entities change, if rules besides positions decide membership, or if the viewer
// is so fast that every other snapshot would need a full query.
func (in *interest) boundaryMargin(c *Config, at world.Vec3, few bool) float32 {
	margin := (c.LeaveRadius - c.EnterRadius) / marginDivisor
	if d := at.Sub(in.center); !few || !in.onlyPositionsMatter(c) || !(4*d.Dot(d) <= margin*margin) { // the margin is NaN if both radii are infinite
		return 0
	}
	return margin
}

// addCrossing adds the listed entities that are within the enter radius because the viewer
// moved. It compares the positions in the list first. A changed entity was listed again
// with its new position, or is too far from the radius to cross it.
func (in *interest) addCrossing(r *Replicator, s *candidates) {
	enter := square(r.config.EnterRadius)
	for i := range in.boundary.mayEnter {
		b := &in.boundary.mayEnter[i]
		if b.distance2(in.center) > enter {
			continue
		}
		if at, ok := r.grid.positionOf(b.slot); ok && distance2(at, in.center) <= enter {
			s.addConfirmed(b.slot>>6, 1<<(b.slot&63))
		}
	}
}

// isBeyond reports whether the body of a slot is beyond a squared radius.
func (in *interest) isBeyond(g *grid, slot uint32, limit float32) bool {
	at, ok := g.positionOf(slot)
	return ok && distance2(at, in.center) > limit
}

// dropCrossed removes from the list the members that are beyond the leave radius because
// the viewer moved, and appends to slots the members that must leave. It keeps entities
// that the viewer owns. A removed entity can become a member again only if it changes or
// after the next full query.
func (in *interest) dropCrossed(r *Replicator, m *members, slots []uint32) []uint32 {
	b, limit := &in.boundary, square(r.config.LeaveRadius)
	kept := b.mayLeave[:0]
	for i := range b.mayLeave {
		listed := &b.mayLeave[i]
		if listed.distance2(in.center) <= limit || !in.isBeyond(&r.grid, listed.slot, limit) {
			kept = append(kept, *listed)
			continue
		}
		switch h := m.handleIn(listed.slot); {
		case h == 0: // it left already
		case h != r.frame.summaries[listed.slot].handle: // updateMembers destroys it
		case in.owns(h):
			kept = append(kept, *listed)
		default:
			slots = append(slots, listed.slot)
		}
	}
	b.keepLeavers(kept)
	return slots
}

// enterOrList reports whether a candidate is within the enter radius and so enters. It
// lists a candidate that is not.
func (in *interest) enterOrList(r *Replicator, slot uint32) bool {
	at, ok := r.grid.positionOf(slot)
	if !ok || distance2(at, in.center) <= square(r.config.EnterRadius) {
		return ok
	}
	in.boundary.listNewcomer(gridBody{slot, at.X, at.Y, at.Z})
	return false
}
