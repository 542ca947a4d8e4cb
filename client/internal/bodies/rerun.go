package bodies

// catchUpLate advances the bodies that were given states of earlier ticks to the present tick, under
// the effects of the ticks between. Other bodies keep their states (C12). It returns false if the
// work takes too long.
func (b *Bodies) catchUpLate() bool {
	b.redone = b.redone[:0]
	for _, t := range b.waiting {
		if t.state == trackGiven && t.at <= b.now {
			t.state = trackLate
			b.redone = append(b.redone, t)
		}
	}
	b.replaceLate()
	if len(b.redone) == 0 {
		return true
	}
	if !b.simulateLate() {
		return false
	}
	b.dropComputed()
	return true
}

// replaceLate installs the effects whose records arrived after their ticks were computed.
func (b *Bodies) replaceLate() {
	for _, slot := range b.effects.due {
		e, late := &b.effects.slots[slot], false
		for i := range e.versions {
			if v := &e.versions[i]; !v.applied && v.from <= b.now {
				v.applied, late = true, true
			}
		}
		if late {
			b.sim.EndEffect(slot, false)
			b.installEffect(b.sim, slot, b.now)
		}
	}
}

// simulateLate computes b.redone up to now and puts these bodies into sim.
func (b *Bodies) simulateLate() bool {
	from := b.now
	for _, t := range b.redone {
		from = min(from, t.at)
	}
	if from < b.now {
		b.rerun.Reset(uint64(from))
		for _, slot := range b.effects.used {
			b.installEffect(b.rerun, slot, from)
		}
	}
	for tick := from; tick < b.now; tick++ {
		if b.budget.Overdrawn() {
			return false
		}
		b.placeLate(tick)
		if !b.applyVersions(b.rerun, b.effects.used, tick+1) || !b.stepSim(b.rerun, len(b.redone)+2*b.effects.versions) {
			return false
		}
		_, awake := b.rerun.Len()
		b.stats.Rerun += uint64(awake)
		b.rerun.Changed(b.writeNew)
	}
	for _, t := range b.redone {
		state := t.given
		if t.at < b.now {
			state, _ = b.rerun.State(t.number)
		} else {
			b.startFromGiven(t)
		}
		t.state = trackComputed
		b.sim.Put(t.number, t.kind, state)
	}
	return true
}

// placeLate puts the bodies whose given state is of tick into rerun, and the leaders of effects.
func (b *Bodies) placeLate(tick uint32) {
	for _, t := range b.redone {
		if t.at == tick {
			b.startFromGiven(t)
			b.rerun.Put(t.number, t.kind, t.given)
		}
	}
	for _, slot := range b.effects.used {
		for i := range b.effects.slots[slot].versions {
			n := b.effects.slots[slot].versions[i].source.Leader
			if n >= uint32(len(b.numbered)) || b.numbered[n] == nil {
				continue
			}
			if t := b.numbered[n]; t.state != trackLate || t.at > tick {
				b.rerun.Put(n, t.kind, b.stateAfter(t, tick))
			}
		}
	}
}

// startFromGiven forgets the states of a body after its given one.
func (b *Bodies) startFromGiven(t *track) {
	b.syncTrack(t)
	if !t.holdsOnlyGiven() {
		b.takeList(t)
		t.recordState(t.at, t.given)
	}
}
