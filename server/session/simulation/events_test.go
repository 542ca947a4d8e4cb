package simulation

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Scripts with the operations below declare two events. The oracle knows the events of
// every session. Each reliable event arrives once, in order and unchanged; an unreliable
// event arrives at most once, in a datagram of the next second. A client knows every handle
// in an event (H3).
type (
	Shout struct { // reliable
		Serial uint32
		Who    bulk.Handle `net:"ref"`
	}
	Spark struct { // unreliable
		Serial uint32
		Who    bulk.Handle `net:"ref"`
	}
)

var eventOps = []string{"tell", "cry", "witness", "near", "flood"}

// hasEvents reports whether the schema of s has events; deaths then have causes.
func (s *script) hasEvents() bool {
	for _, do := range eventOps {
		if s.has(do) {
			return true
		}
	}
	return false
}

// events makes some seeds send events.
func (g *generator) events(somewhere func(string) string) {
	d := g.rng.IntN
	if d(3) > 0 {
		return
	}
	rate := []int{10, 60}[d(2)]
	for tick := 1; tick <= g.s.ticks; tick++ {
		if d(100) >= rate {
			continue
		}
		switch do := eventOps[d(len(eventOps))]; do {
		case "near":
			g.add(tick, somewhere(do), g.place(), g.place(), d(2))
		case "flood":
			if d(20) == 0 {
				g.add(tick, do, g.any(), d(2000))
			}
		default:
			g.add(tick, somewhere(do), g.any(), g.any(), d(2))
		}
	}
}

// sessionKey names a session over all runs.
type sessionKey struct{ epoch, id uint64 }

// sentEvent is an event as the game sent it.
type sentEvent struct {
	serial uint32
	who    bulk.Handle
	tick   uint32
	dead   bool        // the entity was dead when the event was sent
	seen   bulk.Handle // clients must see this entity to receive the event
	unseen bool        // the client did not see it when the event was sent
}

// sessionEvents holds the events sent to one session.
type sessionEvents struct {
	shouts []sentEvent          // reliable, in order
	heard  int                  // number of shouts that arrived
	maybe  map[uint32]sentEvent // reliable events that wait for an Enter
}

// eventOracle is the part of a simulation that sends events.
type eventOracle struct {
	shout     schema.DefinedEvent[Shout]
	spark     schema.DefinedEvent[Spark]
	sparks    []sentEvent // events by serial, of both kinds
	bySession map[sessionKey]*sessionEvents
	refused   int
}

func (s *sim) eventsTo(k sessionKey) *sessionEvents {
	if s.events.bySession == nil {
		s.events.bySession = map[sessionKey]*sessionEvents{}
	}
	if s.events.bySession[k] == nil {
		s.events.bySession[k] = &sessionEvents{maybe: map[uint32]sentEvent{}}
	}
	return s.events.bySession[k]
}

// newSaying returns a new event with any handle that this run has issued or restored.
func (s *sim) newSaying(which, kind int) (event any, what sentEvent) {
	what = sentEvent{serial: uint32(len(s.events.sparks)), tick: uint32(s.world.Tick())}
	if len(s.order) > 0 {
		if l := s.order[nth(which, len(s.order))]; s.world.Status(l.handle) != bulk.Unissued {
			what.who, what.dead = l.handle, l.died != 0
		}
	}
	s.events.sparks = append(s.events.sparks, what)
	if nth(kind, 2) == 0 {
		return Shout{what.serial, what.who}, what
	}
	return &Spark{what.serial, what.who}, what
}

// sending calls send, and records the events that the sessions of all clients accept
// meanwhile.
func (s *sim) sending(event any, what sentEvent, send func() error) {
	before := map[*simClient]uint64{}
	for _, c := range s.clients {
		if p := c.liveSession(); p != nil && p != s.joining {
			before[c] = p.Traffic().Events
		}
	}
	err := send()
	if err != nil && err != session.ErrEventRefused {
		s.fail("R11", "event refused: %v", err)
	}
	if _, reliable := event.(Shout); !reliable {
		return
	}
	for c, n := range before {
		if p := c.liveSession(); p.Traffic().Events > n {
			t := s.eventsTo(sessionKey{s.epoch, p.ID()})
			if later := t.maybe[what.serial]; later.unseen {
				s.fail("R11", "client %d is sent event %d at once, for those who see %v, which it does not", c.number, what.serial, later.seen)
			}
			t.shouts = append(t.shouts, what)
			if l := s.lives[what.who]; l != nil {
				c.noteSentHandle(l)
			}
			s.coverage.reliable++
		}
	}
}

// doEvent carries out an operation that sends events to several clients.
func (s *sim) doEvent(o op) {
	a := func(i int) int { return o.args[i] }
	if o.do == "near" {
		event, what := s.newSaying(a(0), a(2))
		at := world.Vec3{X: float32(a(0)), Z: float32(a(1))}
		s.sending(event, what, func() error { return s.core.SendWithin(at, 30, event) })
		return
	}
	event, what := s.newSaying(a(1), a(2))
	if o.do == "cry" {
		s.sending(event, what, func() error { return s.core.Broadcast(event) })
		return
	}
	h := s.pick(a(0))
	if a(0)%2 == 0 && s.world.Status(s.lastFlip) == bulk.Live {
		h = s.lastFlip // may have spawned in this tick
	}
	for _, c := range s.clients {
		if p := c.liveSession(); p != nil && p.Resolve(h) != wire.Live {
			what := what
			what.seen, what.unseen = h, p.Resolve(h) != wire.Stale
			s.eventsTo(sessionKey{s.epoch, p.ID()}).maybe[what.serial] = what
		}
	}
	s.sending(event, what, func() error { return s.core.SendSeen(h, event) })
}

// tell sends the client's session an event.
func (c *simClient) tell(which, kind int) {
	s, p := c.sim, c.liveSession()
	if p == nil || p == s.joining {
		return
	}
	event, what := s.newSaying(which, kind)
	s.sending(event, what, func() error {
		before := p.Traffic()
		err := p.Send(event)
		if after := p.Traffic(); err == nil && kind == 0 && after.Events != before.Events+1 {
			s.fail("R11", "client %d was not sent a reliable event", c.number)
		}
		if err != nil {
			s.events.refused++
		}
		return err
	})
}

// clientEvents returns the client's functions, which check arriving events.
func (c *simClient) clientEvents() *client.Events {
	var events client.Events
	if c.sim.hasEvents {
		client.OnEvent(&events, c.sim.events.shout, c.heardShout)
		client.OnEvent(&events, c.sim.events.spark, c.heardSpark)
	}
	return &events
}

func (c *simClient) heardShout(tick uint32, e Shout) {
	s := c.sim
	w, _ := c.session.Welcome()
	t := s.eventsTo(sessionKey{w.Epoch, w.Session})
	if what, ok := t.maybe[e.Serial]; ok && (t.heard == len(t.shouts) || t.shouts[t.heard].serial != e.Serial) {
		delete(t.maybe, e.Serial)
		if what.unseen && c.session.Resolve(what.seen) == wire.Pending && !c.misled {
			s.fail("R11", "client %d heard %v, for those who see %v, ahead of its Enter", c.number, e, what.seen)
		}
		c.learn(what, e.Serial, e.Who)
		s.coverage.newborn++
		return
	}
	if t.heard >= len(t.shouts) {
		s.fail("R11", "client %d heard %v, one more than the %d that it was sent", c.number, e, t.heard)
	}
	want := t.shouts[t.heard]
	t.heard++
	if tick > uint32(s.world.Tick()) || tick < want.tick {
		s.fail("R11", "client %d heard %v of tick %d at tick %d", c.number, e, want.tick, tick)
	}
	c.learn(want, e.Serial, e.Who)
}

func (c *simClient) heardSpark(tick uint32, e Spark) {
	s := c.sim
	if c.sparks == nil {
		c.sparks = map[uint32]bool{}
	}
	if e.Serial >= uint32(len(s.events.sparks)) || c.sparks[e.Serial] {
		s.fail("R11", "client %d heard %v, which is a repetition or was never sent", c.number, e)
	}
	c.sparks[e.Serial] = true
	want := s.events.sparks[e.Serial]
	if tick != want.tick {
		s.fail("R11", "client %d heard %v of tick %d, want %d", c.number, e, tick, want.tick)
	}
	s.coverage.unreliable++
	c.learn(want, e.Serial, e.Who)
}

// learn checks an event that arrived. The client knows its handle from now on.
func (c *simClient) learn(want sentEvent, serial uint32, who bulk.Handle) {
	s := c.sim
	if want.serial != serial || want.who != who {
		s.fail("R11", "client %d heard event %d of %v, want %d of %v", c.number, serial, who, want.serial, want.who)
	}
	l := s.lives[who]
	if l == nil {
		return
	}
	if want.dead && c.session.Resolve(who) != wire.Stale && !c.misled {
		s.fail("H3", "client %d heard of %v, which was dead, and calls it %v", c.number, who, c.session.Resolve(who))
	}
	c.noteReceived(l)
}

// noteEvents checks the events of a datagram that the server sends.
func (c *simClient) noteEvents(h wire.StateHeader) {
	s := c.sim
	for e := range h.StateEvents() {
		var spark Spark
		declared := s.schema.Events()[int(e.Number)]
		s.must(rowschema.NewMessage(declared.Message).ReadValue(e.Body, &spark))
		if !declared.Unreliable || e.Age > 60 {
			s.fail("R11", "client %d is sent event %d of %d ticks before", c.number, e.Number, e.Age)
		}
		if l := s.lives[spark.Who]; l != nil {
			c.noteSentHandle(l)
			c.ofServer(l).sent = true
		}
	}
}

// noteNewborn records the handle of a reliable event that the server sends after an Enter.
func (c *simClient) noteNewborn(r wire.Record) {
	s := c.sim
	var shout Shout
	s.must(rowschema.NewMessage(s.schema.Events()[int(r.Number)].Message).ReadValue(r.Data, &shout))
	if l := s.lives[shout.Who]; l != nil {
		c.noteSentHandle(l)
		c.ofServer(l).sent = true
	}
}

// unheard returns the number of reliable events that the client has not received.
func (c *simClient) unheard() int {
	w, ok := c.session.Welcome()
	if !ok {
		return 0
	}
	t := c.sim.eventsTo(sessionKey{w.Epoch, w.Session})
	return len(t.shouts) - t.heard
}

// destroy destroys an entity, in scripts with events for a cause.
func (s *sim) destroy(h bulk.Handle, cause uint8) {
	l := s.lives[h]
	if l == nil || !s.hasEvents {
		s.world.Destroy(h)
	} else if s.world.DestroyBecause(h, cause) {
		l.cause = cause
	}
}

// judgeCause compares the cause in a Destroy with the server's history.
func (c *simClient) judgeCause(r wire.Record, l *life) {
	k := c.ofServer(l)
	known := k.entered && k.since == 0 && !k.killed
	if known && r.Cause != l.cause || r.Cause != 0 && r.Cause != l.cause {
		c.sim.fail("R5", "client %d is sent cause %d of the death of %v, want %d", c.number, r.Cause, r.Handle, l.cause)
	}
	if r.Cause != 0 {
		c.sim.coverage.causes++
	}
}
