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
	if t := r.frame.tenantOf(v.focus); t != nil {
		at = t.position
	}
	r.wanted = r.wanted[:0]
	if at == v.center && v.quiet() {
		v.captured = r.changes.captures
		return
	}
	v.center, v.ruleChanged = at, false
	s := &r.sweep
	s.reserve(len(r.frame.tenants))
	s.look(&r.places, v.center, r.config.EnterRadius)
	v.sift(s)
	v.compare(s, r.changes.since(v.captured))
	v.captured = r.changes.captures
	s.take(v.want)
	v.joinQueue()
}

// quiet says whether the interest set is what it was at the last snapshot, and
// nobody in it changed. What depends on sets of the game's is looked at always.
func (v *Viewer) quiet() bool {
	r := v.replicator
	return v.seq > 0 && !v.ruleChanged && len(v.waiting) == 0 && len(v.owned) == 0 && !v.ruled() && !v.dying &&
		len(v.filter.Also) == 0 && r.config.Always == nil && r.unplacedChanged <= v.captured &&
		r.places.quiet(v.center, r.config.LeaveRadius, v.captured)
}

// compare goes through the interest set by words. Where nobody came, left or
// changed, 64 neighbours take three loads and an AND each. It leaves in s who is
// inside and not in the interest set.
func (v *Viewer) compare(s *sweep, changed *bulk.Bitset) {
	m := &v.members
	v.compact()
	from := 0
	for i, word := range m.numbers {
		mask := m.masks[i]
		inside := s.inside[word]
		news := mask
		if changed != nil {
			news &= changed.Word(word)
		}
		rows := m.rows[from : from+bits.OnesCount64(mask)]
		from += len(rows)
		living := mask
		if news != 0 {
			living = v.hear(word, mask, news, rows)
		}
		if outside := living &^ inside; outside != 0 {
			v.leave(word, mask, outside, rows)
		}
		s.inside[word] = inside &^ living
	}
	v.compact()
}

// compact takes the members out that have left or died.
func (v *Viewer) compact() {
	if v.dying {
		v.members.compact()
		v.dying = false
	}
}

// hear takes note of members that changed, and returns the mask without those
// that died.
func (v *Viewer) hear(word uint32, mask, news uint64, rows []uint32) (living uint64) {
	tenants := v.replicator.frame.tenants
	living = mask
	for ; news != 0; news &= news - 1 {
		bit := news & -news
		at := bits.OnesCount64(mask & (bit - 1))
		row := &v.rows[rows[at]]
		if row.handle == tenants[row.handle.Index()].handle {
			v.activate(rows[at])
			continue
		}
		living &^= bit
		v.die(&rows[at])
	}
	return living
}

// die tells the client that a member is no more (R5).
func (v *Viewer) die(place *uint32) {
	v.tellDestroyed(v.rows[*place].handle)
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
		v.tell(wire.Record{Op: wire.OpLeave, Reason: reason, Handle: v.rows[*place].handle})
		r.stats.Leaves++
		v.hidden.set(slot)
		v.release(place)
	}
}

// wantAll lists those of 64 neighbours that are to enter. Sets of the game's may
// name slots that nobody holds in this frame.
func (v *Viewer) wantAll(word uint32, mask uint64) {
	r := v.replicator
	for ; mask != 0; mask &= mask - 1 {
		slot := word<<6 | uint32(bits.TrailingZeros64(mask))
		if int(slot) >= len(r.frame.tenants) {
			return
		}
		if h := r.frame.tenants[slot].handle; h != 0 {
			r.wanted = append(r.wanted, wanted{handle: h, since: r.frame.tick, place: noRow})
		}
	}
}
