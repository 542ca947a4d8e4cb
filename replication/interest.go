package replication

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// interest decides which entities a client has in view: entities near its view entity,
// entities that it owns, and entities that the game's rules add, without those that the
// rules hide.
type interest struct {
	focus       bulk.Handle // entity that the client predicts; owned too
	viewpoint   bulk.Handle // entity from which the client views the world; 0: the focus
	center      world.Vec3  // newest position of the view entity
	owned       ownedSet
	filter      Filter
	fullQuery   bool // the next query must examine all entities: it is the first query, or focus, viewpoint, owned or filter changed
	boundary    boundary
	queue       []queuedEnter // newcomers that the budget has not admitted, ascending by slot
	lastCapture uint64        // capture of the last snapshot
}

// queuedEnter is an entity that waits to enter.
type queuedEnter struct {
	handle bulk.Handle
	since  uint32
}

// interestQuery says which entities one snapshot compares with the interest set: all that
// may be in view or, if incremental, the changed ones only. A nil set holds every slot.
type interestQuery struct {
	changed     *bulk.Bitset // slots that changed since the viewer's last snapshot
	replaced    *bulk.Bitset // the changed slots that have another tenant or none
	owing       *bulk.Bitset // slots whose newest state the client may be owed
	incremental bool
}

// newInterest returns the interest of a client with this focus that has had no snapshot
// yet.
func newInterest(focus bulk.Handle, captures uint64) interest {
	return interest{focus: focus, lastCapture: captures, fullQuery: true}
}

// restarted returns the set of a client that has lost its replica: empty, with the same focus, viewpoint, owned entities and filter.
func (in *interest) restarted(capture uint64) interest {
	next := newInterest(in.focus, capture)
	next.viewpoint, next.center, next.owned, next.filter = in.viewpoint, in.center, in.owned, in.filter
	return next
}

// setFocus sets the predicted entity. Without a viewpoint it is also the view entity.
func (in *interest) setFocus(h bulk.Handle) { in.focus, in.fullQuery = h, true }

// setViewpoint sets the entity from which the client views the world; 0 is the focus.
func (in *interest) setViewpoint(h bulk.Handle) { in.viewpoint, in.fullQuery = h, true }

// addOwned adds the live entity h to the owned set. The next query sees it, whether incremental or not.
func (in *interest) addOwned(h bulk.Handle) { in.owned.add(h) }

// removeOwned removes h from the owned set.
func (in *interest) removeOwned(h bulk.Handle) {
	in.owned.remove(h)
	in.fullQuery = true
}

// owns reports whether the viewer owns h.
func (in *interest) owns(h bulk.Handle) bool {
	return h == in.focus || in.owned.has(h)
}

// viewEntity returns the entity from which the viewer views the world.
func (in *interest) viewEntity() bulk.Handle {
	if in.viewpoint != 0 {
		return in.viewpoint
	}
	return in.focus
}

// beginQuery moves the centre and begins the query of a snapshot. simulates tells whether
// the client computes clean bodies and is owed fewer rows.
func (in *interest) beginQuery(r *Replicator, simulates bool) (q interestQuery) {
	at, since := in.center, in.lastCapture
	if t := r.frame.tenantOf(in.viewEntity()); t != nil && t.hasBody {
		at = t.position
	}
	q.changed, q.replaced, q.owing = r.changes.changedSince(since)
	in.owned.dropDead(r.world, q.replaced)
	if !simulates {
		q.owing = q.changed
	}
	few := r.changes.areFew(q.changed, since, len(r.frame.summaries))
	q.incremental = q.changed != nil && in.canUpdateIncrementally(&r.config) && in.boundary.coversCentre(at, few)
	if !q.incremental {
		in.boundary.beginQuery(at, in.boundaryMargin(&r.config, at, few))
	}
	in.center, in.fullQuery, in.lastCapture = at, false, r.changes.captures()
	return q
}

// endQuery ends a query after its candidates were collected and compared.
func (in *interest) endQuery(q *interestQuery) {
	if !q.incremental {
		in.boundary.endQuery()
	}
}

// collectCandidates collects the entities that may enter or stay in view. since is the
// capture of the last snapshot.
func (in *interest) collectCandidates(r *Replicator, s *candidates, q *interestQuery, since uint64) {
	s.reserveSlots(len(r.frame.tenants))
	radius, margin := r.config.EnterRadius, in.boundary.margin
	switch {
	case !q.incremental:
		s.addWithin(&r.grid, in.center, radius+margin, 0)
	case margin == 0:
		if q.changed.Any() {
			s.addWithin(&r.grid, in.center, radius, since)
		}
	default:
		s.addChangedWithin(&r.grid, r.changes.bodiesSince(&r.grid, q.changed, since), in.center, radius+2*margin)
		in.addCrossing(r, s)
	}
	in.applyRules(r, s)
}

// canUpdateIncrementally reports whether only changed entities can enter or leave while
// the viewer's boundary is valid.
func (in *interest) canUpdateIncrementally(c *Config) bool {
	return !in.fullQuery && len(in.queue) == 0 && in.onlyPositionsMatter(c)
}

// onlyPositionsMatter reports whether positions alone decide which entities are in view.
// The game's sets can change without notice.
func (in *interest) onlyPositionsMatter(c *Config) bool {
	return !in.hasRules(c) && len(in.filter.Also) == 0 && !c.Always.Valid()
}

// seesBeyondRadius reports whether entities beyond the leave radius may be in view: the
// focus, owned entities, or entities by the game's rules.
func (in *interest) seesBeyondRadius(r *Replicator) bool {
	focusIsAway := in.viewEntity() != in.focus && r.frame.tenantOf(in.focus) != nil
	return focusIsAway || in.owned.slots.size > 0 || !in.onlyPositionsMatter(&r.config)
}

// requestEnters requests enters for the slots of a word; slots in confirmed enter at any
// distance. The game's sets may name slots without a tenant in this frame.
func (in *interest) requestEnters(r *Replicator, requests []enterRequest, word uint32, mask, confirmed uint64) []enterRequest {
	for ; mask != 0; mask &= mask - 1 {
		slot := word<<6 | uint32(bits.TrailingZeros64(mask))
		if int(slot) >= len(r.frame.summaries) {
			break
		}
		if in.boundary.margin > 0 && confirmed>>(slot&63)&1 == 0 && !in.enterOrList(r, slot) {
			continue
		}
		if h := r.frame.summaries[slot].handle; h != 0 {
			requests = append(requests, enterRequest{handle: h, since: r.frame.tick, row: noRow})
		}
	}
	return requests
}

// keepWaitingSince restores the first request's tick of newcomers that are in the queue
// already. Both lists ascend by slot.
func (in *interest) keepWaitingSince(requests []enterRequest) {
	waiting := in.queue
	for i := range requests {
		e := &requests[i]
		for len(waiting) > 0 && waiting[0].handle.Index() < e.handle.Index() {
			waiting = waiting[1:]
		}
		if len(waiting) > 0 && waiting[0].handle == e.handle {
			e.since = waiting[0].since
		}
	}
}

// queueNewcomers replaces the queue by the newcomers without a written Enter.
func (in *interest) queueNewcomers(requests []enterRequest) {
	queue := in.queue[:0]
	for i := range requests {
		if e := &requests[i]; e.row == noRow {
			queue = append(queue, queuedEnter{e.handle, e.since})
		}
	}
	if len(queue) == 0 && cap(queue) > keptQueue {
		queue = nil // it was sized for a crowd
	}
	in.queue = queue
}

// isQueued reports whether h is a newcomer that the budget has not admitted.
func (in *interest) isQueued(h bulk.Handle) bool {
	at, ok := slices.BinarySearchFunc(in.queue, h.Index(), func(q queuedEnter, slot uint32) int {
		return cmp.Compare(q.handle.Index(), slot)
	})
	return ok && in.queue[at].handle == h
}

// leaveOrList decides whether a member that is not a candidate leaves, and why. It lists a
// member that stays close to the leave radius. allowed tells whether the rules let the
// viewer see the member.
func (in *interest) leaveOrList(r *Replicator, slot uint32, allowed bool) (reason wire.Reason, leaves bool) {
	if !allowed {
		return wire.HiddenByRule, true
	}
	at, ok := r.grid.positionOf(slot)
	if !ok {
		return wire.LeftInterest, true
	}
	d := distance2(at, in.center)
	if d > square(r.config.LeaveRadius) {
		return wire.LeftInterest, true
	}
	if d > square(r.config.LeaveRadius-2*in.boundary.margin) {
		in.boundary.listLeaver(gridBody{slot, at.X, at.Y, at.Z})
	}
	return 0, false
}
