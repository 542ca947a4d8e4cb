package simulation

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// In some seeds, clients name entities to be spawned, in commands and in inputs. The game
// binds some of the provisional handles; some of these entities die before they enter any
// view. The oracle knows the entity of each handle, and compares it with the entity that
// the client resolves (H7).

// Summon holds a number that no other message has, and two provisional handles. The second
// may be null.
type Summon struct {
	Token uint32
	A, B  bulk.Handle `net:"ref"`
}

// summons is a Summon that a client sent.
type summons struct {
	client       *simClient
	args         Summon
	provisionals []*simProvisional
	executed     bool
}

// simProvisional is a provisional handle of a client.
type simProvisional struct {
	handle  bulk.Handle
	input   bool        // named in inputs, not in a command
	tick    uint32      // tick of the newest input
	seen    bool        // the game received the handle
	entity  bulk.Handle // bound by the game, in a session
	in      sessionKey
	refused bool // the server has rejected the handle
	end     provisionalEnd
}

// provisionalEnd is how a provisional handle ended for its client.
type provisionalEnd uint8

const (
	open provisionalEnd = iota
	becameReal
	wasRejected
)

// takeProvisional returns a new provisional handle of the client, or nil if it has too many.
func (c *simClient) takeProvisional(input bool) *simProvisional {
	h, err := c.session.Provisional()
	if err == client.ErrTooManyProvisional {
		return nil
	}
	c.sim.must(err)
	if v := c.session.Resolve(h); v != wire.Provisional || c.session.Real(h) != 0 {
		c.sim.fail("H7", "client %d has a new provisional handle %v, and calls it %v", c.number, h, v)
	}
	return &simProvisional{handle: h, input: input}
}

// nameInCommand sends a command that names one or two entities.
func (c *simClient) nameInCommand(which int) {
	s := c.sim
	if !c.session.Joined() || len(c.intents) > wire.MaxUnanswered/2 {
		return
	}
	s.typed.touched++
	m := &summons{client: c, args: Summon{Token: s.typed.touched}}
	for i := range 1 + which%2 {
		x := c.takeProvisional(false)
		if x == nil {
			return
		}
		m.provisionals = append(m.provisionals, x)
		if i == 0 {
			m.args.A = x.handle
		} else {
			m.args.B = x.handle
		}
	}
	asked := must.Get(c.session.DoValue(0, &m.args))
	c.named = append(c.named, m.provisionals...)
	s.typed.summons[m.args.Token] = m
	c.intents[asked.ID()] = intent{summons: m}
}

// aim makes the next inputs name a new provisional handle.
func (c *simClient) aim(inputs int) {
	if _, ok := c.session.Welcome(); ok {
		c.aimed, c.aims = c.takeProvisional(true), 1+nth(inputs, 4)
	}
}

// aimAt returns the handle that the next input names, and the provisional handle that the
// server may bind.
func (c *simClient) aimAt() (bulk.Handle, *simProvisional) {
	x := c.aimed
	if x == nil || c.aims == 0 {
		return 0, nil
	}
	c.aims--
	if len(c.named) == 0 || c.named[len(c.named)-1] != x {
		c.named = append(c.named, x)
	}
	return x.handle, x
}

// forwarded returns the handle that a client sends for h.
func (c *simClient) forwarded(h bulk.Handle) bulk.Handle {
	if c.session.Resolve(h) == wire.Provisional {
		return h
	}
	return c.session.Real(h)
}

// summoned is the game's function for Summon.
func (s *sim) summoned(p *session.Session, _ world.Entity, args Summon) error {
	m := s.typed.summons[args.Token]
	if m == nil || m.args != args || m.executed {
		s.fail("H7", "the game was asked %+v, which no client sent, or for the second time", args)
	}
	m.executed = true
	if c := s.clientOf(p); c != nil && c != m.client {
		s.fail("H7", "%+v of client %d was executed for client %d", args, m.client.number, c.number)
	}
	for i := range m.provisionals {
		if args.Token%2 == 0 {
			i = len(m.provisionals) - 1 - i
		}
		s.decide(p, m.provisionals[i], int(args.Token)>>1+3*i)
	}
	s.call("command")
	if refusedToken(args.Token) {
		return &session.Rejection{Text: "no"}
	}
	return nil
}

// decide binds a provisional handle to an entity, or leaves it unbound.
func (s *sim) decide(p *session.Session, x *simProvisional, how int) {
	if x.seen || !p.IsProvisional(x.handle) {
		s.fail("H7", "the game received the provisional handle %v for the second time, or it is none", x.handle)
	}
	x.seen = true
	at, _ := s.world.Position(p.Entity()) // the origin if the entity has no body
	var h bulk.Handle
	switch nth(how, 6) {
	case 0:
		return
	case 1:
		h = s.deferSpawn(s.crate, at.X+3, at.Z)
	case 2:
		h = s.spawn(s.crate, 300, 300, 0, 0) // out of view
	default:
		h = s.spawn(s.crate, at.X-3, at.Z, 1, 0)
	}
	if h == 0 {
		return
	}
	s.must(p.Bind(x.handle, h))
	if p.IsProvisional(x.handle) || p.Bind(x.handle, h) != session.ErrNotProvisional {
		s.fail("H7", "the provisional handle %v was bound twice", x.handle)
	}
	x.entity, x.in = h, sessionKey{s.epoch, p.ID()}
	if c := s.clientOf(p); c != nil {
		c.noteSentHandle(s.lives[h])
	}
	s.coverage.bound++
	if nth(how, 6) == 3 {
		s.world.Destroy(h)
		s.coverage.stillborn++
	}
}

// noteAnswer checks an Answer that the server writes: it names the entity that the game
// bound, occurs once, and precedes the entity's Enter.
func (c *simClient) noteAnswer(r wire.Record) {
	s := c.sim
	x := c.provisionalOf(r.Number)
	switch {
	case x == nil || r.Handle != x.entity || r.Handle == 0 && !x.input:
		s.fail("H7", "client %d is sent the answer %v to %v, which the game did not give", c.number, r.Handle, wire.ProvisionalHandle(r.Number))
	case r.Handle == 0 && x.refused:
		s.fail("H7", "client %d is sent the rejection of %v twice", c.number, x.handle)
	case r.Handle == 0:
		x.refused = true
	case c.ofServer(s.lives[r.Handle]).enter != nil:
		s.fail("H7", "client %d is sent the answer %v to %v after its enter", c.number, r.Handle, x.handle)
	default:
		c.ofServer(s.lives[r.Handle]).sent = true
	}
}

// answersIn reports whether the records after number after, up to last, include Answers. A
// snapshot that names an earlier record would reject provisional handles that these Answers
// bind.
func (c *simClient) answersIn(after, last uint32) bool {
	return slices.ContainsFunc(c.written[after:last], func(r wire.Record) bool { return r.Op == wire.OpAnswer })
}

func (c *simClient) provisionalOf(index uint32) *simProvisional {
	for _, x := range c.named {
		if x.handle.Index() == index {
			return x
		}
	}
	return nil
}

// judgeProvisionals compares the entities of the client's provisional handles with the
// entities that the game bound. Each handle ends once. A handle that was bound in the
// client's present session is never rejected.
func (c *simClient) judgeProvisionals() {
	s := c.sim
	w, _ := c.session.Welcome()
	now := sessionKey{w.Epoch, w.Session}
	for _, x := range c.named {
		entity, v := c.session.Real(x.handle), c.session.Resolve(x.handle)
		end := open
		switch {
		case entity != 0:
			end = becameReal
		case v == wire.Stale:
			end = wasRejected
		case v != wire.Provisional:
			s.fail("H7", "client %d calls %v %v, and it stands for nothing", c.number, x.handle, v)
		}
		gone := x.in.epoch != now.epoch // the world is gone
		switch {
		case entity != 0 && (entity != x.entity || gone):
			s.fail("H7", "client %d has %v for %v, was bound to %v", c.number, entity, x.handle, x.entity)
		case entity != 0 && v != c.session.Resolve(entity):
			s.fail("H7", "client %d calls %v %v, and its entity %v %v", c.number, x.handle, v, entity, c.session.Resolve(entity))
		case end == wasRejected && x.entity != 0 && x.in == now:
			s.fail("H7", "client %d calls %v rejected, was bound to %v", c.number, x.handle, x.entity)
		case x.end != open && end != x.end && !(x.end == becameReal && gone):
			s.fail("H7", "client %d: the provisional handle %v ended twice: %d, now %d", c.number, x.handle, x.end, end)
		}
		if r := c.session.Replica(); r != nil && (r.Resolve(x.handle) != v || (r.Entity(x.handle) != nil) != (v == wire.Live)) {
			s.fail("H7", "client %d: its replica calls %v %v, its session %v", c.number, x.handle, r.Resolve(x.handle), v)
		}
		if r := c.session.Replica(); end == open && x.tick != 0 && r.Stats().AppliedInput >= x.tick {
			s.fail("H7", "client %d calls %v provisional, and its input %d was applied", c.number, x.handle, x.tick)
		}
		if x.end == open {
			s.coverage.ends[end]++
		}
		x.end = end
	}
}

// judgeSummoned checks that a command's provisional handles have ended when its Result arrives.
func (c *simClient) judgeSummoned(m *summons) {
	for _, x := range m.provisionals {
		if v := c.session.Resolve(x.handle); v == wire.Provisional {
			c.sim.fail("H7", "client %d calls %v %v after its Result", c.number, x.handle, v)
		}
	}
	c.judgeProvisionals()
}

// unended returns the number of provisional handles for which the client waits.
func (c *simClient) unended() (n int) {
	for _, x := range c.named {
		if c.session.Resolve(x.handle) == wire.Provisional {
			n++
		}
	}
	return n
}

// provisionals adds the operations name and aim to some seeds.
func (g *generator) provisionals() {
	d := g.rng.IntN
	if d(2) > 0 {
		return
	}
	where := func(do string) string {
		if d(4) > 0 {
			return do
		}
		return clientCallbacks[d(len(clientCallbacks))] + ":" + do
	}
	rate := []int{5, 30}[d(2)]
	for tick := 1; tick <= g.s.ticks; tick++ {
		if d(100) < rate {
			g.add(tick, where("name"), g.any(), g.any())
		}
		if d(100) < rate {
			g.add(tick, where("aim"), g.any(), g.any())
		}
	}
}
