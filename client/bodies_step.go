package client

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// seenSnapshot holds the fields of an applied snapshot that concern bodies.
type seenSnapshot struct {
	seq, tick, structure       uint32
	complete, continued, audit bool
	sum                        uint32 // the audit
}

// applied notes an applied snapshot, and computes all bodies up to the tick of a complete one
// if that is the newest and all that are linked to it were applied.
func (b *bodies) applied(r *Replica, h *wire.StateHeader) {
	b.snapshots[h.Seq%64] = seenSnapshot{h.Seq, h.Tick, h.Structure, h.Complete, h.Continued, h.Audited, h.Audit}
	last := h.Seq
	for b.seen(last+1) != nil && b.seen(last+1).continued {
		last++
	}
	for seq := last; seq >= h.Seq; seq-- {
		if s := b.seen(seq); s.complete && s.tick > b.now && b.linked(seq) {
			b.complete(r, s)
			return
		}
	}
}

func (b *bodies) seen(seq uint32) *seenSnapshot {
	if s := &b.snapshots[seq%64]; s.seq == seq && seq != 0 {
		return s
	}
	return nil
}

// linked reports whether all snapshots that an applied one continues were applied.
func (b *bodies) linked(seq uint32) bool {
	tick := b.seen(seq).tick
	for s := b.seen(seq); s != nil && s.tick == tick; s = b.seen(seq) {
		if !s.continued {
			return true
		}
		seq--
	}
	return false
}

// complete computes all bodies up to the tick of a snapshot (P1), and checks its audit. If the
// budget is spent, the bodies stay at the tick that they have reached, and a later snapshot
// computes on from there. If that is more than a second ago, they stand still until the server
// sends their states again.
func (b *bodies) complete(r *Replica, s *seenSnapshot) {
	if b.budget.spent() {
		b.stats.Behind++
		return
	}
	b.budget.spend(snapshotTime + lookTime*(len(b.numbered)+len(b.waiting)+2*b.effects.versions))
	b.findLeaders(r)
	if b.now == 0 {
		b.restart(s.tick)
	}
	if !b.catchUp() || !b.advance(s.tick) {
		b.giveUp(s.tick)
	} else if b.now < s.tick {
		b.stats.Behind++
	}
	b.effects.settle()
	b.effects.prune(b.now - min(b.now, keptTicks))
	b.sweepStates()
	b.ghosts = slices.DeleteFunc(b.ghosts, func(t *track) bool {
		if b.leads(t) {
			return false
		}
		b.forget(t)
		return true
	})
	if s.audit && s.structure == r.applied && b.now == s.tick && !b.budget.spent() {
		b.audit(r, s)
	}
}

// restart empties sim at a tick.
func (b *bodies) restart(tick uint32) {
	b.now = tick
	b.sim.Reset(uint64(tick))
	for _, slot := range b.effects.used {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			versions[i].applied = versions[i].applied || versions[i].from <= tick
		}
		b.install(b.sim, slot, tick)
	}
}

// giveUp empties sim at a tick: all bodies stand still until the server sends their states
// again.
func (b *bodies) giveUp(tick uint32) {
	b.stats.Overruns++
	b.overrun = true
	b.budget.spend(lookTime * int(b.keep) * len(b.numbered))
	for _, t := range b.numbered {
		if t != nil {
			b.sync(t)
		}
	}
	b.restart(tick)
	for _, t := range b.numbered {
		if t != nil && (!t.fresh || t.at <= tick) {
			t.lost, t.fresh, t.late = true, false, false
		}
	}
	b.dropComputed()
}

// advance computes all bodies up to a tick, or until the budget is spent. It returns false if
// that leaves them too far behind, or if a tick takes too long.
func (b *bodies) advance(tick uint32) bool {
	for b.now < tick {
		if b.budget.spent() {
			return tick-b.now <= b.maxBehind
		}
		b.put()
		if !b.apply(b.sim, b.effects.due, b.now+1) {
			return false
		}
		b.now++
		versions := 0
		if len(b.effects.due) > 0 {
			versions = b.effects.versions
		}
		if !b.tick(b.sim, versions) {
			return false
		}
		b.log()
	}
	b.put()
	return true
}

// put gives sim the states of its tick.
func (b *bodies) put() {
	if len(b.waiting) == 0 {
		return
	}
	kept := b.waiting[:0]
	for _, t := range b.waiting {
		if !t.fresh || t.at != b.now {
			if t.fresh {
				kept = append(kept, t)
			}
			continue
		}
		t.fresh = false
		if !t.begins() {
			b.changesNow().Set(t.number, t.given)
			t.slept = b.now
		}
		b.sim.Put(t.number, t.kind, t.given)
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
}

// tick moves a sim by one tick, before which so many tracks and versions were looked at. It
// returns false if that takes too long.
func (b *bodies) tick(m *motion.Sim, looked int) bool {
	all, awake := m.Len()
	work := tickTime + bodyTime*awake + reachTime*all*m.Effects() + effectTime*m.Effects() + lookTime*(len(b.waiting)+looked)
	if awake > 0 {
		work += actTime * m.Effects()
	}
	b.budget.spend(work)
	if work > int(maxTickWork) {
		return false
	}
	slowest := max(b.slowest, 1)
	points, ok := m.TickWithin(int(float64(maxTickWork) / slowest))
	b.budget.spend(int(slowest * float64(points)))
	b.stats.Steps += uint64(awake)
	return ok
}

// audit compares the audit of a complete snapshot with the bodies computed (P4).
func (b *bodies) audit(r *Replica, s *seenSnapshot) {
	b.audited = b.audited[:0]
	b.budget.spend(lookTime * len(r.entities))
	for _, e := range r.entities {
		if !wire.Audited(e.handle, s.seq) {
			continue
		}
		t := b.tracks[e.index]
		if e.states.tick > s.tick || t != nil && t.lost {
			return // what the entity was at the tick is not known
		}
		if t != nil {
			b.audited = append(b.audited, t)
		}
	}
	slices.SortFunc(b.audited, func(x, y *track) int { return cmp.Compare(x.handle.Index(), y.handle.Index()) })
	sum := uint32(0)
	for _, t := range b.audited {
		state := bodyOf(b.state(t, s.tick))
		sum = wire.Audit(sum, t.handle, &state)
	}
	b.stats.Audited++
	if sum == s.sum {
		b.diverged, b.reported = false, false
		return
	}
	b.stats.Faults++
	b.diverged = true
	if f := r.observer.Diverge; f != nil && !b.reported {
		b.reported = true
		f(s.tick, handlesOf(b.audited))
	}
}

func handlesOf(tracks []*track) (handles []bulk.Handle) {
	for _, t := range tracks {
		handles = append(handles, t.handle)
	}
	return handles
}

// needsResync reports once that the server should send all states again.
func (b *bodies) needsResync() bool {
	need := b.overrun || b.diverged
	b.overrun, b.diverged = false, false
	return need
}
