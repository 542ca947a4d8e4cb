package simulation

import (
	"errors"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Games and clients may call the API inside hooks and callbacks. A script's operation
// "hook:operation" runs inside the next call of that hook.

// The hooks and callbacks, and the operations allowed inside them.
var (
	serverHooks = []string{"join", "leave", "away", "back", "input", "command", "before", "after"}
	serverOps   = []string{
		"spawn", "defer", "destroy", "flip", "flash", "push", "move", "refer", "unrefer", "gust",
		"kill", "own", "claim", "disown", "give", "filter", "roam", "kick",
	}
	clientCallbacks = []string{"enter", "update", "left", "destroyed", "result"}
	clientOps       = []string{"poke", "touch", "forge", "survey"}
)

// callbacks makes the game act inside its hooks, in half of the seeds.
func (g *generator) callbacks() {
	d := g.rng.IntN
	if d(2) == 0 {
		return
	}
	rate := []int{3, 30}[d(2)]
	for tick := 1; tick <= g.s.ticks; tick++ {
		if d(100) >= rate {
			continue
		}
		hooks, ops := serverHooks, serverOps
		if d(4) == 0 {
			hooks, ops = clientCallbacks, clientOps
		}
		do := ops[d(len(ops))]
		if do == "kick" && d(4) > 0 {
			continue // these hooks would make all sessions new
		}
		var args []int
		for _, name := range strings.Fields(operations[do]) {
			switch name {
			case "x", "z":
				args = append(args, g.place())
			case "vx", "vz":
				args = append(args, g.motion())
			default:
				args = append(args, g.any())
			}
		}
		g.add(tick, hooks[d(len(hooks))]+":"+do, args...)
	}
}

// call runs the operations that wait for a hook.
func (s *sim) call(hook string) {
	due := s.waiting[hook]
	delete(s.waiting, hook)
	for _, o := range due {
		s.coverage.called++
		s.do(o)
	}
}

// call runs the operations that wait for a client's callback.
func (c *simClient) call(hook string) {
	s := c.sim
	due := s.waiting[hook]
	delete(s.waiting, hook)
	for _, o := range due {
		s.coverage.called++
		c.do(o)
	}
}

// addSystems makes the game act in the middle of steps.
func (s *sim) addSystems() {
	for name, phase := range map[string]world.Phase{"before": world.Before, "after": world.After} {
		s.must(s.world.AddSystem(phase, name, func(*world.World) {
			s.stepping = true
			s.call(name)
			s.stepping = false
		}))
	}
}

// deferSpawn spawns an entity when deferred changes are applied.
func (s *sim) deferSpawn(kind world.KindID, x, z float32) bulk.Handle {
	h, err := s.world.DeferSpawn(kind, world.Vec3{X: x, Y: 0.5, Z: z}, world.Vec3{}, 0)
	if err != nil {
		return 0 // the world is full
	}
	identity := s.issueNew(h)
	s.identity.DeferSet(h, Identity{identity})
	s.purse.DeferSet(h, Purse{int32(identity & 0xffff)})
	if s.tag != nil {
		s.tag.DeferSet(h, s.tagOf(identity))
	}
	return h
}

// rules returns the filters from which the game chooses.
func (s *sim) rules() []replication.Filter {
	named := []bulk.BitsetView{s.target.Presence()}
	return []replication.Filter{{}, {Only: named}, {Not: named}, {Also: named}}
}

// setFilter replaces the filter of the client's session.
func (c *simClient) setFilter(which int) {
	if p := c.liveSession(); p != nil {
		rules := c.sim.rules()
		c.sim.ruled[p] = nth(which, len(rules))
		p.SetFilter(rules[c.sim.ruled[p]])
	}
}

// allowed reports whether the session's filter allows h, nearby and at any distance.
func (c *simClient) allowed(h bulk.Handle) (near, far bool) {
	s := c.sim
	rule := s.rules()[s.ruled[c.liveSession()]]
	slot := h.Index()
	if s.operates["veil"] && s.veil.Presence().Has(slot) {
		return false, false
	}
	far = s.operates["light"] && s.beacon.Presence().Has(slot)
	for _, set := range rule.Only {
		if !set.Has(slot) {
			return false, false
		}
	}
	for _, set := range rule.Not {
		if set.Has(slot) {
			return false, false
		}
	}
	for _, set := range rule.Also {
		far = far || set.Has(slot)
	}
	return true, far
}

// claim makes the session an owner of any handle ever issued, including dead handles and
// handles of an earlier run.
func (c *simClient) claim(which int) {
	if len(c.sim.order) > 0 {
		c.own(c.sim.order[nth(which, len(c.sim.order))].handle)
	}
}

// roam iterates over the client's interest set, changing owners, and stops early.
func (c *simClient) roam(steps int) {
	s, p := c.sim, c.liveSession()
	if p == nil {
		return
	}
	steps = nth(steps, 32)
	for h := range p.InterestSet() {
		if s.world.Status(h) != bulk.Live || p.Resolve(h) != wire.Live {
			s.fail("R1", "%v is in the interest set of client %d, with verdict %v", h, c.number, p.Resolve(h))
		}
		if steps%2 == 0 {
			c.own(h)
		} else {
			c.disown(steps)
		}
		steps--
		if steps <= 0 {
			return
		}
	}
}

// survey resolves many handles from within a client's callback.
func (c *simClient) survey(most int) {
	s, r := c.sim, c.session.Replica()
	if r == nil {
		return
	}
	for e := range r.All() {
		if h := e.Handle(); r.Resolve(h) != wire.Live || r.Entity(h) != e {
			s.fail("C1", "client %d has %v, but its verdict is %v, or it finds another entity", c.number, h, r.Resolve(h))
		}
		most = most / 2
		if most == 0 {
			break
		}
	}
	for _, l := range s.order {
		v := r.Resolve(l.handle)
		if v == wire.Stale && l.died == 0 && !c.forgot || (v == wire.Live) != (r.Entity(l.handle) != nil) {
			s.fail("H3", "client %d calls %v %v in a callback; it died in tick %d", c.number, l.handle, v, l.died)
		}
	}
}

// kick ends the client's session. The client then begins a new session.
func (c *simClient) kick() {
	if p := c.liveSession(); p != nil {
		p.Kick("simulated")
		c.sim.kicked[p] = true
	}
}

// game returns the hooks of the simulated game.
func (s *sim) game() session.Hooks {
	run := func(hook string) func(*session.Session) { return func(*session.Session) { s.call(hook) } }
	g := session.Hooks{
		Join: func(p *session.Session) (world.Entity, error) {
			s.joining = p
			defer func() { s.joining = nil }()
			s.call("join")
			if s.barred > 0 {
				s.barred--
				return 0, errors.New("barred")
			}
			return s.avatar(), nil
		},
		Leave: s.leave, Away: run("away"), Back: run("back"),
		Input:    session.OnRawInput(func(*session.Session, uint64, []byte) { s.call("input") }),
		Commands: []session.Command{session.OnRawCommand("poke", s.poked)},
	}
	s.handleTyped(&g)
	return g
}
