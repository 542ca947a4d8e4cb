package predict

import (
	"slices"
	"time"

	"github.com/worldd/worldd/bulk"
)

// MaxCompanions bounds the members of a Group.
const MaxCompanions = 16

// Group is a set of companions of the controlled entity whose states have one type.
type Group struct {
	of      *Core
	newRing func() (states Ring, number int)
	members []*Companion // in the order of SetMembers
	leaving []*Companion // recently dropped by SetMembers, oldest first
	spare   []*Companion
	next    []*Companion // scratch
}

// Companion is a member of a Group.
type Companion struct {
	subject
	number   int           // of its ring
	compared uint32        // newest tick whose server state was compared
	dropped  bool          // no longer in the set, and not drawn since
	left     time.Duration // when it was first drawn after leaving the set
}

// Slot is the place of a member's state.
type Slot struct {
	Handle bulk.Handle
	Ring   int // ring number
	Slot   int // slot in the ring
}

// AddGroup adds an empty group. newRing makes another ring for it and returns its number.
func (p *Core) AddGroup(newRing func() (states Ring, number int)) (*Group, error) {
	g := &Group{of: p, newRing: newRing}
	first, err := g.newCompanion()
	if err != nil {
		return nil, err
	}
	g.spare = append(g.spare, first)
	p.subjects.addGroup(g)
	return g, nil
}

func (g *Group) newCompanion() (*Companion, error) {
	states, number := g.newRing()
	s, err := newSubject(g.of, states)
	if err != nil {
		return nil, err
	}
	s.resizeStates(len(g.of.inputs.ticks))
	return &Companion{subject: s, number: number}, nil
}

// SteppingAt returns the state of member i at the tick of the step function's call. It returns
// false outside the call, and for i beyond the last member.
func (g *Group) SteppingAt(i int) (s Slot, ok bool) {
	if g.of.stepping == 0 || i >= len(g.members) {
		return s, false
	}
	return g.steppingSlot(g.members[i]), true
}

// Stepping returns the state of the member that h names, as SteppingAt does.
func (g *Group) Stepping(h bulk.Handle) (s Slot, ok bool) {
	if g.of.stepping == 0 {
		return s, false
	}
	c := g.findIn(g.members, h)
	if c == nil {
		return s, false
	}
	return g.steppingSlot(c), true
}

func (g *Group) steppingSlot(c *Companion) Slot {
	return Slot{c.handle, c.number, g.of.slotOf(g.of.stepping)}
}

// Newest returns the newest predicted state of a member.
func (g *Group) Newest(h bulk.Handle) (s Slot, ok bool) {
	c := g.findIn(g.members, h)
	if c == nil {
		return s, false
	}
	c.copyToScratch(g.of.newest)
	return Slot{c.handle, c.number, scratch}, true
}

// Draw returns the state to draw of a member or of a recently dropped one.
func (g *Group) Draw(h bulk.Handle, m Moment) (s Slot, ok bool) {
	if c := g.findIn(g.members, h); c != nil && c.drawMember(m) {
		return Slot{c.handle, c.number, scratch}, true
	}
	if c := g.findIn(g.leaving, h); c != nil && c.drawLeaving(m) {
		return Slot{c.handle, c.number, scratch}, true
	}
	return s, false
}

// entityOf returns the entity of a companion if it can be predicted.
func (g *Group) entityOf(c *Companion) Entity {
	e := g.of.session.Entity(c.handle)
	if e == nil || e.Handle() == g.of.handle || !c.bindTo(e) {
		return nil
	}
	return e
}

// findIn returns the companion in list that h names, or nil.
func (g *Group) findIn(list []*Companion, h bulk.Handle) *Companion {
	if len(list) == 0 {
		return nil
	}
	e := g.of.session.Entity(h)
	for _, c := range list {
		if e != nil && c.handle == e.Handle() {
			return c
		}
	}
	return nil
}

// SetMembers replaces the members by the first MaxCompanions of handles that can be predicted.
// Entities that stay members keep their predicted states. It does nothing in the step function
// and while nothing is predicted.
func (g *Group) SetMembers(handles []bulk.Handle) {
	p := g.of
	if p.phase != running || p.stepping != 0 {
		return
	}
	g.next = g.next[:0]
	joined := 0
	for _, h := range handles {
		if len(g.next) == MaxCompanions {
			break
		}
		if g.findIn(g.next, h) != nil {
			continue
		}
		c := g.findIn(g.members, h)
		if c == nil {
			c = g.prepareMember(h)
			if c == nil {
				continue
			}
			joined++
		}
		g.next = append(g.next, c)
	}
	if changed := joined > 0 || len(g.next) < len(g.members); !changed {
		g.members, g.next = g.next, g.members
		return
	}
	p.subjects.keepDrawn()
	for _, c := range g.members {
		if !slices.Contains(g.next, c) {
			g.letGo(c)
		}
	}
	g.members, g.next = g.next, g.members
	p.subjects.listAll()
	p.predictAgain()
	p.deliverUndone()
}

// prepareMember returns a companion for an entity with its newest state at the confirmed tick, or nil
// if the entity cannot be predicted.
func (g *Group) prepareMember(h bulk.Handle) *Companion {
	e := g.of.session.Entity(h)
	if e == nil {
		return nil
	}
	if len(g.spare) == 0 {
		c, err := g.newCompanion()
		if err != nil {
			return nil // cannot fail: AddGroup has made one
		}
		g.spare = append(g.spare, c)
	}
	last := len(g.spare) - 1
	c := g.spare[last]
	c.setHandle(e.Handle())
	if g.entityOf(c) == nil {
		return nil
	}
	g.spare = g.spare[:last]
	c.forgetDrawn()
	slot := g.of.slotOf(g.of.confirmed)
	c.startFrom(e, slot)
	c.compared = g.of.session.OtherKnownUntil(e)
	return c
}

// letGo moves a companion to the leaving list if it was drawn, otherwise to the spare list.
func (g *Group) letGo(c *Companion) {
	if !c.blend.on {
		g.spare = append(g.spare, c)
		return
	}
	c.interpolateAt(c.blend.tick)
	c.moveByOffset()
	c.states.copyValue(older, scratch)
	c.dropped = true
	if len(g.leaving) == MaxCompanions {
		g.spare = append(g.spare, g.leaving[0])
		g.leaving = slices.Delete(g.leaving, 0, 1)
	}
	g.leaving = append(g.leaving, c)
}

// dropGone drops the companions that have died, left view, or lost a component.
func (p *Core) dropGone() {
	if p.subjects.dropGone() && p.phase == running {
		p.subjects.keepDrawn()
		p.predictAgain()
	}
}

// drawMember writes the state to draw to the scratch slot. The first drawn state equals
// Component.At's.
func (c *Companion) drawMember(m Moment) bool {
	e := c.of.session.Entity(c.handle)
	if !c.blend.on && e != nil {
		c.blendFromShown(e, m)
	}
	return c.drawToScratch(m)
}

// drawLeaving writes the state to draw of a dropped companion to the scratch slot. It returns
// false once that state equals Component.At's.
func (c *Companion) drawLeaving(m Moment) bool {
	e := c.of.session.Entity(c.handle)
	if e == nil || !c.dropped && m.Now-c.left >= leavingTime {
		return false
	}
	c.writeShown(e, m, scratch)
	if c.dropped {
		c.dropped, c.left = false, m.Now
		c.beginOffset(m.Now)
	}
	c.moveByFading(m.Now)
	c.writeTexts(scratch)
	return true
}

// leavingTime is how long a dropped companion is blended; after it 1/4000 of the difference
// remains.
const leavingTime = 12 * blendHalfLife
