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
	v.bury()
	at := v.center
	if t := r.frame.tenantOf(v.focus); t != nil && t.placed {
		at = t.position
	}
	w, radius, since := v.work, r.config.EnterRadius, v.captured
	s, changed, replaced := &w.sweep, r.changes.since(since), r.replaced.since(since)
	few := changed != nil && r.changes.few(since, fewShare, len(r.frame.present))
	calm := changed != nil && v.calm() && v.border.holds(at, few)
	if calm {
		radius += 2 * v.border.margin
	} else {
		v.border.begin(at, v.margin(at, few))
		radius += v.border.margin
	}
	v.center, v.ruleChanged, v.captured = at, false, r.changes.captures
	s.reserve(len(r.frame.tenants))
	switch {
	case !calm:
		s.look(&r.places, at, radius, nil, 0)
	case v.border.margin == 0:
		s.look(&r.places, at, radius, nil, since)
	default:
		s.look(&r.places, at, radius, changed, since)
		v.cross(s)
	}
	v.sift(s)
	v.compare(s, changed, replaced, calm)
	w.wanted = w.wanted[:0]
	s.take(v.want)
	if !calm {
		v.border.end()
	}
	v.joinQueue()
}

// calm says whether only who changed can enter or leave, as long as the viewer
// stays where its border holds.
func (v *Viewer) calm() bool {
	return v.sent.newest > 0 && !v.ruleChanged && len(v.queue) == 0 && v.plain()
}

// plain says whether nothing but places says who is in view. What depends on sets of
// the game's can change without notice.
func (v *Viewer) plain() bool {
	return !v.ruled() && len(v.filter.Also) == 0 && v.replicator.config.Always == nil
}

// compare goes through the interest set by words. Where nobody came, left or
// changed, 64 neighbours take three loads and an AND each; who changed becomes
// active, and only whose slot changed hands is looked at. It leaves in s who is
// inside and not in the interest set. If calm, s knows only of those that
// changed. changed and replaced are nil if any slot may be one.
func (v *Viewer) compare(s *sweep, changed, replaced *bulk.Bitset, calm bool) {
	m := &v.members
	v.compact()
	anyNew, anyOther := changed == nil || changed.Any(), replaced == nil || replaced.Any()
	if calm && !anyNew {
		s.restrict(func(word uint32) uint64 { return ^m.mask(word) })
		return
	}
	m.awake = m.awake || anyNew
	for i := range m.words {
		w := &m.words[i]
		word, mask, news, others := w.number, w.mask, uint64(0), uint64(0)
		if anyNew {
			news = within(mask, changed, word)
		}
		if anyOther {
			others = within(mask, replaced, word)
		}
		rows := m.rows[w.from:][:bits.OnesCount64(mask)]
		living, inside := mask, s.inside[word]
		if others != 0 {
			living = v.survivors(word, mask, others, rows)
		}
		if news != 0 {
			w.active |= news & living
		}
		outside := living &^ inside
		if calm {
			outside &= news
		}
		if outside != 0 {
			v.leave(word, mask, outside, rows)
		}
		if inside != 0 {
			s.inside[word] = inside &^ living
		}
	}
	v.compact()
}

// within returns those of 64 neighbours that are in a set; nil holds everybody.
func within(mask uint64, set *bulk.Bitset, word uint32) uint64 {
	if set == nil {
		return mask
	}
	return mask & set.Word(word)
}

// compact takes the members out that have left or died.
func (v *Viewer) compact() {
	if v.dying {
		v.members.compact()
		v.dying = false
	}
}

// survivors has the members die whose slot, of some of 64 neighbours, has another
// tenant or none, and returns the mask without them.
func (v *Viewer) survivors(word uint32, mask, others uint64, rows []uint32) (living uint64) {
	present := v.replicator.frame.present
	living = mask
	for ; others != 0; others &= others - 1 {
		bit := others & -others
		place := &rows[bits.OnesCount64(mask&(bit-1))]
		if slot := word<<6 | uint32(bits.TrailingZeros64(bit)); v.handles[*place] != present[slot].handle {
			living &^= bit
			v.die(place)
		}
	}
	return living
}

// die tells the client that a member is no more (R5).
func (v *Viewer) die(place *uint32) {
	v.tellDestroyed(v.handles[*place])
	v.release(place)
}

// leave takes those out of the interest set who are hidden by a rule or beyond
// the leave radius, of 64 neighbours who are not inside.
func (v *Viewer) leave(word uint32, mask, outside uint64, rows []uint32) {
	r := v.replicator
	limit, listed := square(r.config.LeaveRadius), square(r.config.LeaveRadius-2*v.border.margin)
	allowed := v.allowed(word)
	for ; outside != 0; outside &= outside - 1 {
		bit := outside & -outside
		slot := word<<6 | uint32(bits.TrailingZeros64(bit))
		reason := wire.ReasonLeftInterest
		if allowed&bit == 0 {
			reason = wire.ReasonHiddenByRule
		} else if b := r.places.body(slot); b != nil {
			if d := b.distance2(v.center); d <= limit {
				if d > listed {
					v.border.inside = append(v.border.inside, slot)
				}
				continue
			}
		}
		v.depart(slot, &rows[bits.OnesCount64(mask&(bit-1))], reason)
	}
}

// depart takes a member out of the interest set. The client was shown it, so it knows
// the slot's earlier tenants to be destroyed.
func (v *Viewer) depart(slot uint32, place *uint32, reason wire.Reason) {
	h := v.handles[*place]
	v.tell(wire.Record{Op: wire.OpLeave, Reason: reason, Handle: h})
	if g := h.Generation(); g > 2 {
		v.dead.raise(slot, g-2)
	}
	v.work.stats.Leaves++
	v.hidden.set(slot)
	v.release(place)
}

// wantAll lists those of 64 neighbours that are to enter, those in sure at any
// distance. Sets of the game's may name slots that nobody holds in this frame.
func (v *Viewer) wantAll(word uint32, mask, sure uint64) {
	r := v.replicator
	for ; mask != 0; mask &= mask - 1 {
		slot := word<<6 | uint32(bits.TrailingZeros64(mask))
		if int(slot) >= len(r.frame.present) {
			return
		}
		if v.border.margin > 0 && sure>>(slot&63)&1 == 0 && !v.enters(slot) {
			continue
		}
		if h := r.frame.present[slot].handle; h != 0 {
			v.work.wanted = append(v.work.wanted, wanted{handle: h, since: r.frame.tick, place: noRow})
		}
	}
}
