package client

import (
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// extend applies an Extension record of a message of the given tick.
func (b *bodies) extend(r *Replica, record wire.Record, tick uint32) error {
	before := b.bytes()
	var err error
	switch wire.Extension(record.Number) {
	case wire.ExtendProgram:
		b.budget.spend(programTime + codeTime*len(record.Program().Code) + lookTime*len(b.effects.used))
		if err = b.effects.addProgram(record.Program(), tick); err == nil {
			b.slowest = max(b.slowest, b.effects.programs[record.Program().Number].NanosecondsPerPoint())
		}
	case wire.ExtendEffectAdded:
		e := record.EffectAdded()
		if err = r.checkLeader(&e.Path); err == nil {
			err = b.effects.add(&e, tick)
		}
	case wire.ExtendEffectChanged:
		e := record.EffectChanged()
		if err = r.checkLeader(&e.Path); err == nil {
			err = b.effects.change(&e, tick)
		}
	case wire.ExtendEffectEnded, wire.ExtendEffectLeft:
		e := record.EffectEnded()
		err = b.effects.end(&e, tick)
	case wire.ExtendKind:
		k := record.KindAdded()
		if _, ok := b.kinds[k.Kind]; ok || int(k.Kind) < r.codec.Schema().Kinds() {
			return protocolError("kind %d is added, which is known", k.Kind)
		}
		b.addKind(k.Kind, motion.Kind{
			InvMass: k.InvMass, Coupling: k.Coupling, Radius: k.Radius, Friction: k.Friction,
			Restitution: k.Restitution, Layers: motion.Layers(k.Layers),
		})
	}
	if err != nil {
		return err
	}
	return r.charge(b.bytes() - before)
}

// checkLeader checks that an effect follows an entity that will be Live.
func (r *Replica) checkLeader(p *wire.Path) error {
	if p.Form != wire.PathFollowing {
		return nil
	}
	if h := p.Leader; h.Index() < r.maxSlots && r.cells.peek(h.Index()) != nil {
		if c := r.planOf(h.Index()); c.live && c.generation == h.Generation() {
			return nil
		}
	}
	return protocolError("an effect follows %v, which is not in view", p.Leader)
}

// leads reports whether an effect follows a body.
func (b *bodies) leads(t *track) bool { return b.effects.leaders[t.handle] != nil }

// findLeaders finds the bodies that effects follow.
func (b *bodies) findLeaders(r *Replica) {
	if len(b.effects.leaders) == 0 {
		return
	}
	for _, slot := range b.effects.used {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			v := &versions[i]
			if !v.follows() {
				continue
			}
			number := uint32(noNumber)
			if ghost := b.effects.leaders[v.leader].ghost; ghost != nil {
				number = ghost.number
			}
			if e, verdict := r.Lookup(v.leader); verdict == wire.Live && b.tracks[e.index] != nil {
				number = b.tracks[e.index].number
			}
			if number != v.source.Leader {
				v.source.Leader = number
				if v.applied && b.now != 0 {
					b.sim.EndEffect(slot, false)
					b.install(b.sim, slot, b.now)
				}
			}
		}
	}
}

// install puts the effect on a slot, as it is after a tick, into a sim of that tick. It wakes
// nothing.
func (b *bodies) install(m *motion.Sim, slot, tick uint32) {
	v := b.effects.slots[slot].after(tick)
	if v == nil {
		return
	}
	if !v.follows() || v.source.Leader == noNumber {
		b.set(m, slot, v, false)
		return
	}
	// The centre is still where the leader was before the tick.
	leader := b.numbered[v.source.Leader]
	before, after := b.state(leader, tick-1), b.state(leader, tick)
	m.Put(leader.number, leader.kind, before)
	b.set(m, slot, v, false)
	m.Put(leader.number, leader.kind, after)
}

func (b *bodies) set(m *motion.Sim, slot uint32, v *version, wake bool) {
	b.budget.spend(instructionTime * v.source.Program.Len())
	if err := m.SetEffect(slot, &v.source, wake); err != nil {
		panic("client: an effect that was checked: " + err.Error())
	}
}

// apply applies the versions of effects from a tick on to a sim of the tick before. It returns
// false if that takes too long.
func (b *bodies) apply(m *motion.Sim, slots []uint32, tick uint32) bool {
	for _, slot := range slots {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			v := &versions[i]
			if v.from != tick {
				continue
			}
			if all, _ := m.Len(); v.wakesOld || v.wakesNew {
				b.budget.spend(2 * reachTime * all)
			}
			if b.budget.overdrawn() {
				return false
			}
			m.EndEffect(slot, v.wakesOld)
			if !v.gone {
				b.set(m, slot, v, v.wakesNew)
			}
			v.applied = true
		}
	}
	return true
}
