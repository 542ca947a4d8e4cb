package bodies

// catchUpLate advances bodies that received states of earlier ticks to the present tick, under
// the effects of the ticks between. Other bodies keep their states (C12). It returns false if
// that takes too long.
func (c *computation) catchUpLate() bool {
	c.late = c.late[:0]
	for _, t := range c.tracks.waiting {
		if t.state == trackGiven && t.at <= c.tracks.now {
			t.state = trackLate
			c.late = append(c.late, t)
		}
	}
	c.replaceLate()
	if len(c.late) == 0 {
		return true
	}
	if !c.simulateLate() {
		return false
	}
	c.tracks.dropComputed()
	return true
}

// replaceLate installs the effects whose records arrived after their ticks had been computed.
func (c *computation) replaceLate() {
	for _, slot := range c.effects.due {
		if c.effects.takeLate(slot, c.tracks.now) {
			c.reinstallEffect(slot)
		}
	}
}

// simulateLate computes c.late up to now and puts those bodies into sim.
func (c *computation) simulateLate() bool {
	from := c.tracks.now
	for _, t := range c.late {
		from = min(from, t.at)
	}
	if from < c.tracks.now {
		c.past.Reset(uint64(from))
		for _, slot := range c.effects.used {
			c.installEffect(c.past, slot, from)
		}
	}
	for tick := from; tick < c.tracks.now; tick++ {
		if c.budget.Overdrawn() {
			return false
		}
		c.placeLate(tick)
		if !c.applyVersions(c.past, c.effects.used, tick+1) || !c.stepSim(c.past, len(c.late)+2*c.effects.versions) {
			return false
		}
		_, awake := c.past.Len()
		c.stats.Rerun += uint64(awake)
		c.past.Changed(c.writeLate)
	}
	for _, t := range c.late {
		state := t.given
		if t.at < c.tracks.now {
			state, _ = c.past.State(t.number)
		} else {
			c.tracks.startFromGiven(t)
		}
		t.state = trackComputed
		c.tracks.sim.Put(t.number, t.kind, state)
	}
	return true
}

// placeLate puts the bodies whose received state is of tick, and the leaders of effects, into
// past.
func (c *computation) placeLate(tick uint32) {
	for _, t := range c.late {
		if t.at == tick {
			c.tracks.startFromGiven(t)
			c.past.Put(t.number, t.kind, t.given)
		}
	}
	for _, slot := range c.effects.used {
		for i := range c.effects.slots[slot].versions {
			n := c.effects.slots[slot].versions[i].source.Leader
			if n >= uint32(len(c.tracks.numbered)) || c.tracks.numbered[n] == nil {
				continue
			}
			if t := c.tracks.numbered[n]; t.state != trackLate || t.at > tick {
				c.past.Put(n, t.kind, c.tracks.stateAfter(t, tick))
			}
		}
	}
}
