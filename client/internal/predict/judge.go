package predict

// judgement is a subject whose server state is known at the tick to confirm.
type judgement struct {
	*subject
	entity Entity
}

type judgements []judgement

// matchStates reports whether the predicted states in a slot quantise to the server's, to
// within a step.
func (l judgements) matchStates(slot int) bool {
	for _, j := range l {
		if !j.matchesNewest(j.entity, slot) {
			return false
		}
	}
	return true
}

// equalStates reports whether the predicted states in a slot quantise to the server's, and
// exact bodies have the same bits.
func (l judgements) equalStates(slot int) bool {
	for _, j := range l {
		if !j.equalsNewest(j.entity, slot) {
			return false
		}
	}
	return true
}

// confirmTick compares the server's state at tick with the predicted one, and corrects the
// prediction if they differ (C7).
func (p *Core) confirmTick(e Entity, tick uint32) {
	if p.phase != paused && tick > p.newest && tick-p.confirmed < p.window {
		p.predictTicks(p.newest+1, tick) // the game makes no inputs, and the server repeats the last one
	}
	judged, since := p.subjects.judgeAt(e, tick), p.confirmed
	known := tick <= p.newest && p.phase == running
	agreed := known && judged.matchStates(p.slotOf(tick))
	if agreed && judged.equalStates(p.slotOf(tick)) {
		p.stats.Agreed++
		p.acceptTick(tick)
		p.predictTicks(p.newest+1, p.targetTick())
		return
	}
	if known && !agreed {
		for _, j := range judged {
			p.corrections.countDifferences(j.subject, j.entity, p.slotOf(tick), tick)
		}
	}
	p.subjects.keepDrawn()
	switch {
	case p.phase == paused:
		p.resumeAt(tick)
		fallthrough
	case !known:
		p.undoUnapplied(tick)
		p.subjects.copyStates(p.slotOf(tick), p.slotOf(p.newest))
		judged = p.subjects.judgeAll(e)
	case agreed:
		p.stats.Agreed++
	case p.explainByInputs(judged, tick):
		p.stats.Corrected++
		p.stats.Missed++
	default:
		p.stats.Corrected++
	}
	for _, j := range judged {
		j.restoreFrom(j.entity, p.slotOf(tick))
	}
	p.acceptTick(tick)
	p.truncateAfter(p.targetTick())
	p.predictTicks(tick+1, p.targetTick())
	p.subjects.blendFromDrawn()
	for _, j := range judged {
		j.followTeleport(j.entity, since)
	}
}

// acceptTick makes tick the confirmed one.
func (p *Core) acceptTick(tick uint32) {
	held := uint32(0)
	for t := tick; t > max(p.confirmed, tick-min(tick, p.window)) && held == 0; t-- {
		if p.inputs.hasInput(t) {
			held = t
		}
	}
	if p.session.Tick() == tick {
		p.applied = p.session.AppliedInput()
		if held == 0 && p.applied > p.inputs.held && p.inputs.hasInput(p.applied) {
			held = p.applied // later than its tick, which was confirmed before
		}
	}
	if held != 0 {
		p.inputs.holdInput(held)
	}
	p.confirmed = tick
	if p.phase == paused {
		p.phase = running
	}
	p.newest = max(p.newest, tick)
}

// reviseUntil compares the companions whose states arrived only after their tick was confirmed
// or skipped; the tick may be at most last. If a companion differs, it predicts again from that
// tick.
func (p *Core) reviseUntil(last uint32) {
	if p.phase == paused {
		return
	}
	for _, g := range p.subjects.groups {
		for i := 0; i < len(g.members); i++ { // a panic in a step empties the group
			c := g.members[i]
			e := g.entityOf(c)
			tick := p.session.OtherKnownUntil(e)
			if tick <= c.compared || tick < p.confirmed || tick > min(last, p.newest) {
				continue
			}
			since := c.compared
			c.compared = tick
			agreed := c.matchesNewest(e, p.slotOf(tick))
			if agreed && c.equalsNewest(e, p.slotOf(tick)) {
				continue
			}
			if !agreed {
				p.stats.Corrected++
				p.corrections.countDifferences(&c.subject, e, p.slotOf(tick), tick)
			}
			p.subjects.keepDrawn()
			c.restoreFrom(e, p.slotOf(tick))
			p.predictTicks(tick+1, p.newest)
			p.subjects.blendFromDrawn()
			c.followTeleport(e, since)
		}
	}
}

// predictAgain predicts all ticks again. keepDrawn must have been called before.
func (p *Core) predictAgain() {
	p.truncateAfter(p.targetTick())
	p.predictTicks(p.confirmed+1, p.targetTick())
	p.subjects.blendFromDrawn()
}

// Recorrect corrects the confirmed tick by its own state, for tests that measure the cost.
func (p *Core) Recorrect() {
	p.subjects.keepDrawn()
	p.predictAgain()
}
