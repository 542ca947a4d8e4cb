package simulation

import (
	"slices"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world"
)

// do carries out one operation of the script.
func (s *sim) do(o op) {
	a := func(i int) int { return o.args[i] }
	f := func(i int) float32 { return float32(o.args[i]) }
	if hook, do, found := strings.Cut(o.do, ":"); found {
		s.waiting[hook] = append(s.waiting[hook], op{tick: o.tick, do: do, args: o.args})
		return
	}
	kind := func(i int) world.KindID { return []world.KindID{s.crate, s.ghost}[nth(a(i), 2)] }
	switch o.do {
	case "spawn":
		s.spawn(kind(0), f(1), f(2), f(3), f(4))
	case "defer":
		s.deferSpawn(kind(0), f(1), f(2))
	case "destroy":
		if h := s.pick(a(0)); !s.controlled(h) {
			s.destroy(h, uint8(a(0)))
		}
	case "flip":
		s.destroy(s.lastFlip, uint8(s.tick))
		s.lastFlip = s.spawn(s.crate, f(0), f(1), 0, 0)
	case "flash":
		s.world.Destroy(s.spawn(kind(0), f(1), f(2), 0, 0))
	case "push":
		h := s.pick(a(0))
		s.world.SetVelocity(h, world.Vec3{X: f(1), Z: f(2)})
		s.purse.Set(h, Purse{int32(1<<16 + s.tick)})
	case "move":
		s.world.SetPosition(s.pick(a(0)), world.Vec3{X: f(1), Y: 1, Z: f(2)})
	case "refer":
		s.refer(s.pick(a(0)), a(1))
	case "unrefer":
		s.target.Remove(s.pick(a(0)))
	case "ride":
		s.ride(s.pick(a(0)), s.pick(a(1)))
	case "rename":
		s.rename(s.pick(a(0)), a(1))
	case "pay":
		s.pay(s.pick(a(0)), a(1))
	case "gust":
		h := s.pick(a(0))
		if a(0)%2 == 0 && s.world.Status(s.lastFlip) == bulk.Live {
			h = s.lastFlip // its slot will soon be reused
		}
		s.blow(h, a(1))
	case "save":
		s.image = &world.Image{}
		s.world.TakeImage(s.image)
	case "restart":
		s.restart()
	case "light":
		toggle(s.beacon, s.pick(a(0)))
	case "veil":
		if toggle(s.veil, s.pick(a(0))) {
			s.coverage.veiled++
		}
	case "bar":
		s.barred++
	case "drain":
		if s.restartAt == 0 && !s.script.retiring() {
			s.restartAt = s.tick + 10
		}
		if s.restartAt != 0 {
			s.core.Drain()
		}
	case "join":
		s.clients = append(s.clients, s.connect(len(s.clients), 0))
	case "link":
		s.doLink(o)
	case "cry", "witness", "near":
		s.doEvent(o)
	case "simulate", "toss", "hit", "rouse", "lull", "fan", "turn", "tune", "stop":
		s.doClean(o)
	case "plain":
		s.plain = a(0)
	case "pace":
		s.setPace(1 + nth(a(0), fullPace))
	default:
		if len(s.clients) > 0 {
			s.clients[nth(a(0), len(s.clients))].do(o)
		}
	}
}

// toggle adds or removes a component of h, and reports whether it was added.
func toggle[T any](c *world.Component[T], h bulk.Handle) (added bool) {
	if c.Get(h) != nil {
		c.Remove(h)
		return false
	}
	return c.Set(h, *new(T))
}

// fullPace is the pace with time for all snapshots.
const fullPace = 16

// setPace makes enough return false in pace of every fullPace calls. Deadlines of snapshots
// count from now on.
func (s *sim) setPace(pace int) { s.pace, s.paced = pace, s.tick }

// enough reports, for Core.Send, that the tick is out of time.
func (s *sim) enough() bool {
	s.asked++
	if s.asked%fullPace < s.pace {
		return false
	}
	s.coverage.hurried++
	return true
}

// interval returns the maximal number of ticks between two snapshots of a client at the
// current pace.
func (s *sim) interval() int {
	due := (60 + s.script.hz - 1) / s.script.hz
	if s.pace == fullPace {
		return due
	}
	// Two snapshots a second are guaranteed. Eight overdue clients are served per tick, or
	// more, so that no client waits longer than another quarter second.
	return max(due, 60/2+min((len(s.clients)-1)/8, 60/4))
}

// pick returns the handle of a living entity, or 0 if there is none.
func (s *sim) pick(i int) bulk.Handle {
	if len(s.living) == 0 {
		return 0
	}
	return s.living[nth(i, len(s.living))].handle
}

// refer sets an entity's Target to any handle that this run has issued or restored:
// replication removes other handles.
func (s *sim) refer(h bulk.Handle, i int) {
	if len(s.order) == 0 {
		return
	}
	if to := s.order[nth(i, len(s.order))]; s.world.Status(to.handle) != bulk.Unissued {
		to.named = s.target.Set(h, Target{to.handle}) || to.named
	}
}

func (s *sim) controlled(h bulk.Handle) bool {
	return slices.ContainsFunc(s.clients, func(c *simClient) bool { return c.entity() == h })
}

func (s *sim) doLink(o op) {
	c := o.conditions()
	if o.args[0] == everybody {
		s.links = c
		for _, x := range s.clients {
			x.setLinks(c)
		}
	} else if len(s.clients) > 0 {
		s.clients[nth(o.args[0], len(s.clients))].setLinks(c)
	}
}

// do carries out an operation of one client.
func (c *simClient) do(o op) {
	s := c.sim
	switch o.do {
	case "starve":
		c.starve(o.args[1])
	case "kill":
		s.world.Destroy(c.entity())
	case "claim":
		c.claim(o.args[1])
	case "steer":
		c.steer(o.args[1])
	case "inform":
		c.inform(o.args[1])
	case "tell":
		c.tell(o.args[1], o.args[2])
	case "flood":
		for range nth(o.args[1], 2000) {
			c.tell(o.args[1], 0)
		}
	case "filter":
		c.setFilter(o.args[1])
	case "roam":
		c.roam(o.args[1])
	case "survey":
		c.survey(o.args[1])
	case "kick":
		c.kick()
	case "own":
		c.own(s.pick(o.args[1]))
	case "disown":
		c.disown(o.args[1])
	case "give":
		s.clients[nth(o.args[2], len(s.clients))].own(c.disown(o.args[1]))
	case "corrupt":
		c.corrupt++
	case "mislead":
		c.mislead++
	case "boast":
		c.boast(uint32(1 + nth(o.args[1], 1<<20)))
	case "revive":
		c.revive(o.args[1])
	case "rewind":
		c.rewind(uint32(nth(o.args[1], 1<<20)))
	case "reconnect":
		c.conn.goneAt = s.tick
		c.rejoin()
	case "cut":
		c.cutOff(nth(o.args[1], 1000), nth(o.args[2], 300))
	case "travel":
		c.cutOff(0, nth(o.args[1], longGraceTicks))
	case "steal":
		c.steal(o.args[1])
	case "poke":
		if len(s.order) > 0 {
			c.command(s.order[nth(o.args[1], len(s.order))].handle)
		}
	case "name":
		c.nameInCommand(o.args[1])
	case "aim":
		c.aim(o.args[1])
	case "ask":
		c.ask(o.args[1], o.args[2])
	case "touch":
		if r := c.session.Replica(); r != nil && r.Len() > 0 {
			i := nth(o.args[1], r.Len())
			for e := range r.All() {
				if i == 0 {
					c.command(e.Handle())
				}
				i--
			}
		}
	case "forge":
		slot := uint32(nth(o.args[1], s.script.slots))
		generation := s.world.Config().FirstGeneration
		if all := s.tenants[slot]; len(all) > 0 {
			generation = all[len(all)-1].handle.Generation()
		}
		if ahead := uint32(2 * o.args[2]); generation <= bulk.MaxGeneration-ahead {
			c.command(bulk.NewHandle(slot, generation+ahead))
		}
	}
}
