package client

// catchUp computes the bodies whose states are of earlier ticks up to now, by the effects of
// those ticks. Nothing else changes in ticks computed before. It returns false if that takes
// too long.
func (b *bodies) catchUp() bool {
	b.redone = b.redone[:0]
	for _, t := range b.waiting {
		if t.fresh && t.at <= b.now {
			t.late = true
			b.redone = append(b.redone, t)
		}
	}
	b.replaceLate()
	if len(b.redone) == 0 {
		return true
	}
	if !b.computeAgain() {
		return false
	}
	b.dropComputed()
	return true
}

// replaceLate brings the effects whose records arrived after the ticks that they are about
// were computed up to now.
func (b *bodies) replaceLate() {
	for _, slot := range b.effects.due {
		e, late := &b.effects.slots[slot], false
		for i := range e.versions {
			if v := &e.versions[i]; !v.applied && v.from <= b.now {
				v.applied, late = true, true
			}
		}
		if late {
			b.sim.EndEffect(slot, false)
			b.install(b.sim, slot, b.now)
		}
	}
}

// computeAgain computes b.redone up to now and puts them into sim.
func (b *bodies) computeAgain() bool {
	from := b.now
	for _, t := range b.redone {
		from = min(from, t.at)
	}
	if from < b.now {
		b.again.Reset(uint64(from))
		for _, slot := range b.effects.used {
			b.install(b.again, slot, from)
		}
	}
	for tick := from; tick < b.now; tick++ {
		if b.budget.overdrawn() {
			return false
		}
		b.putAgain(tick)
		if !b.apply(b.again, b.effects.used, tick+1) || !b.tick(b.again, len(b.redone)+2*b.effects.versions) {
			return false
		}
		_, awake := b.again.Len()
		b.stats.Rerun += uint64(awake)
		b.again.Changed(b.rewrite)
	}
	for _, t := range b.redone {
		state := t.given
		if t.at < b.now {
			state, _ = b.again.State(t.number)
		} else {
			b.start(t)
		}
		t.fresh, t.late = false, false
		b.sim.Put(t.number, t.kind, state)
	}
	return true
}

// putAgain puts the bodies that begin at a tick, and those that effects follow.
func (b *bodies) putAgain(tick uint32) {
	for _, t := range b.redone {
		if t.at == tick {
			b.start(t)
			b.again.Put(t.number, t.kind, t.given)
		}
	}
	for _, slot := range b.effects.used {
		for i := range b.effects.slots[slot].versions {
			n := b.effects.slots[slot].versions[i].source.Leader
			if n >= uint32(len(b.numbered)) || b.numbered[n] == nil {
				continue
			}
			if t := b.numbered[n]; !t.late || t.at > tick {
				b.again.Put(n, t.kind, b.state(t, tick))
			}
		}
	}
}

// start forgets the states of a body after the one that was given.
func (b *bodies) start(t *track) {
	b.sync(t)
	if !t.begins() {
		b.remember(t)
		t.record(t.at, t.given)
	}
}
