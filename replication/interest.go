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

// interestQuery is what the interest set is compared with in one snapshot. A nil set holds every
// slot.
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

// eye returns the entity from which the viewer views the world.
func (in *interest) eye() bulk.Handle { return cmp.Or(in.viewpoint, in.focus) }

// findCandidates moves the centre and returns what may be in view of it. first tells that the
// client was sent no snapshot yet, and simulates that it computes clean bodies. An entity enters
// within the enter radius and leaves beyond the leave radius.
func (in *interest) findCandidates(r *Replicator, s *candidates, first, simulates bool) interestQuery {
	at := in.center
	if t := r.frame.tenantOf(in.eye()); t != nil && t.hasBody {
		at = t.position
	}
	radius, since := r.config.EnterRadius, in.lastCapture
	q := interestQuery{candidates: s, changed: r.changes.since(since), replaced: r.replaced.since(since)}
	few := r.fewChanged(q.changed, since)
	q.incremental = q.changed != nil && !first && in.canUpdateIncrementally(&r.config) && in.boundary.valid(at, few)
	if q.incremental {
		radius += 2 * in.boundary.margin
	} else {
		in.boundary.reset(at, in.boundaryMargin(&r.config, at, few))
		radius += in.boundary.margin
	}
	in.center, in.ruleChanged, in.lastCapture = at, false, r.changes.captures
	s.reserve(len(r.frame.tenants))
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
		q.owing = r.owing.since(since)
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
	at, ok := r.grid.position(slot)
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

// updateInterest brings the interest set to the newest frame: it removes members that left or
// died, marks changed members active, and requests enters.
func (v *Viewer) updateInterest(w *workspace) {
	v.recordDeaths(w)
	r, in, s := v.replicator, &v.interest, &w.candidates
	first := v.delivery.sent.newest <= v.delivery.before
	q := in.findCandidates(r, s, first, v.simulation != nil)
	if q.incremental && in.boundary.margin > 0 {
		v.leaveCrossed(w)
	}
	v.updateMembers(w, &q)
	requests := w.requests[:0]
	s.drain(func(word uint32, mask, confirmed uint64) {
		requests = in.requestEnters(r, requests, word, mask, confirmed)
	})
	w.requests = requests
	if !q.incremental {
		in.boundary.seal()
	}
	in.keepWaitingSince(w.requests)
}

// leaveCrossed makes the listed members leave that are beyond the leave radius because the viewer
// moved, unless it owns them. To become members again while the boundary is valid, they must change.
func (v *Viewer) leaveCrossed(w *workspace) {
	r, in, m := v.replicator, &v.interest, &v.members
	limit := square(r.config.LeaveRadius)
	kept := in.boundary.mayLeave[:0]
	for _, b := range in.boundary.mayLeave {
		if !in.isBeyond(&r.grid, &b, limit) {
			kept = append(kept, b)
			continue
		}
		rowIndex := m.rowRef(b.slot)
		if rowIndex == nil || *rowIndex == noRow {
			continue // left already
		}
		switch h := m.handles[*rowIndex]; {
		case h != r.frame.summaries[b.slot].handle: // updateMembers destroys it
		case in.owns(h):
			kept = append(kept, b)
		default:
			v.leave(w, rowIndex, wire.LeftInterest)
		}
	}
	in.boundary.dropped += len(in.boundary.mayLeave) - len(kept)
	in.boundary.mayLeave = kept
}

// updateMembers compares the interest set with the candidates, a word at a time. Members in
// q.owing become active, and only replaced slots are examined one by one. It leaves in
// q.candidates those that are not members yet.
func (v *Viewer) updateMembers(w *workspace, q *interestQuery) {
	m := &v.members
	m.compact()
	anyNew, anyOwed := q.changed == nil || q.changed.Any(), q.owing == nil || q.owing.Any()
	if q.incremental && !anyNew && !anyOwed {
		q.candidates.intersect(func(word uint32) uint64 { return ^m.mask(word) })
		return
	}
	m.anyActive = m.anyActive || anyOwed
	if q.incremental && q.owing == q.changed {
		w.memberWords = m.changedWords(w.memberWords, q.changed.View(), q.candidates.inside)
		for _, i := range w.memberWords {
			v.updateWord(w, &m.words[i], q)
		}
	} else {
		for i := range m.words {
			v.updateWord(w, &m.words[i], q)
		}
	}
	m.compact()
}

// updateWord is updateMembers for one word. Without changes it costs three loads and an AND.
func (v *Viewer) updateWord(w *workspace, word *memberWord, q *interestQuery) {
	changed := intersectSet(word.mask, q.changed, word.number)
	living := word.mask
	if changed != 0 {
		if replaced := intersectSet(changed, q.replaced, word.number); replaced != 0 {
			living = v.destroyReplaced(w, word, replaced)
		}
	}
	word.active |= intersectSet(living, q.owing, word.number)
	inside := q.candidates.inside[word.number]
	outside := living &^ inside
	if q.incremental {
		outside &= changed
	}
	if outside != 0 {
		v.leaveOutside(w, word, outside)
	}
	q.candidates.inside[word.number] = inside &^ living
}

// intersectSet returns the slots of mask that are in a set. nil holds every slot.
func intersectSet(mask uint64, set *bulk.Bitset, word uint32) uint64 {
	if set == nil {
		return mask
	}
	return mask & set.Word(word)
}

// destroyReplaced destroys the members of a word whose slot has another tenant or none,
// among the slots in replaced, and returns the others.
func (v *Viewer) destroyReplaced(w *workspace, word *memberWord, replaced uint64) (living uint64) {
	m, living := &v.members, word.mask
	for ; replaced != 0; replaced &= replaced - 1 {
		slot := word.number<<6 | uint32(bits.TrailingZeros64(replaced))
		rowIndex := &m.indexes[word.rowAt(slot)]
		if m.handles[*rowIndex] != v.replicator.frame.summaries[slot].handle {
			living &^= replaced & -replaced
			v.destroyMember(w, rowIndex)
		}
	}
	return living
}

// leaveOutside removes the members of a word in outside that a rule hides or that lie
// beyond the leave radius.
func (v *Viewer) leaveOutside(w *workspace, word *memberWord, outside uint64) {
	r := v.replicator
	allowed := v.interest.allowedByRules(&r.config, word.number)
	for ; outside != 0; outside &= outside - 1 {
		slot := word.number<<6 | uint32(bits.TrailingZeros64(outside))
		if reason, leaves := v.interest.reasonToLeave(r, slot, allowed>>(slot&63)&1 != 0); leaves {
			v.leave(w, &v.members.indexes[word.rowAt(slot)], reason)
		}
	}
}

// leave removes a member from the interest set.
func (v *Viewer) leave(w *workspace, rowIndex *uint32, reason wire.Reason) {
	h := v.members.handles[*rowIndex]
	v.outbox.write(w, wire.Record{Op: wire.OpLeave, Reason: reason, Handle: h})
	v.knowledge.hideMember(h)
	v.members.freeRow(rowIndex)
}
