package predict

import "slices"

// subjects are the entities that are predicted together: the controlled one and its companions.
type subjects struct {
	session    Session
	controlled *subject
	groups     []*Group
	all        []*subject // controlled, then the members of groups
	judged     judgements // scratch
}

// addGroup adds an empty group.
func (l *subjects) addGroup(g *Group) { l.groups = append(l.groups, g) }

// listAll lists all subjects after the members of a group have changed.
func (l *subjects) listAll() {
	l.all = append(l.all[:0], l.controlled)
	for _, g := range l.groups {
		for _, c := range g.members {
			l.all = append(l.all, &c.subject)
		}
	}
}

// dropGone drops the companions that have died, left view, or lost a component, and reports
// whether a member was among them.
func (l *subjects) dropGone() bool {
	dropped := false
	for _, g := range l.groups {
		gone := func(c *Companion) bool {
			if g.entityOf(c) != nil {
				return false
			}
			g.spare = append(g.spare, c)
			return true
		}
		before := len(g.members)
		g.members, g.leaving = slices.DeleteFunc(g.members, gone), slices.DeleteFunc(g.leaving, gone)
		dropped = dropped || len(g.members) < before
	}
	if dropped {
		l.listAll()
	}
	return dropped
}

// dropCompanions empties all groups.
func (l *subjects) dropCompanions() {
	for _, g := range l.groups {
		g.spare = append(append(g.spare, g.members...), g.leaving...)
		g.members, g.leaving = g.members[:0], g.leaving[:0]
	}
	l.listAll()
}

// resizeSpare makes new slots for the spare companions, and returns how many there are.
func (l *subjects) resizeSpare(slots int) (companions int) {
	for _, g := range l.groups {
		for _, c := range g.spare {
			c.resizeStates(slots)
		}
		companions += len(g.spare)
	}
	return companions
}

// forgetEntities forgets the entities of the newest judgements.
func (l *subjects) forgetEntities() { clear(l.judged[:cap(l.judged)]) }

func (l *subjects) copyStates(to, from int) {
	for _, s := range l.all {
		s.states.copyValue(to, from)
	}
}

// keepDrawn keeps the drawn states, before a correction.
func (l *subjects) keepDrawn() {
	for _, s := range l.all {
		s.keepDrawn()
	}
}

// blendFromDrawn blends from the drawn states to the corrected ones.
func (l *subjects) blendFromDrawn() {
	for _, s := range l.all {
		s.blendFromDrawn()
	}
}

// knownTick returns the newest tick at which the server state of any subject is known.
func (l *subjects) knownTick(e Entity) uint32 {
	tick := l.session.KnownUntil(e)
	for _, g := range l.groups {
		for _, c := range g.members {
			tick = max(tick, l.session.OtherKnownUntil(g.entityOf(c)))
		}
	}
	return tick
}

// judgeAt returns the subjects whose server state is known at tick. The others keep their
// predictions until their states arrive.
func (l *subjects) judgeAt(e Entity, tick uint32) judgements {
	l.judged = l.judged[:0]
	if l.session.KnownUntil(e) >= tick {
		l.judged = append(l.judged, judgement{l.controlled, e})
	}
	for _, g := range l.groups {
		for _, c := range g.members {
			if e := g.entityOf(c); l.session.OtherKnownUntil(e) >= tick {
				c.compared = tick
				l.judged = append(l.judged, judgement{&c.subject, e})
			}
		}
	}
	return l.judged
}

// judgeAll returns all subjects.
func (l *subjects) judgeAll(e Entity) judgements {
	l.judged = append(l.judged[:0], judgement{l.controlled, e})
	for _, g := range l.groups {
		for _, c := range g.members {
			l.judged = append(l.judged, judgement{&c.subject, g.entityOf(c)})
		}
	}
	return l.judged
}
