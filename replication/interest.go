package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// updateInterest brings the interest set to the newest frame: it requests enters,
// removes members that left or died, and marks changed members active. An entity enters
// within the enter radius and leaves beyond the leave radius.
func (v *Viewer) updateInterest() {
	r := v.replicator
	v.recordDeaths()
	at := v.center
	if t := r.frame.tenantOf(v.eye()); t != nil && t.hasBody {
		at = t.position
	}
	w, radius, since := v.work, r.config.EnterRadius, v.lastCapture
	s, changed, replaced := &w.candidates, r.changes.since(since), r.replaced.since(since)
	few := r.fewChanged(changed, since)
	incremental := changed != nil && v.canUpdateIncrementally() && v.boundary.valid(at, few)
	if incremental {
		radius += 2 * v.boundary.margin
	} else {
		v.boundary.reset(at, v.boundaryMargin(at, few))
		radius += v.boundary.margin
	}
	v.center, v.ruleChanged, v.lastCapture = at, false, r.changes.captures
	s.reserve(len(r.frame.tenants))
	switch {
	case !incremental:
		s.addWithin(&r.grid, at, radius, 0)
	case v.boundary.margin == 0:
		s.addWithin(&r.grid, at, radius, since)
	default:
		s.addChangedWithin(&r.grid, r.changedBodies(changed, since), at, radius)
		v.crossBoundary(s)
	}
	v.applyRules(s)
	owing := changed
	if v.simulation != nil {
		owing = r.owing.since(since)
	}
	v.updateMembers(s, changed, replaced, owing, incremental)
	w.requests = w.requests[:0]
	s.drain(v.requestFunc)
	if !incremental {
		v.boundary.seal()
	}
	v.keepWaitingSince()
}

// fewChanged reports whether changed, the changes since a capture, are few enough for
// boundaries with a margin.
func (r *Replicator) fewChanged(changed *bulk.Bitset, capture uint64) bool {
	return changed != nil && r.changes.isSmall(capture, fewChangedDivisor, len(r.frame.summaries))
}

// canUpdateIncrementally reports whether only changed entities can enter or leave while
// the viewer's boundary is valid.
func (v *Viewer) canUpdateIncrementally() bool {
	return v.sent.newest > v.before && !v.ruleChanged && len(v.queue) == 0 && v.onlyPositionsMatter()
}

// onlyPositionsMatter reports whether positions alone decide what is in view. The
// game's own sets can change without notice.
func (v *Viewer) onlyPositionsMatter() bool {
	return !v.hasRules() && len(v.filter.Also) == 0 && !v.replicator.config.Always.Valid()
}

// updateMembers compares the interest set with the candidates, a word at a time.
// Without changes a word costs three loads and an AND. Members in owing become active, and only
// replaced slots, a subset of changed, are examined one by one. It leaves in s the candidates that
// are not members yet. If incremental, s holds changed entities only. A nil set means that any
// slot may be in it.
func (v *Viewer) updateMembers(s *candidates, changed, replaced, owing *bulk.Bitset, incremental bool) {
	m := &v.members
	m.compact()
	anyNew, anyOwed := changed == nil || changed.Any(), owing == nil || owing.Any()
	if incremental && !anyNew && !anyOwed {
		s.intersect(func(word uint32) uint64 { return ^m.mask(word) })
		return
	}
	m.anyActive = m.anyActive || anyOwed
	if incremental && owing == changed {
		v.work.memberWords = m.changedWords(v.work.memberWords, changed.View(), s.inside)
		for _, i := range v.work.memberWords {
			v.updateWord(&m.words[i], s, changed, replaced, owing, true)
		}
	} else {
		for i := range m.words {
			v.updateWord(&m.words[i], s, changed, replaced, owing, incremental)
		}
	}
	m.compact()
}

// updateWord is updateMembers for one word.
func (v *Viewer) updateWord(w *memberWord, s *candidates, changed, replaced, owing *bulk.Bitset, incremental bool) {
	word, mask := w.number, w.mask
	changedHere, inside := intersectSet(mask, changed, word), s.inside[word]
	rows := v.members.indexes[w.firstRow:][:bits.OnesCount64(mask)]
	living := mask
	if changedHere != 0 {
		if replacedHere := intersectSet(changedHere, replaced, word); replacedHere != 0 {
			living = v.destroyReplaced(word, mask, replacedHere, rows)
		}
	}
	w.active |= intersectSet(living, owing, word)
	outside := living &^ inside
	if incremental {
		outside &= changedHere
	}
	if outside != 0 {
		v.leaveOutside(word, mask, outside, rows)
	}
	s.inside[word] = inside &^ living
}

// intersectSet returns the slots of mask that are in a set. nil holds every slot.
func intersectSet(mask uint64, set *bulk.Bitset, word uint32) uint64 {
	if set == nil {
		return mask
	}
	return mask & set.Word(word)
}

// destroyReplaced destroys the members of a word whose slot has another tenant or none,
// among the slots in replaced, and returns mask without them.
func (v *Viewer) destroyReplaced(word uint32, mask, replaced uint64, rows []uint32) (living uint64) {
	present := v.replicator.frame.summaries
	living = mask
	for ; replaced != 0; replaced &= replaced - 1 {
		bit := replaced & -replaced
		rowIndex := &rows[bits.OnesCount64(mask&(bit-1))]
		if slot := word<<6 | uint32(bits.TrailingZeros64(bit)); v.members.handles[*rowIndex] != present[slot].handle {
			living &^= bit
			v.destroyMember(rowIndex)
		}
	}
	return living
}

// destroyMember sends the Destroy of a member and frees its row (R5).
func (v *Viewer) destroyMember(rowIndex *uint32) {
	h := v.members.handles[*rowIndex]
	v.writeDestroy(h, v.causes[h])
	delete(v.causes, h)
	v.members.freeRow(rowIndex)
}

// leaveOutside removes the members of a word in outside that a rule hides or that lie
// beyond the leave radius.
func (v *Viewer) leaveOutside(word uint32, mask, outside uint64, rows []uint32) {
	r := v.replicator
	limit, listed := square(r.config.LeaveRadius), square(r.config.LeaveRadius-2*v.boundary.margin)
	allowed := v.allowedFunc(word)
	for ; outside != 0; outside &= outside - 1 {
		bit := outside & -outside
		slot := word<<6 | uint32(bits.TrailingZeros64(bit))
		reason := wire.LeftInterest
		if allowed&bit == 0 {
			reason = wire.HiddenByRule
		} else if at, ok := r.grid.position(slot); ok {
			if d := distance2(at, v.center); d <= limit {
				if d > listed {
					v.boundary.mayLeave = append(v.boundary.mayLeave, gridBody{slot, at.X, at.Y, at.Z})
				}
				continue
			}
		}
		v.leave(slot, &rows[bits.OnesCount64(mask&(bit-1))], reason)
	}
}

// leave removes a member from the interest set. The client had it in view and so knows
// that the slot's earlier tenants are destroyed.
func (v *Viewer) leave(slot uint32, rowIndex *uint32, reason wire.Reason) {
	h := v.members.handles[*rowIndex]
	v.writeRecord(wire.Record{Op: wire.OpLeave, Reason: reason, Handle: h})
	if g := h.Generation(); g > 2 {
		v.dead.raise(slot, g-2)
	}
	v.work.stats.Leaves++
	v.hidden.set(slot)
	v.members.freeRow(rowIndex)
}

// requestEnters requests enters for the slots of a word, those in confirmed at any
// distance. The game's sets may name slots without a tenant in this frame.
func (v *Viewer) requestEnters(word uint32, mask, confirmed uint64) {
	r := v.replicator
	for ; mask != 0; mask &= mask - 1 {
		slot := word<<6 | uint32(bits.TrailingZeros64(mask))
		if int(slot) >= len(r.frame.summaries) {
			return
		}
		if v.boundary.margin > 0 && confirmed>>(slot&63)&1 == 0 && !v.checkEnterRadius(slot) {
			continue
		}
		if h := r.frame.summaries[slot].handle; h != 0 {
			v.work.requests = append(v.work.requests, enterRequest{handle: h, since: r.frame.tick, row: noRow})
		}
	}
}
