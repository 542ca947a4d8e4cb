package client

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/worldd/worldd/bulk"
)

// MaxAlong is how many entities an Along holds. Further ones are not taken. Each takes the memory
// of a state for each tick of MaxPredicted, and as many that Take has dropped are drawn for a second.
const MaxAlong = 16

// Along is a set of entities that a Prediction takes along: the vehicle that the player
// steers, the ball that he pushes, the crate that he carries. Its zero value is for
// PredictConfig.Along, and is empty. State is a component or a struct of components, as in
// Predict; owner-only fields are for entities that the client owns.
//
// The step function changes the states that All or Get returns, as the server's game changes
// the entities themselves. They are predicted with the controlled entity: from the server's
// states as of the same tick, and again if any of them was not as predicted.
type Along[State any] struct {
	group *group
	rings []*[]State // by companion.number; each as Prediction.states
}

// Companions is a *Along.
type Companions interface{ attach(p *prediction) error }

// attach makes a part of p.
func (a *Along[State]) attach(p *prediction) error {
	if a.group != nil {
		return errors.New("client: an Along is in use by another Prediction")
	}
	g := &group{of: p}
	g.create = func() (*companion, error) {
		ring := new([]State)
		s, err := newSubject(p, ring)
		if err != nil {
			return nil, err
		}
		s.makeStates(len(p.inputs))
		a.rings = append(a.rings, ring)
		return &companion{subject: s, number: len(a.rings) - 1}, nil
	}
	first, err := g.create()
	if err != nil {
		return fmt.Errorf("%w, for an Along", err)
	}
	g.spare = append(g.spare, first)
	for _, c := range first.parts {
		for _, f := range p.session.declared.Fields(c.number) {
			g.secret = g.secret || f.Owner
		}
	}
	p.groups = append(p.groups, g)
	a.group = g
	return nil
}

// Take makes the set these entities, the first MaxAlong that can be predicted: they are in
// view, have the components of State, and are not the controlled one. Entities that remain are
// predicted on. Call Take once per render, after Update, with what the player is about to touch.
//
// An entity that dies or leaves view leaves the set, and the set is emptied whenever the
// Prediction stops or a new session begins; the verdict of Lookup says why, and nothing joins the
// set again but by Take. Take does nothing inside the step function and while there is no
// prediction or it pauses.
func (a *Along[State]) Take(handles ...bulk.Handle) {
	if a.group != nil {
		a.group.take(handles)
	}
}

// All yields the entities of the set and their states at the tick of the step function's call,
// in the order of Take. The step function may change the states, and must not keep them.
// Outside of it All yields nothing.
func (a *Along[State]) All() iter.Seq2[bulk.Handle, *State] {
	return func(yield func(bulk.Handle, *State) bool) {
		if a.group == nil || a.group.of.stepping == 0 {
			return
		}
		for _, c := range a.group.taken {
			if !yield(c.handle, &(*a.rings[c.number])[a.group.of.slotOf(a.group.of.stepping)]) {
				return
			}
		}
	}
}

// Get returns the state of one entity for the step function, as All does, and nil if it is not
// in the set.
func (a *Along[State]) Get(h bulk.Handle) *State {
	if a.group == nil || a.group.of.stepping == 0 {
		return nil
	}
	c := a.group.find(a.group.taken, h)
	if c == nil {
		return nil
	}
	return &(*a.rings[c.number])[a.group.of.slotOf(a.group.of.stepping)]
}

// State returns the newest predicted state of an entity, and false if it is not in the set. See
// Prediction.State.
func (a *Along[State]) State(h bulk.Handle) (state State, ok bool) {
	if a.group == nil {
		return state, false
	}
	c := a.group.find(a.group.taken, h)
	if c == nil {
		return state, false
	}
	c.copyState(scratch, c.of.slotOf(c.of.newest))
	c.setTexts(scratch)
	return (*a.rings[c.number])[scratch], true
}

// At returns the state to draw of an entity, at the newest moment that Render returned, and
// false if it is to be drawn as all others, by Component.At. Mispredictions are blended as by
// Prediction.At. So is the way of an entity that is taken, from where Component.At shows it to
// the present, and for a second the way back of one that Take has dropped.
func (a *Along[State]) At(h bulk.Handle, m Moment) (state State, ok bool) {
	if a.group == nil {
		return state, false
	}
	if c := a.group.find(a.group.taken, h); c != nil && c.drawTaken(m) {
		return (*a.rings[c.number])[scratch], true
	}
	if c := a.group.find(a.group.leaving, h); c != nil && c.drawLeaving(m) {
		return (*a.rings[c.number])[scratch], true
	}
	return state, false
}

// group is the part of an Along that does not depend on its type.
type group struct {
	of      *prediction
	create  func() (*companion, error)
	secret  bool         // a component has owner-only fields
	taken   []*companion // in the order of Take
	leaving []*companion // dropped by Take not long ago, the oldest first
	spare   []*companion
	next    []*companion // scratch
}

// companion is an entity that is taken along.
type companion struct {
	subject
	number  int           // of its ring
	judged  uint32        // newest tick whose state of the server was compared
	dropped bool          // from the set, and not drawn since
	left    time.Duration // when it was first drawn after that
}

// entity returns the companion's entity if it can be predicted.
func (g *group) entity(c *companion) *Entity {
	e := g.of.session.replica.Entity(c.handle)
	if e == nil || g.secret && !e.Owned() || e.handle == g.of.handle || !c.bind(e) {
		return nil
	}
	return e
}

// find returns the companion in list that h names, or nil.
func (g *group) find(list []*companion, h bulk.Handle) *companion {
	if len(list) == 0 {
		return nil
	}
	e := g.of.session.replica.Entity(h)
	for _, c := range list {
		if e != nil && c.handle == e.handle {
			return c
		}
	}
	return nil
}

func (g *group) take(handles []bulk.Handle) {
	p := g.of
	if !p.running || p.paused || p.stepping != 0 {
		return
	}
	g.next = g.next[:0]
	fresh := 0
	for _, h := range handles {
		if len(g.next) == MaxAlong {
			break
		}
		if g.find(g.next, h) != nil {
			continue
		}
		c := g.find(g.taken, h)
		if c == nil {
			c = g.prepare(h)
			if c == nil {
				continue
			}
			fresh++
		}
		g.next = append(g.next, c)
	}
	if changed := fresh > 0 || len(g.next) < len(g.taken); !changed {
		g.taken, g.next = g.next, g.taken
		return
	}
	p.beforeCorrection()
	for _, c := range g.taken {
		if !slices.Contains(g.next, c) {
			g.letGo(c)
		}
	}
	g.taken, g.next = g.next, g.taken
	p.recast()
	p.predictAgain()
	p.deliverUndone()
}

// prepare returns a companion for an entity with its newest state at the confirmed tick, or nil
// if the entity cannot be predicted.
func (g *group) prepare(h bulk.Handle) *companion {
	e := g.of.session.replica.Entity(h)
	if e == nil {
		return nil
	}
	if len(g.spare) == 0 {
		c, err := g.create()
		if err != nil {
			return nil // not possible: attach has made one
		}
		g.spare = append(g.spare, c)
	}
	last := len(g.spare) - 1
	c := g.spare[last]
	c.handle = e.handle
	if g.entity(c) == nil {
		return nil
	}
	g.spare = g.spare[:last]
	c.blend.reset()
	slot := g.of.slotOf(g.of.confirmed)
	c.zero(slot)
	c.restore(e, slot)
	c.judged = g.of.factOf(e)
	return c
}

// letGo moves a companion that was drawn to the leaving ones, and another to the spare ones.
func (g *group) letGo(c *companion) {
	if !c.blend.on {
		g.spare = append(g.spare, c)
		return
	}
	c.interpolate(c.blend.tick)
	c.moveByOffset()
	c.copyState(older, scratch)
	c.dropped = true
	if len(g.leaving) == MaxAlong {
		g.spare = append(g.spare, g.leaving[0])
		g.leaving = slices.Delete(g.leaving, 0, 1)
	}
	g.leaving = append(g.leaving, c)
}

// dropGone drops the companions that have died, left view, or lost a component.
func (p *prediction) dropGone() {
	dropped := false
	for _, g := range p.groups {
		gone := func(c *companion) bool {
			if g.entity(c) != nil {
				return false
			}
			g.spare = append(g.spare, c)
			return true
		}
		before := len(g.taken)
		g.taken, g.leaving = slices.DeleteFunc(g.taken, gone), slices.DeleteFunc(g.leaving, gone)
		dropped = dropped || len(g.taken) < before
	}
	if dropped {
		p.recast()
	}
	if dropped && p.running && !p.paused {
		p.beforeCorrection()
		p.predictAgain()
	}
}

// dropAll empties all sets.
func (p *prediction) dropAll() {
	for _, g := range p.groups {
		g.spare = append(append(g.spare, g.taken...), g.leaving...)
		g.taken, g.leaving = g.taken[:0], g.leaving[:0]
	}
	p.recast()
}

// recast lists the subjects.
func (p *prediction) recast() {
	p.subjects = append(p.subjects[:0], &p.subject)
	for _, g := range p.groups {
		for _, c := range g.taken {
			p.subjects = append(p.subjects, &c.subject)
		}
	}
}

// predictAgain predicts all ticks again after beforeCorrection.
func (p *prediction) predictAgain() {
	p.truncate(p.target())
	p.run(p.confirmed+1, p.target())
	p.afterCorrection()
}

func (p *prediction) copyStates(to, from int) {
	for _, s := range p.subjects {
		s.copyState(to, from)
	}
}

// beforeCorrection notes what is drawn, ahead of a correction.
func (p *prediction) beforeCorrection() {
	for _, s := range p.subjects {
		s.before()
	}
}

// afterCorrection blends it.
func (p *prediction) afterCorrection() {
	for _, s := range p.subjects {
		s.after()
	}
}

// judgement is a subject whose state the server has sent as of the tick to confirm.
type judgement struct {
	*subject
	entity *Entity
}

// known returns the newest tick as of which the server's state of a subject is known.
func (p *prediction) known(e *Entity) uint32 {
	tick := p.session.replica.knownUntil(e, p.session.resendTicks())
	for _, g := range p.groups {
		for _, c := range g.taken {
			tick = max(tick, p.factOf(g.entity(c)))
		}
	}
	return tick
}

// factOf returns the newest tick as of which the server's state of a companion is known. Its row
// may be in a later datagram of the newest snapshot: that it is in none says that nothing has
// changed up to the snapshot before.
func (p *prediction) factOf(e *Entity) uint32 {
	r := p.session.replica
	until := r.knownUntil(e, p.session.resendTicks())
	if !e.isComputed() && until == r.tick {
		return max(e.states.tick, r.before)
	}
	return until
}

// judge returns the subjects whose states of the server are as of tick. The others stay as
// predicted until the server's states of them arrive.
func (p *prediction) judge(e *Entity, tick uint32) []judgement {
	p.sure = p.sure[:0]
	if p.session.replica.knownUntil(e, p.session.resendTicks()) >= tick {
		p.sure = append(p.sure, judgement{&p.subject, e})
	}
	for _, g := range p.groups {
		for _, c := range g.taken {
			if e := g.entity(c); p.factOf(e) >= tick {
				c.judged = tick
				p.sure = append(p.sure, judgement{&c.subject, e})
			}
		}
	}
	return p.sure
}

// judgeAll returns all subjects.
func (p *prediction) judgeAll(e *Entity) []judgement {
	p.sure = append(p.sure[:0], judgement{&p.subject, e})
	for _, g := range p.groups {
		for _, c := range g.taken {
			p.sure = append(p.sure, judgement{&c.subject, g.entity(c)})
		}
	}
	return p.sure
}

// agree reports whether the predicted states of a tick quantise to the server's, to within a step.
func (p *prediction) agree(sure []judgement, tick uint32) bool {
	for _, j := range sure {
		if !j.matches(j.entity, p.slotOf(tick)) {
			return false
		}
	}
	return true
}

// equal reports whether the predicted states of a tick quantise to the server's, and have the
// bits of exact bodies.
func (p *prediction) equal(sure []judgement, tick uint32) bool {
	for _, j := range sure {
		if !j.equals(j.entity, p.slotOf(tick)) {
			return false
		}
	}
	return true
}

// revise compares the companions whose states arrived after their ticks were confirmed or
// passed over, up to a tick, and predicts again from there if they differ.
func (p *prediction) revise(last uint32) {
	if p.paused {
		return
	}
	for _, g := range p.groups {
		for i := 0; i < len(g.taken); i++ { // a step that panics empties it
			c := g.taken[i]
			e := g.entity(c)
			tick := p.factOf(e)
			if tick <= c.judged || tick < p.confirmed || tick > min(last, p.newest) {
				continue
			}
			c.judged = tick
			agreed := c.matches(e, p.slotOf(tick))
			if agreed && c.equals(e, p.slotOf(tick)) {
				continue
			}
			if !agreed {
				p.stats.Corrected++
			}
			p.beforeCorrection()
			c.restore(e, p.slotOf(tick))
			p.run(tick+1, p.newest)
			p.afterCorrection()
		}
	}
}

// drawTaken writes the state to draw to the scratch slot. At first that is where all others are
// drawn.
func (c *companion) drawTaken(m Moment) bool {
	e := c.of.session.replica.Entity(c.handle)
	if !c.blend.on && e != nil {
		c.blend.on, c.blend.tick, c.blend.at = true, c.of.drawnTick(m), m.now
		c.show(e, m, older)
		c.interpolate(c.blend.tick)
		c.addOffset()
	}
	return c.draw(m)
}

// drawLeaving writes the state to draw of a dropped companion to the scratch slot, and returns
// false once that is where all others are drawn.
func (c *companion) drawLeaving(m Moment) bool {
	e := c.of.session.replica.Entity(c.handle)
	if e == nil || !c.dropped && m.now-c.left >= leavingTime {
		return false
	}
	c.show(e, m, scratch)
	if c.dropped {
		c.dropped, c.left, c.blend.at = false, m.now, m.now
		clear(c.blend.offset)
		c.addOffset()
	}
	c.blend.fade(m.now)
	c.blend.at = m.now
	c.moveByOffset()
	c.setTexts(scratch)
	return true
}

// leavingTime is how long a dropped companion is blended: of the way back 1/4000 is left.
const leavingTime = 12 * blendHalfLife

// show writes what Component.At returns of e to a slot.
func (s *subject) show(e *Entity, m Moment, slot int) {
	from, to, ratio := e.states.at(m)
	for i := range s.parts {
		c := &s.parts[i]
		e.layout.schema.Blend(c.server, e.Owned(), e.values(c.server, from), e.values(c.server, to), ratio, c.at[slot])
		if !e.isBody(c.server) {
			continue
		}
		state, _, _, ok := e.layout.bodies.At(e.index, m.Tick, m.maxExtrapolate)
		switch {
		case !ok:
		case c.body != nil:
			c.body.SetBody(c.pointer(slot), &state)
		default:
			e.layout.schema.Restore(c.server, e.layout.bodies.Quantise(&state), c.at[slot])
		}
	}
}
