package bodies

import (
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// ApplyExtension applies an Extension record of a message of the given tick.
func (b *Bodies) ApplyExtension(record wire.Record, tick uint32) error {
	switch wire.Extension(record.Number) {
	case wire.ExtendProgram:
		return b.computation.loadProgram(record.Program(), tick)
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

// checkLeader checks that the entity that an effect follows will be in view.
func (b *Bodies) checkLeader(p *wire.Path) error {
	if p.Form == wire.PathFollowing && !b.replica.WillBeInView(p.Leader) {
		return badMessage("an effect follows %v, which is not in view", p.Leader)
	}
	return nil
}

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
			if index, inView := b.replica.IndexOf(v.leader); inView && b.tracks.byIndex[index] != nil {
				number = b.tracks.byIndex[index].number
			}
			if number != v.source.Leader {
				v.source.Leader = number
				if v.applied && b.tracks.now != 0 {
					b.computation.reinstallEffect(slot)
				}
			}
		}
	}
}
