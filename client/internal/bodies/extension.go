package bodies

import (
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// ApplyExtension applies an Extension record of a message of the given tick.
func (b *Bodies) ApplyExtension(record wire.Record, tick uint32) error {
	switch wire.Extension(record.Number) {
	case wire.ExtendProgram:
		return b.addProgram(record.Program(), tick)
	case wire.ExtendEffectAdded:
		e := record.EffectAdded()
		if err := b.checkLeader(&e.Path); err != nil {
			return err
		}
		return b.effects.addEffect(&e, tick)
	case wire.ExtendEffectChanged:
		e := record.EffectChanged()
		if err := b.checkLeader(&e.Path); err != nil {
			return err
		}
		return b.effects.changeEffect(&e, tick)
	case wire.ExtendEffectEnded, wire.ExtendEffectLeft:
		e := record.EffectEnded()
		return b.effects.endEffect(&e, tick)
	case wire.ExtendKind:
		k := record.KindAdded()
		if _, ok := b.kinds[k.Kind]; ok || k.Kind < b.declared {
			return badMessage("kind %d is added, which is known", k.Kind)
		}
		b.addKind(k.Kind, schema.KindBody(k.KindConstants))
	}
	return nil
}

func (b *Bodies) addProgram(p wire.Program, tick uint32) error {
	b.budget.Spend(programTime + codeTime*len(p.Code) + lookTime*len(b.effects.used))
	if err := b.effects.addProgram(p, tick); err != nil {
		return err
	}
	b.slowest = max(b.slowest, b.effects.programs[p.Number].NanosecondsPerPoint())
	return nil
}

// checkLeader checks that the entity which an effect follows will be in view.
func (b *Bodies) checkLeader(p *wire.Path) error {
	if p.Form == wire.PathFollowing && !b.replica.WillBeInView(p.Leader) {
		return badMessage("an effect follows %v, which is not in view", p.Leader)
	}
	return nil
}

// isLeader reports whether an effect follows a body.
func (b *Bodies) isLeader(t *track) bool { return b.effects.leaders[t.handle] != nil }

// findLeaders finds the bodies that effects follow.
func (b *Bodies) findLeaders() {
	if len(b.effects.leaders) == 0 {
		return
	}
	for _, slot := range b.effects.used {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			v := &versions[i]
			if !v.followsEntity() {
				continue
			}
			number := uint32(noNumber)
			if ghost := b.effects.leaders[v.leader].ghost; ghost != nil {
				number = ghost.number
			}
			if index, inView := b.replica.IndexOf(v.leader); inView && b.tracks[index] != nil {
				number = b.tracks[index].number
			}
			if number != v.source.Leader {
				v.source.Leader = number
				if v.applied && b.now != 0 {
					b.sim.EndEffect(slot, false)
					b.installEffect(b.sim, slot, b.now)
				}
			}
		}
	}
}

// installEffect puts the effect on a slot, as it is after a tick, into a sim of that tick. It wakes
// nothing.
func (b *Bodies) installEffect(m *motion.Sim, slot, tick uint32) {
	v := b.effects.slots[slot].versionAfter(tick)
	if v == nil {
		return
	}
	if !v.followsEntity() || v.source.Leader == noNumber {
		b.setEffect(m, slot, v, false)
		return
	}
	// The centre is still where the leader was before the tick.
	leader := b.numbered[v.source.Leader]
	before, after := b.stateAfter(leader, tick-1), b.stateAfter(leader, tick)
	m.Put(leader.number, leader.kind, before)
	b.setEffect(m, slot, v, false)
	m.Put(leader.number, leader.kind, after)
}

// setEffect puts a version of the effect on a slot into a sim.
func (b *Bodies) setEffect(m *motion.Sim, slot uint32, v *version, wake bool) {
	b.budget.Spend(instructionTime * v.source.Program.Len())
	if err := m.SetEffect(slot, &v.source, wake); err != nil {
		panic("bodies: an effect that was checked: " + err.Error())
	}
}

// applyVersions applies the versions of effects from a tick on to a sim of the tick before. It returns
// false if that takes too long.
func (b *Bodies) applyVersions(m *motion.Sim, slots []uint32, tick uint32) bool {
	for _, slot := range slots {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			v := &versions[i]
			if v.from != tick {
				continue
			}
			if all, _ := m.Len(); v.wakesOld || v.wakesNew {
				b.budget.Spend(2 * reachTime * all)
			}
			if b.budget.Overdrawn() {
				return false
			}
			m.EndEffect(slot, v.wakesOld)
			if !v.gone {
				b.setEffect(m, slot, v, v.wakesNew)
			}
			v.applied = true
		}
	}
	return true
}
