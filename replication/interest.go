package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// updateInterest finds who enters, removes who left or died, and notes whose
// state changed. An entity enters within the enter radius and leaves beyond the
// leave radius.
func (v *Viewer) updateInterest() {
	r := v.replicator
	v.bury()
	at := v.center
	if t := r.frame.tenantOf(v.focus); t != nil {
		at = t.position
	}
	w := v.work
	s, changed, replaced := &w.sweep, r.changes.since(v.captured), r.replaced.since(v.captured)
	calm, from := at == v.center && changed != nil && v.calm(), uint64(0)
	if calm {
		from = v.captured
	}
	v.center, v.ruleChanged, v.captured = at, false, r.changes.captures
	s.reserve(len(r.frame.tenants))
	s.look(&r.places, v.center, r.config.EnterRadius, from)
	v.sift(s)
	v.compare(s, changed, replaced, calm)
	w.wanted = w.wanted[:0]
	s.take(v.want)
	v.joinQueue()
}

// calm says whether only an entity that changed can enter or leave, as long as
// the viewer's centre stays where it is. What depends on sets of the game's can
// change without notice.
func (v *Viewer) calm() bool {
	return v.sent.newest > 0 && !v.ruleChanged && !v.ruled() && len(v.queue) == 0 &&
		len(v.filter.Also) == 0 && v.replicator.config.Always == nil
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
	limit := float32(r.config.LeaveRadius * r.config.LeaveRadius)
	allowed := v.allowed(word)
	for ; outside != 0; outside &= outside - 1 {
		bit := outside & -outside
		slot := word<<6 | uint32(bits.TrailingZeros64(bit))
		reason := wire.ReasonLeftInterest
		if allowed&bit == 0 {
			reason = wire.ReasonHiddenByRule
		} else if b := r.places.body(slot); b != nil && b.distance2(v.center) <= limit {
			continue
		}
		place := &rows[bits.OnesCount64(mask&(bit-1))]
		v.tell(wire.Record{Op: wire.OpLeave, Reason: reason, Handle: v.handles[*place]})
		v.work.stats.Leaves++
		if !fault.ForgetOnLeave {
			v.hidden.set(slot)
		}
		v.release(place)
	}
}

// wantAll lists those of 64 neighbours that are to enter. Sets of the game's may
// name slots that nobody holds in this frame.
func (v *Viewer) wantAll(word uint32, mask uint64) {
	r := v.replicator
	for ; mask != 0; mask &= mask - 1 {
		slot := word<<6 | uint32(bits.TrailingZeros64(mask))
		if int(slot) >= len(r.frame.present) {
			return
		}
		if h := r.frame.present[slot].handle; h != 0 {
			v.work.wanted = append(v.work.wanted, wanted{handle: h, since: r.frame.tick, place: noRow})
		}
	}
}
