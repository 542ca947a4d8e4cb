package simulation

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/server/session"
)

// controlPeriod is an entity that a session controls from a tick on.
type controlPeriod struct {
	tick   uint32
	entity bulk.Handle
}

// steer makes the session control nothing, or any handle ever issued, including dead handles
// and handles of an earlier run. Inside Join it has no effect.
func (c *simClient) steer(which int) {
	s := c.sim
	p, e := c.ownershipOf()
	if p == nil {
		return
	}
	h := bulk.Handle(0)
	if which%8 != 0 && len(s.order) > 0 {
		h = s.order[nth(which, len(s.order))].handle
	}
	if which%8 > 4 {
		h = s.pick(which) // a live entity, so that the session has a view
	}
	before := p.Entity()
	p.Control(h)
	switch now := p.Entity(); {
	case p == s.joining:
		if now != before {
			s.fail("S5", "client %d controls %v inside Join", c.number, now)
		}
		return
	case now != h:
		s.fail("S5", "client %d controls %v, want %v", c.number, now, h)
	}
	if len(e.controlPeriods) == 0 {
		e.controlPeriods = append(e.controlPeriods, controlPeriod{0, before})
	}
	next := controlPeriod{s.coming(), h}
	e.controlPeriods = append(slices.DeleteFunc(e.controlPeriods, func(r controlPeriod) bool { return r.tick == next.tick }), next)
	s.coverage.steered++
}

// controls returns the entity that a session controlled in a tick.
func (s *sim) controls(p *session.Session, tick uint32) bulk.Handle {
	h := p.Entity()
	if e := s.ownerships[p]; e != nil {
		for _, r := range e.controlPeriods {
			if r.tick <= tick {
				h = r.entity
			}
		}
	}
	return h
}

// inform makes the game send the client any handle ever issued, outside the protocol and
// faster than any link.
func (c *simClient) inform(which int) {
	s, p := c.sim, c.liveSession()
	if p == nil || p == s.joining || len(s.order) == 0 {
		return
	}
	l := s.order[nth(which, len(s.order))]
	p.NoteSent(l.handle)
	c.noteSentHandle(l)
	c.ofServer(l).sent = true
	if !c.renewing {
		c.of(l).received = true
	}
	s.coverage.informed++
}

// noteSentHandle records that the server sent the client the handle of l outside of
// structure. If l is dead, its Destroy is due from now on.
func (c *simClient) noteSentHandle(l *life) {
	k := c.ofServer(l)
	if l.died != 0 && !k.entered && !k.received {
		k.since = c.sim.tick
	}
	k.entered = true
}

// noteReceived records that the client received the handle of l in a state or an event.
// With a false structure number, the state or event may overtake the Destroy of a dead l
// that the server wrote at the same time. The Destroy is then due from now on.
func (c *simClient) noteReceived(l *life) {
	k := c.of(l)
	if c.misled && l.died != 0 && !k.entered && !k.received {
		k.since = c.sim.tick
	}
	k.received = true
}

// judgeControl compares a Control message with the session's controlled entity.
func (c *simClient) judgeControl(n *conn, h bulk.Handle) {
	s := c.sim
	if p := n.peer.Session(); p != nil && p.Entity() != h {
		s.fail("S5", "client %d is sent Control of %v, want %v", c.number, h, p.Entity())
	}
	if l := s.lives[h]; l != nil {
		c.noteSentHandle(l)
		c.ofServer(l).sent = true
	} else if h != 0 {
		s.fail("S5", "client %d is sent Control of %v, which was never issued", c.number, h)
	}
}

// control adds the operations steer and inform to some seeds.
func (g *generator) control(somewhere func(string) string) {
	d := g.rng.IntN
	if rate := []int{0, 3, 20}[d(3)]; rate > 0 {
		for tick := 1; tick <= g.s.ticks; tick++ {
			if d(100) < rate {
				g.add(tick, somewhere("steer"), g.any(), g.any())
			}
		}
	}
	if rate := []int{0, 5, 50}[d(3)]; rate > 0 {
		for tick := 1; tick <= g.s.ticks; tick++ {
			if d(100) < rate {
				g.add(tick, somewhere("inform"), g.any(), g.any())
			}
		}
	}
}
