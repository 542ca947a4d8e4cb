package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// updateInterest finds who enters, removes who left or died, and notes whose
// state changed. An entity enters within the enter radius and leaves beyond the
// leave radius.
func (v *Viewer) updateInterest() {
	r := v.replicator
	v.recordDeaths()
	at := v.center
	if t := r.frame.tenantOf(v.focus); t != nil && t.hasBody {
		at = t.position
	}
	w, radius, since := v.work, r.config.EnterRadius, v.lastCapture
	s, changed, replaced := &w.candidates, r.changes.since(since), r.replaced.since(since)
	few := changed != nil && r.changes.isSmall(since, fewChangedDivisor, len(r.frame.summaries))
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
		s.addWithin(&r.grid, at, radius, nil, 0)
	case v.boundary.margin == 0:
		s.addWithin(&r.grid, at, radius, nil, since)
	default:
		s.addWithin(&r.grid, at, radius, changed, since)
		v.crossBoundary(s)
	}
	v.applyRules(s)
	v.updateMembers(s, changed, replaced, incremental)
	w.requests = w.requests[:0]
	s.drain(v.requestFunc)
	if !incremental {
		v.boundary.seal()
	}
	v.keepWaitingSince()
}

// calm says whether only who changed can enter or leave, as long as the viewer
// stays where its border holds.
func (v *Viewer) canUpdateIncrementally() bool {
	return v.sent.newest > 0 && !v.ruleChanged && len(v.queue) == 0 && v.onlyPositionsMatter()
}

// plain says whether nothing but places says who is in view. What depends on sets of
// the game's can change without notice.
func (v *Viewer) onlyPositionsMatter() bool {
	return !v.hasRules() && len(v.filter.Also) == 0 && v.replicator.config.Always == nil
}

// compare goes through the interest set by words. Where nobody came, left or
// changed, 64 neighbours take three loads and an AND each; who changed becomes
// active, and only whose slot changed hands is looked at. It leaves in s who is
// inside and not in the interest set. If calm, s knows only of those that
// changed. changed and replaced are nil if any slot may be one.
func (v *Viewer) updateMembers(s *candidates, changed, replaced *bulk.Bitset, incremental bool) {
	m := &v.members
	v.compact()
	anyNew, anyOther := changed == nil || changed.Any(), replaced == nil || replaced.Any()
	if incremental && !anyNew {
		s.intersect(func(word uint32) uint64 { return ^m.mask(word) })
		return
	}
	m.anyActive = m.anyActive || anyNew
	for i := range m.words {
		w := &m.words[i]
		word, mask, news, others := w.number, w.mask, uint64(0), uint64(0)
		if anyNew {
			news = intersectSet(mask, changed, word)
		}
		if anyOther {
			others = intersectSet(mask, replaced, word)
		}
		rows := m.rows[w.firstRow:][:bits.OnesCount64(mask)]
		living, inside := mask, s.inside[word]
		if others != 0 {
			living = v.destroyReplaced(word, mask, others, rows)
		}
		if news != 0 {
			w.active |= news & living
		}
		outside := living &^ inside
		if incremental {
			outside &= news
		}
		if outside != 0 {
			v.leaveOutside(word, mask, outside, rows)
		}
		if inside != 0 {
			s.inside[word] = inside &^ living
		}
	}
	v.compact()
}

// within returns those of 64 neighbours that are in a set; nil holds everybody.
func intersectSet(mask uint64, set *bulk.Bitset, word uint32) uint64 {
	if set == nil {
		return mask
	}
	return mask & set.Word(word)
}

// compact takes the members out that have left or died.
func (v *Viewer) compact() {
	if v.uncompacted {
		v.members.compact()
		v.uncompacted = false
	}
}

// survivors has the members die whose slot, of some of 64 neighbours, has another
// tenant or none, and returns the mask without them.
func (v *Viewer) destroyReplaced(word uint32, mask, others uint64, rows []uint32) (living uint64) {
	present := v.replicator.frame.summaries
	living = mask
	for ; others != 0; others &= others - 1 {
		bit := others & -others
		rowIndex := &rows[bits.OnesCount64(mask&(bit-1))]
		if slot := word<<6 | uint32(bits.TrailingZeros64(bit)); v.handles[*rowIndex] != present[slot].handle {
			living &^= bit
			v.destroyMember(rowIndex)
		}
	}
	return living
}

// die tells the client that a member is no more (R5).
func (v *Viewer) destroyMember(rowIndex *uint32) {
	v.writeDestroy(v.handles[*rowIndex])
	v.freeRow(rowIndex)
}

// leave takes those out of the interest set who are hidden by a rule or beyond
// the leave radius, of 64 neighbours who are not inside.
func (v *Viewer) leaveOutside(word uint32, mask, outside uint64, rows []uint32) {
	r := v.replicator
	limit, listed := square(r.config.LeaveRadius), square(r.config.LeaveRadius-2*v.boundary.margin)
	allowed := v.allowedFunc(word)
	for ; outside != 0; outside &= outside - 1 {
		bit := outside & -outside
		slot := word<<6 | uint32(bits.TrailingZeros64(bit))
		reason := wire.ReasonLeftInterest
		if allowed&bit == 0 {
			reason = wire.ReasonHiddenByRule
		} else if b := r.grid.body(slot); b != nil {
			if d := b.distance2(v.center); d <= limit {
				if d > listed {
					v.boundary.mayLeave = append(v.boundary.mayLeave, slot)
				}
				continue
			}
		}
		v.leave(slot, &rows[bits.OnesCount64(mask&(bit-1))], reason)
	}
}

// depart takes a member out of the interest set. The client was shown it, so it knows
// the slot's earlier tenants to be destroyed.
func (v *Viewer) leave(slot uint32, rowIndex *uint32, reason wire.Reason) {
	h := v.handles[*rowIndex]
	v.writeRecord(wire.Record{Op: wire.OpLeave, Reason: reason, Handle: h})
	if g := h.Generation(); g > 2 {
		v.dead.raise(slot, g-2)
	}
	v.work.stats.Leaves++
	v.hidden.set(slot)
	v.freeRow(rowIndex)
}

// wantAll lists those of 64 neighbours that are to enter, those in sure at any
// distance. Sets of the game's may name slots that nobody holds in this frame.
func (v *Viewer) requestEnters(word uint32, mask, sure uint64) {
	r := v.replicator
	for ; mask != 0; mask &= mask - 1 {
		slot := word<<6 | uint32(bits.TrailingZeros64(mask))
		if int(slot) >= len(r.frame.summaries) {
			return
		}
		if v.boundary.margin > 0 && sure>>(slot&63)&1 == 0 && !v.checkEnterRadius(slot) {
			continue
		}
		if h := r.frame.summaries[slot].handle; h != 0 {
			v.work.requests = append(v.work.requests, enterRequest{handle: h, since: r.frame.tick, row: noRow})
		}
	}
}
