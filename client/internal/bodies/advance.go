package bodies

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// ApplySnapshot notes an applied snapshot, and computes all bodies up to the tick of a complete
// one if that is the newest and all that are linked to it were applied.
func (b *Bodies) ApplySnapshot(h *wire.StateHeader) {
	b.snapshots.addSnapshot(h)
	if s := b.snapshots.newestComplete(h.Seq, b.now); s != nil {
		b.completeSnapshot(s)
	}
}

// completeSnapshot computes all bodies up to the tick of a snapshot (P1), and checks its audit. If
// the budget is spent, the bodies stay at the tick that they have reached, and a later snapshot
// continues from there. Bodies more than a second behind stand still until the server sends their
// states again.
func (b *Bodies) completeSnapshot(s *snapshot) {
	if b.budget.Spent() {
		b.stats.Behind++
		return
	}
	b.budget.Spend(snapshotTime + lookTime*(len(b.numbered)+len(b.waiting)+2*b.effects.versions))
	b.findLeaders()
	if b.now == 0 {
		b.restartAt(s.tick)
	}
	if !b.catchUpLate() || !b.advanceTo(s.tick) {
		b.giveUpAt(s.tick)
	} else if b.now < s.tick {
		b.stats.Behind++
	}
	b.effects.dropSettled()
	b.effects.forgetBefore(b.now - min(b.now, keptTicks))
	b.sweepStates()
	b.ghosts = slices.DeleteFunc(b.ghosts, func(t *track) bool {
		if b.isLeader(t) {
			return false
		}
		b.removeTrack(t)
		return true
	})
	if s.audit && s.structure == b.replica.Structure() && b.now == s.tick && !b.budget.Spent() {
		b.checkAudit(s)
	}
}

// restartAt empties sim at a tick.
func (b *Bodies) restartAt(tick uint32) {
	b.now = tick
	b.sim.Reset(uint64(tick))
	for _, slot := range b.effects.used {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			versions[i].applied = versions[i].applied || versions[i].from <= tick
		}
		b.installEffect(b.sim, slot, tick)
	}
}

// giveUpAt empties sim at a tick: all bodies stand still until the server sends their states
// again.
func (b *Bodies) giveUpAt(tick uint32) {
	b.stats.Overruns++
	b.overrun = true
	b.budget.Spend(lookTime * int(b.keep) * len(b.numbered))
	for _, t := range b.numbered {
		if t != nil {
			b.syncTrack(t)
		}
	}
	b.restartAt(tick)
	for _, t := range b.numbered {
		if t != nil && (!t.waits() || t.at <= tick) {
			t.state = trackLost
		}
	}
	b.dropComputed()
}

// advanceTo computes all bodies up to a tick, or until the budget is spent. It returns false if
// that leaves them too far behind, or if a tick takes too long.
func (b *Bodies) advanceTo(tick uint32) bool {
	for b.now < tick {
		if b.budget.Spent() {
			return tick-b.now <= b.maxBehind
		}
		b.placeWaiting()
		if !b.applyVersions(b.sim, b.effects.due, b.now+1) {
			return false
		}
		b.now++
		versions := 0
		if len(b.effects.due) > 0 {
			versions = b.effects.versions
		}
		if !b.stepSim(b.sim, versions) {
			return false
		}
		b.logChanges()
	}
	b.placeWaiting()
	return true
}

// placeWaiting puts the bodies whose given state is of the current tick into sim.
func (b *Bodies) placeWaiting() {
	if len(b.waiting) == 0 {
		return
	}
	kept := b.waiting[:0]
	for _, t := range b.waiting {
		if !t.waits() {
			continue
		}
		if t.at != b.now {
			kept = append(kept, t)
			continue
		}
		t.state = trackComputed
		if !t.holdsOnlyGiven() {
			b.changesNow().Set(t.number, t.given)
			t.slept = b.now
		}
		b.sim.Put(t.number, t.kind, t.given)
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
}

// stepSim moves a sim by one tick. looked is the number of tracks and versions that were read for
// it. It returns false if that takes too long.
func (b *Bodies) stepSim(m *motion.Sim, looked int) bool {
	all, awake := m.Len()
	load := tickTime + bodyTime*awake + reachTime*all*m.Effects() + effectTime*m.Effects() + lookTime*(len(b.waiting)+looked)
	if awake > 0 {
		load += actTime * m.Effects()
	}
	b.budget.Spend(load)
	if load > int(work.MaxTick) {
		return false
	}
	slowest := max(b.slowest, 1)
	points, ok := m.TickWithin(int(float64(work.MaxTick) / slowest))
	b.budget.Spend(int(slowest * float64(points)))
	b.stats.Steps += uint64(awake)
	return ok
}

// checkAudit compares the audit of a complete snapshot with the bodies computed (P4).
func (b *Bodies) checkAudit(s *snapshot) {
	b.audited = b.audited[:0]
	b.budget.Spend(lookTime * len(b.tracks))
	b.covered = b.replica.AppendAudited(b.covered[:0], s.seq)
	for _, e := range b.covered {
		t := b.tracks[e.Index]
		if e.Tick > s.tick || t != nil && t.state == trackLost {
			return // what the entity was at the tick is not known
		}
		if t != nil {
			b.audited = append(b.audited, t)
		}
	}
	slices.SortFunc(b.audited, func(x, y *track) int { return cmp.Compare(x.handle.Index(), y.handle.Index()) })
	sum := uint32(0)
	for _, t := range b.audited {
		state := bodyOf(b.stateAfter(t, s.tick))
		sum = wire.Audit(sum, t.handle, &state)
	}
	b.stats.Audited++
	if sum == s.sum {
		b.diverged, b.reported = false, false
		return
	}
	b.stats.Faults++
	b.diverged = true
	if !b.reported {
		b.reported = true
		b.replica.Diverged(s.tick, handlesOf(b.audited))
	}
}

func handlesOf(tracks []*track) (handles []bulk.Handle) {
	for _, t := range tracks {
		handles = append(handles, t.handle)
	}
	return handles
}
