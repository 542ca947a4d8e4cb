package simulation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// The oracle computes every client's and every viewer's verdict on every handle ever
// issued, and compares it with the actual verdict. It uses only the world's history and the
// structure records on the stream.

// judgeEvery returns the number of ticks between comparisons: 1, or more in short runs. A
// comparison resolves handles, and so changes what the server sends. It is 1 if the run is recorded,
// so that the recording does not depend on -short.
func (s *sim) judgeEvery() int {
	if testing.Short() && s.recording == nil {
		return 8
	}
	return 1
}

// knowledge is the expected state of one handle at one client.
type knowledge struct {
	verdict  wire.Verdict // the client's verdict
	received bool         // the client received it, as an entity or in a component
	since    int          // tick at which the server sent it outside structure after its death
	seen     bool         // the client received it as an entity
	dead     bool         // the client received its Destroy
	entered  bool         // the server has written its Enter or its Control, or is about to send the handle
	sent     bool         // a message or snapshot with the handle was given to the connection, or the game sent the handle
	enter    *wire.Record // the newest Enter
	killed   bool         // the server has written a record that makes the handle Stale
}

// streamParser parses one end of the server's stream.
type streamParser struct {
	records uint32
	joined  bool
	floor   uint32
	lied    bool // the simulation inserted a record
}

// of returns the client's knowledge of l.
func (c *simClient) of(l *life) *knowledge { return knowledgeOf(&c.known, l) }

// ofServer returns the knowledge of l that the server's session assumes. It differs from of
// while the Welcome of a new session is on its way.
func (c *simClient) ofServer(l *life) *knowledge {
	if c.renewing {
		return knowledgeOf(&c.fresh, l)
	}
	return c.of(l)
}

func knowledgeOf(all *[]knowledge, l *life) *knowledge {
	for len(*all) <= l.number {
		*all = append(*all, knowledge{})
	}
	return &(*all)[l.number]
}

// read parses bytes of the stream and calls a function for each Welcome, structure record,
// Control and Result.
func (n *streamParser) read(s *sim, frames *wire.FrameReader, p []byte, welcome func(wire.Welcome), record func(wire.Record), control func(bulk.Handle), result func(wire.Result)) {
	frames.Feed(p)
	for {
		kind, body, ok, err := frames.Next()
		s.must(err)
		if !ok {
			return
		}
		switch kind {
		case wire.TypeWelcome:
			w := must.Get(wire.Parse[wire.Welcome](body))
			welcome(w)
			n.joined, n.floor = true, w.GenerationFloor
		case wire.TypeControl:
			m := must.Get(wire.Parse[wire.Control](body))
			control(m.Entity)
		case wire.TypeResult:
			m := must.Get(wire.Parse[wire.Result](body))
			result(m)
		case wire.TypeStructure:
			m := must.Get(wire.ParseStructure(body))
			if m.First != n.records+1 && !n.lied {
				s.fail("R4", "structure record %d follows %d", m.First, n.records)
			}
			for r, err := range m.Records() {
				s.must(err)
				n.records++
				record(r)
			}
		}
	}
}

// noteSent parses what the server writes. Only a live entity may enter, only a dead one be
// destroyed, and a repeated record must be unchanged.
func (c *simClient) noteSent(n *conn, p []byte) {
	s := c.sim
	c.sent.read(s, &n.sent, p, func(w wire.Welcome) { c.welcomed(n, w) }, func(r wire.Record) {
		l := s.lives[r.Handle]
		if r.Op != wire.OpEvent && r.Handle != 0 && (l == nil || l.run != s.run) {
			s.fail("H5", "client %d is sent %v of %v, of another run", c.number, r.Op, r.Handle)
		}
		if i := int(c.sent.records) - 1; i < len(c.written) {
			if was := c.written[i]; was.Op != r.Op || was.Handle != r.Handle || was.Number != r.Number || was.Cause != r.Cause || !slices.Equal(was.Row, r.Row) || !slices.Equal(was.Data, r.Data) {
				s.fail("R8", "client %d is sent %v as record %d, which was %v", c.number, r, i+1, was)
			}
			return
		}
		s.stalls[n.peer.Session()].noteRecord(c.sent.records, s.tick)
		r.Row, r.Data = slices.Clone(r.Row), slices.Clone(r.Data)
		c.written = append(c.written, r)
		switch r.Op {
		case wire.OpEvent:
			c.noteNewborn(r)
			return
		case wire.OpAnswer:
			c.noteAnswer(r)
			return
		case wire.OpExtension:
			c.judgeExtension(r)
			return
		}
		status := s.world.Status(r.Handle)
		switch {
		case r.Op == wire.OpEnter && status != bulk.Live:
			s.fail("H1", "client %d is sent the enter of %v, which is %v", c.number, r.Handle, status)
		case r.Op == wire.OpDestroy && status != bulk.Stale:
			s.fail("H3", "client %d is sent the destroy of %v, which is %v", c.number, r.Handle, status)
		}
		if r.Op == wire.OpDestroy {
			c.judgeCause(r, l)
		}
		if r.Op == wire.OpEnter {
			k := c.ofServer(l)
			k.entered, k.sent, k.enter = true, true, &r
			c.noteEntered(r)
		}
		s.eachKilled(r, func(l *life) { c.ofServer(l).killed = true })
	}, func(h bulk.Handle) { c.judgeControl(n, h) }, c.judgeTold)
}

// noteArrived parses what the client receives, and updates the expected verdicts.
func (c *simClient) noteArrived(p []byte) {
	s := c.sim
	c.arrived.read(s, &c.conn.arrived, p, c.noteWelcome, func(r wire.Record) {
		if r.Op == wire.OpEvent || r.Handle == 0 {
			return
		}
		if r.Op == wire.OpAnswer {
			c.of(s.lives[r.Handle]).received = true
			return
		}
		k := c.of(s.lives[r.Handle])
		s.eachKilled(r, func(l *life) { c.of(l).verdict = wire.Stale })
		switch {
		case k.verdict == wire.Stale:
		case r.Op == wire.OpEnter:
			k.verdict = wire.Live
		case r.Op == wire.OpLeave && k.verdict == wire.Live:
			k.verdict = wire.Hidden
		}
	}, func(h bulk.Handle) {
		if h != 0 {
			c.of(s.lives[h]).received = true
		}
	}, func(wire.Result) {})
}

// noteWelcome handles an arrived Welcome. In a new session the client knows nothing, except
// that handles which were Stale in this run stay Stale.
func (c *simClient) noteWelcome(w wire.Welcome) {
	if w.Resumed == 0 && c.renewing {
		for i := range c.known {
			if l := c.sim.order[i]; w.Epoch == c.epoch && l.run == c.sim.run && c.known[i].verdict == wire.Stale {
				knowledgeOf(&c.fresh, l).verdict = wire.Stale
			}
		}
		c.known, c.fresh, c.renewing, c.forgot = c.fresh, nil, false, false
		c.arrived, c.epoch, c.misled, c.misleads, c.boasted = streamParser{}, w.Epoch, c.misleads, false, false
	}
}

// eachKilled calls f for each life that r makes Stale: earlier tenants of its slot, and its
// own if r is a Destroy.
func (s *sim) eachKilled(r wire.Record, f func(*life)) {
	for _, l := range s.tenants[r.Handle.Index()] {
		if g := l.handle.Generation(); g < r.Handle.Generation() || g == r.Handle.Generation() && r.Op == wire.OpDestroy {
			f(l)
		}
	}
}

// judgeAll compares both ends' verdicts on every handle ever issued, and on some forged
// ones.
func (c *simClient) judgeAll() {
	s := c.sim
	if n := len(s.order); n > 0 {
		c.of(s.order[n-1]) // extends c.known to every life
		c.ofServer(s.order[n-1])
	}
	c.judgeProvisionals()
	serves := c.sent.joined && c.liveSession() != nil
	c.interest()
	for i, l := range s.order {
		k := &c.known[i]
		c.judgeClient(l, k)
		if serves {
			c.judgeServer(l, c.ofServer(l))
		}
	}
	for range 2 {
		forged := bulk.Handle(s.rng.Uint64())
		if v := c.session.Resolve(forged); s.lives[forged] == nil && (v == wire.Live || v == wire.Hidden) {
			s.fail("H1", "client %d calls the forged handle %v %v", c.number, forged, v)
		}
	}
	if r := c.session.Replica(); r != nil && r.Stats().Faults > c.spoilt {
		s.fail("H1", "client %d: the fold of an intact datagram did not match", c.number)
	}
}

// interest fills sim.interestSlots with the slots of the interest set.
func (c *simClient) interest() {
	s := c.sim
	s.interestSlots = append(s.interestSlots[:0], make([]bool, s.world.Slots().Len())...)
	c.shown(func(h bulk.Handle) bool {
		if s.world.Status(h) != bulk.Live {
			s.fail("R1", "%v is in the interest set of client %d and is not live", h, c.number)
		}
		s.interestSlots[h.Index()] = true
		return true
	})
}

func (c *simClient) judgeClient(l *life, k *knowledge) {
	s := c.sim
	want := k.verdict
	switch {
	case c.forgot && l.run != s.run:
		want = wire.Stale
	case c.forgot:
		return // the client calls every other handle Stale
	case !c.arrived.joined:
		want = wire.Pending
	case l.handle.Generation() < c.arrived.floor:
		want = wire.Stale // H5
	}
	got := c.session.Resolve(l.handle)
	s.coverage.verdicts[0][got]++
	if k.received && l.died != 0 && l.run == s.run && !c.lossy && c.conn.closed == wire.OK && !c.conn.cut && c.conn.welcome != 0 && !c.renewing {
		// H3 on a working link: one delay and one send interval, which is stricter than the
		// round trip in H3. The client runs once per tick.
		if late := int64(s.tick-max(l.died, k.since, c.conn.welcome, s.paced, c.conn.sender.until)-s.interval()-1)*tickMs - c.slowest; late > 0 {
			s.coverage.timed++
			if got != wire.Stale {
				s.fail("H3", "client %d calls %v %v, %d ms after its death should have arrived", c.number, l.handle, got, late)
			}
		}
	}
	if got == want && (got != wire.Stale || l.died != 0) {
		return
	}
	switch {
	case got == wire.Stale && l.died == 0:
		s.fail("H3", "client %d calls %v stale, which is alive", c.number, l.handle)
	case l.run != s.run:
		s.fail("H5", "client %d calls %v of an earlier run %v, want %v", c.number, l.handle, got, want)
	case want == wire.Stale:
		s.fail("H3", "client %d calls %v %v, want stale", c.number, l.handle, got)
	}
	s.fail("H1", "client %d calls %v %v, want %v", c.number, l.handle, got, want)
}

// judgeServer checks the server's verdict on a command's target (H2). The verdict must
// reveal nothing that the client was not sent (R10), and a death must be sent in time (H3).
func (c *simClient) judgeServer(l *life, k *knowledge) {
	s := c.sim
	got := c.serverVerdict(l.handle)
	s.coverage.verdicts[1][got]++
	if l.died != 0 {
		known := l.run != s.run || k.entered || k.received || k.killed
		switch {
		case known && got != wire.Stale:
			s.fail("H2", "the server calls the dead %v %v to client %d, which was sent it", l.handle, got, c.number)
		case !known && got != wire.Pending && !c.mayKnowDead(l):
			s.fail("R10", "the server calls the dead %v %v to client %d, which was never sent it", l.handle, got, c.number)
		}
		if (k.entered || k.received) && !k.killed && l.run == s.run && !c.away() && s.tick-max(l.died, k.since, c.holder(c.liveSession()).welcome, s.paced, c.holder(c.liveSession()).sender.until) > s.interval() {
			s.fail("H3", "%v died %d ticks ago, and client %d, which was sent it, was sent no Destroy", l.handle, s.tick-l.died, c.number)
		}
		return
	}
	shown := s.interestSlots[l.handle.Index()]
	switch {
	case (got == wire.Live) != shown:
		s.fail("H2", "the server calls %v %v to client %d; in its interest set: %v", l.handle, got, c.number, shown)
	case got == wire.Stale:
		s.fail("H2", "the server calls %v stale, which is alive", l.handle)
	case got == wire.Pending && (k.entered || k.received):
		s.fail("R2", "the server calls %v pending, and client %d was sent it", l.handle, c.number)
	case got == wire.Hidden && !k.entered && !l.named:
		s.fail("R2", "the server calls %v hidden, and client %d was never sent it", l.handle, c.number)
	}
}

// mayKnowDead reports whether the server may have revealed to the client that l is dead:
// the client was sent l or a later dead tenant of its slot, or a component named such an
// entity.
func (c *simClient) mayKnowDead(l *life) bool {
	return slices.ContainsFunc(c.sim.tenants[l.handle.Index()], func(t *life) bool {
		k := c.ofServer(t)
		return t.handle.Generation() >= l.handle.Generation() && t.died != 0 && (k.entered || k.received || k.killed || t.named)
	})
}

// judgeSettled checks the client at the end of a script, when everything has arrived.
func (c *simClient) judgeSettled() {
	if f := c.unsettled(); f != nil {
		c.sim.fail(f.invariant, "at the end: client %d: %s", c.number, f.text)
	}
}

// unsettled returns the reason why the client is not up to date, or nil.
func (c *simClient) unsettled() *failure {
	s, r := c.sim, c.session.Replica()
	lacks := func(invariant, format string, args ...any) *failure {
		return &failure{invariant, s.tick, fmt.Sprintf(format, args...)}
	}
	switch {
	case r == nil || !c.session.Joined():
		return lacks("S3", "not joined")
	case c.lied:
		return lacks("C3", "a dead entity entered, and the session continues")
	case c.boasted:
		return lacks("H6", "it acknowledged something never sent, and the session continues")
	}
	if got, p := c.session.Controlled(), c.liveSession(); p != nil && got != p.Entity() {
		return lacks("S5", "its controlled entity is %v, want %v", got, p.Entity())
	}
	c.interest()
	shown := 0
	for _, in := range s.interestSlots {
		if in {
			shown++
		}
	}
	if r.Len() != shown {
		return lacks("R3", "%d entities in the replica, %d in the interest set", r.Len(), shown)
	}
	for e := range r.All() {
		h := e.Handle()
		if s.world.Status(h) != bulk.Live || !s.interestSlots[h.Index()] {
			return lacks("H3", "%v is in the replica but not in the interest set", h)
		}
		owns := c.owns(h, uint32(s.world.Tick()))
		if e.Owned() != owns && !c.misled {
			return lacks("R7", "it owns %v: %v, want %v", h, e.Owned(), owns)
		}
		if !slices.Equal(c.computed(e, s.seen(s.quantised(h), owns)), e.AppendValues(nil)) && !c.misled {
			return lacks("R3", "%v is not up to date", h)
		}
		if c.lacksNames(e, owns) {
			return lacks("R12", "the texts of %v are not up to date", h)
		}
	}
	for i := range c.known {
		l := s.order[i]
		if k := &c.known[i]; k.received && l.died != 0 && c.session.Resolve(l.handle) != wire.Stale {
			return lacks("H3", "%v is dead, and its verdict is %v", l.handle, c.session.Resolve(l.handle))
		}
	}
	if n := c.unheard(); n > 0 {
		return lacks("R11", "%d events have not arrived", n)
	}
	if n := c.unended(); n > 0 {
		return lacks("H7", "%d provisional handles have no answer", n)
	}
	if len(c.intents) > 0 {
		return lacks("H2", "%d commands have no answer", len(c.intents))
	}
	if text := c.misses(); text != "" {
		return lacks("R1", "%s", text)
	}
	return nil
}

// misses compares the interest set with the entities' positions. Entities that wait for the
// budget to enter may differ.
func (c *simClient) misses() string {
	s := c.sim
	focus := c.entity()
	at, _, placed := s.world.Slots().Body(focus.Index())
	if s.world.Status(focus) != bulk.Live || !placed {
		return ""
	}
	c.interest()
	for _, l := range s.living {
		slot := l.handle.Index()
		p, _, placed := s.world.Slots().Body(slot)
		shown := s.interestSlots[slot]
		owns := c.owns(l.handle, uint32(s.world.Tick()))
		near, far := c.allowed(l.handle)
		far = far || !placed
		switch distance := p.Sub(at).Len(); {
		case (owns || near && (far || distance < enterRadius)) && !shown:
			return fmt.Sprintf("%v is %v m away and not in the interest set", l.handle, distance)
		case !owns && !(near && (far || distance <= leaveRadius)) && shown:
			return fmt.Sprintf("%v is %v m away and in the interest set", l.handle, distance)
		}
	}
	return ""
}

func (c *simClient) sum() {
	t := &c.sim.coverage
	t.faults += c.departed.faults
	t.leaves += c.departed.leaves
	if r := c.session.Replica(); r != nil {
		t.faults += r.Stats().Faults
		t.leaves += r.Stats().Leaves
		t.audits += int(r.Stats().Motion.Audited)
	}
	t.corrupted += int(c.spoilt)
}
