package replication

import (
	"cmp"
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// interest decides what a client is to have in view: what is near the entity that it views the
// world from, what it owns, and what the game's rules add and hide.
type interest struct {
	focus       bulk.Handle // owned as well; the client predicts it
	viewpoint   bulk.Handle // the entity that the world is viewed from; 0: the focus
	center      world.Vec3  // its newest position
	owned       ownedSet
	filter      Filter
	ruleChanged bool // focus, viewpoint, owned or filter changed since the last snapshot
	boundary    boundary
	queue       []queuedEnter // newcomers that the budget has not admitted, ascending by slot
	lastCapture uint64        // captures up to the last snapshot
}

// queuedEnter is an entity that has waited to enter since a tick.
type queuedEnter struct {
	handle bulk.Handle
	since  uint32
}

// interestQuery is the result of a viewer's query in one snapshot, with which its interest set is
// compared. A nil set holds every slot.
type interestQuery struct {
	candidates  *candidates  // what may be in view
	changed     *bulk.Bitset // slots that changed since the viewer's last snapshot
	replaced    *bulk.Bitset // the subset of changed with another tenant or none
	owing       *bulk.Bitset // slots of whose rows the client may be owed a newer state
	incremental bool         // candidates are changed entities only
}

// owns reports whether the viewer owns h.
func (in *interest) owns(h bulk.Handle) bool {
	return h == in.focus || in.owned.has(h)
}

// viewEntity returns the entity from which the viewer views the world.
func (in *interest) viewEntity() bulk.Handle { return cmp.Or(in.viewpoint, in.focus) }

// findCandidates moves the centre and returns what may be in view of it. first tells that the
// client was sent no snapshot yet, and simulates that it computes clean bodies. An entity enters
// within the enter radius and leaves beyond the leave radius.
func (in *interest) findCandidates(r *Replicator, s *candidates, first, simulates bool) interestQuery {
	at := in.center
	if t := r.frame.tenantOf(in.viewEntity()); t != nil && t.hasBody {
		at = t.position
	}
	radius, since := r.config.EnterRadius, in.lastCapture
	q := interestQuery{candidates: s, changed: r.changes.changedSince(since), replaced: r.replaced.changedSince(since)}
	few := r.fewChanged(q.changed, since)
	q.incremental = q.changed != nil && !first && in.canUpdateIncrementally(&r.config) && in.boundary.coversCentre(at, few)
	if q.incremental {
		radius += 2 * in.boundary.margin
	} else {
		in.boundary.beginQuery(at, in.boundaryMargin(&r.config, at, few))
		radius += in.boundary.margin
	}
	in.center, in.ruleChanged, in.lastCapture = at, false, r.changes.captures
	s.reserveSlots(len(r.frame.tenants))
	switch {
	case !q.incremental:
		s.addWithin(&r.grid, at, radius, 0)
	case in.boundary.margin == 0:
		s.addWithin(&r.grid, at, radius, since)
	default:
		s.addChangedWithin(&r.grid, r.changedBodies(q.changed, since), at, radius)
		in.addCrossing(r, s)
	}
	in.applyRules(r, s)
	q.owing = q.changed
	if simulates {
		q.owing = r.owing.changedSince(since)
	}
	return q
}

// fewChanged reports whether changed, the changes since a capture, are few enough for
// boundaries with a margin.
func (r *Replicator) fewChanged(changed *bulk.Bitset, capture uint64) bool {
	return changed != nil && r.changes.isSmall(capture, fewChangedDivisor, len(r.frame.summaries))
}

// canUpdateIncrementally reports whether only changed entities can enter or leave while
// the viewer's boundary is valid.
func (in *interest) canUpdateIncrementally(c *Config) bool {
	return !in.ruleChanged && len(in.queue) == 0 && in.onlyPositionsMatter(c)
}

// onlyPositionsMatter reports whether positions alone decide what is in view. The
// game's own sets can change without notice.
func (in *interest) onlyPositionsMatter(c *Config) bool {
	return !in.hasRules(c) && len(in.filter.Also) == 0 && !c.Always.Valid()
}

// requestEnters requests enters for the slots of a word, those in confirmed at any
// distance. The game's sets may name slots without a tenant in this frame.
func (in *interest) requestEnters(r *Replicator, requests []enterRequest, word uint32, mask, confirmed uint64) []enterRequest {
	for ; mask != 0; mask &= mask - 1 {
		slot := word<<6 | uint32(bits.TrailingZeros64(mask))
		if int(slot) >= len(r.frame.summaries) {
			break
		}
		if in.boundary.margin > 0 && confirmed>>(slot&63)&1 == 0 && !in.checkEnterRadius(r, slot) {
			continue
		}
		if h := r.frame.summaries[slot].handle; h != 0 {
			requests = append(requests, enterRequest{handle: h, since: r.frame.tick, row: noRow})
		}
	}
	return requests
}

// keepWaitingSince gives newcomers that are in the queue already their earlier ticks.
// Both lists ascend by slot.
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

// reasonToLeave returns why a member outside of the candidates leaves, or false if it stays:
// it is within the leave radius. allowed tells whether the rules let the viewer see it.
func (in *interest) reasonToLeave(r *Replicator, slot uint32, allowed bool) (reason wire.Reason, leaves bool) {
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
		in.boundary.mayLeave = append(in.boundary.mayLeave, gridBody{slot, at.X, at.Y, at.Z})
	}
	return 0, false
}
