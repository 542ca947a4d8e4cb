package simulation

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// ownership records the entities that Own gave to a session. A session also owns the entity
// that it controls.
type ownership struct {
	owned          []bulk.Handle
	ownedPeriods   map[bulk.Handle][]ownedPeriod
	controlPeriods []controlPeriod // empty: the session still controls its first entity
}

// ownedPeriod begins at a tick of the world.
type ownedPeriod struct {
	tick uint32
	owns bool
}

// ownershipOf returns the client's session and its ownership, or nil.
func (c *simClient) ownershipOf() (*session.Session, *ownership) {
	p := c.liveSession()
	if p == nil {
		return nil, nil
	}
	e := c.sim.ownerships[p]
	if e == nil {
		e = &ownership{ownedPeriods: map[bulk.Handle][]ownedPeriod{}}
		c.sim.ownerships[p] = e
	}
	return p, e
}

// own and disown change the owners of h from the next tick on.
func (c *simClient) own(h bulk.Handle) {
	if p, e := c.ownershipOf(); p != nil && h != 0 && !slices.Contains(e.owned, h) {
		p.Own(h)
		e.owned = append(e.owned, h)
		e.note(h, ownedPeriod{c.sim.coming(), true})
		c.sim.coverage.owned++
	}
}

func (c *simClient) disown(which int) bulk.Handle {
	p, e := c.ownershipOf()
	if p == nil || len(e.owned) == 0 {
		return 0
	}
	i := nth(which, len(e.owned))
	h := e.owned[i]
	p.Disown(h)
	e.owned = slices.Delete(e.owned, i, i+1)
	e.note(h, ownedPeriod{c.sim.coming(), false})
	c.sim.coverage.disowned++
	return h
}

func (e *ownership) note(h bulk.Handle, t ownedPeriod) {
	e.ownedPeriods[h] = append(slices.DeleteFunc(e.ownedPeriods[h], func(o ownedPeriod) bool { return o.tick == t.tick }), t)
}

// coming returns the tick of the world's next step.
func (s *sim) coming() uint32 {
	if s.stepping {
		return uint32(s.world.Tick())
	}
	return uint32(s.world.Tick()) + 1
}

// owns reports whether the client's session owned h in a tick.
func (c *simClient) owns(h bulk.Handle, tick uint32) bool {
	p := c.newestSession()
	if p == nil {
		return false
	}
	if h == c.sim.controls(p, tick) {
		return true
	}
	e := c.sim.ownerships[p]
	if e == nil {
		return false
	}
	all := e.ownedPeriods[h]
	i, found := slices.BinarySearchFunc(all, tick, func(t ownedPeriod, tick uint32) int { return cmp.Compare(t.tick, tick) })
	if !found {
		i--
	}
	return i >= 0 && all[i].owns
}

// gust is a weak effect that follows an entity and moves bodies that clients see.
type gust struct {
	follows *life
	ends    uint64 // last tick
}

const gustProgram = `effect gust
param wind = (6,0,2,0)
box (-4,-4,-4) (4,4,4)
output = add output, wind
`

// blow adds a gust around h.
func (s *sim) blow(h bulk.Handle, ticks int) {
	l := s.lives[h]
	if l == nil || s.run > 1 { // a restored world has the gusts of its image
		return
	}
	program := must.Get(field.Compile(gustProgram))
	life := uint32(1 + nth(ticks, 120))
	if id, err := s.world.AddEffect(world.EffectDef{Program: program, Mode: world.Acceleration, Follow: h, LifeTicks: life}); err == nil {
		e, _ := s.world.Effect(id)
		s.untold = s.coming() + 1
		s.gusts = append(s.gusts, gust{l, e.First + uint64(life) - 1})
	}
}

// judgeGusts checks that gusts end with the entity that they follow, and never follow a
// later entity in its slot (H1).
func (s *sim) judgeGusts() {
	if s.run > 1 {
		return
	}
	s.gusts = slices.DeleteFunc(s.gusts, func(g gust) bool {
		if g.follows.died != 0 {
			s.coverage.gusts++
		}
		return g.follows.died != 0 || g.ends <= s.world.Tick()
	})
	if n := s.world.Stats().Effects; n != len(s.gusts)+len(s.liveFans()) {
		s.fail("H1", "%d effects, want %d", n, len(s.gusts)+len(s.fans))
	}
}
