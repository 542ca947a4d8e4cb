package simulation

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// crashClient is a client of a server that crashes, and what it has received.
type crashClient struct {
	s        *crashSim
	number   int
	session  *client.Session
	names    client.Component[Identity]
	conn     *crashConn
	noticeAt int // tick at which it notices that the server has crashed; 0: the server has not
	backAt   int // tick at which the client reconnects; 0: it is connected

	welcome     wire.Welcome // the newest that it has received
	handles     []bulk.Handle
	stale       map[bulk.Handle]bool
	sent        map[uint32]uint32 // command numbers, by id
	confirmed   map[uint32]bool   // numbers of commands with an OK Result
	provisional map[uint32]bulk.Handle
	bound       map[bulk.Handle]bulk.Handle
	leaving     []uint64 // sessions that this client has left

	commands, results, begunAgain int
}

// crashConn is a connection, whose server may crash.
type crashConn struct {
	stage.Linked
	closed bool // the server is gone
}

func (s *crashSim) newClient(i int) *crashClient {
	c := &crashClient{s: s, number: i}
	c.begin()
	return c
}

// begin begins a new session of a client that knows nothing.
func (c *crashClient) begin() {
	own := schema.NewWithBody()
	schema.Define[Identity](own, "identity")
	c.names = must.Get(client.ComponentOf[Identity](own, "identity"))
	c.session = must.Get(client.NewSession(client.SessionConfig{Schema: own, PlainRows: c.number%3 == 1, Result: c.result, Observer: client.Observer{Enter: c.see, Update: c.see}}))
	c.welcome = wire.Welcome{}
	c.handles, c.stale = nil, map[bulk.Handle]bool{}
	c.sent, c.confirmed = map[uint32]uint32{}, map[uint32]bool{}
	c.provisional, c.bound = map[uint32]bulk.Handle{}, map[bulk.Handle]bulk.Handle{}
	c.connect()
}

func (c *crashClient) connect() {
	n := &crashConn{}
	n.Linked = stage.Linked{Connection: simtest.NewConnection(c.s.rng.Uint64(), c.s.links), Client: c.session, Now: c.s.now(), Unit: time.Millisecond, OnClose: func(code wire.Code, text string) {
		if !n.closed && code != wire.OK && code != wire.Replaced && code != wire.Timeout {
			c.s.fail("the server ends client %d: %v %s", c.number, code, text)
		}
		n.closed = true
	}}
	n.Peer = c.s.core.Open(context.Background(), "", n)
	c.conn, c.backAt, c.noticeAt = n, 0, 0
}

// SendStream implements session.Conn. A server that has crashed sends nothing.
func (n *crashConn) SendStream(p []byte) bool { return n.closed || n.Linked.SendStream(p) }

// SendSnapshot implements session.Conn.
func (n *crashConn) SendSnapshot(datagrams [][]byte) {
	if !n.closed {
		n.Linked.SendSnapshot(datagrams)
	}
}

// drop breaks the connection, and reconnects after some ticks.
func (c *crashClient) drop(away int) {
	if c.backAt == 0 {
		if !c.conn.closed {
			c.conn.Peer.(*session.Peer).Gone()
		}
		c.session.Lost(&wire.Error{Code: wire.Timeout})
	}
	c.noticeAt, c.backAt = 0, c.s.tick+away
}

// act executes one random action.
func (c *crashClient) act() {
	s := c.s
	switch n := s.rng.IntN(20); {
	case n == 0 && c.backAt == 0:
		c.drop(1 + s.rng.IntN(60))
	case n == 1 && s.rng.IntN(8) == 0 && c.session.Joined() && !c.conn.closed:
		c.leaving = append(c.leaving, c.welcome.Session)
		c.conn.Peer.(*session.Peer).Left()
		c.conn.closed = true
		c.begin()
	case n < 14 && c.session.Joined():
		c.write()
	case s.pokes() && c.session.Joined() && len(c.handles) > 0:
		_, err := c.session.DoRaw("poke", c.handles[s.rng.IntN(len(c.handles))], nil)
		if err != nil && err != client.ErrTooManyCommands {
			s.fail("client %d: %v", c.number, err)
		}
	}
}

// write sends a command with a number of its own.
func (c *crashClient) write() *client.Future {
	c.commands++
	number := uint32(c.commands*crashClientCount + c.number)
	var named []bulk.Handle
	if c.s.rng.IntN(4) == 0 && c.s.world.Stats().Entities < 45 {
		if h, err := c.session.Provisional(); err == nil {
			named = append(named, h)
			c.provisional[number] = h
		}
	}
	f, err := c.session.DoRaw("write", 0, crashArgs(number), named...)
	if err != nil {
		if err != client.ErrTooManyCommands {
			c.s.fail("client %d: %v", c.number, err)
		}
		return nil
	}
	c.sent[f.ID()] = number
	return f
}

func (c *crashClient) result(r client.Result) {
	number, mine := c.sent[r.ID]
	if mine && r.Err == nil {
		c.confirmed[number] = true
		c.results++
	}
	if rejected, ok := r.Err.(*client.Rejection); ok && mine {
		c.s.fail("client %d: command %d was rejected: %v", c.number, number, rejected)
	}
}

// see notes an entity in view, which must be the same for all clients, before and after crashes (H1).
func (c *crashClient) see(e *client.Entity) {
	s, h := c.s, e.Handle()
	name, _ := c.names.Get(e)
	want, told := s.told[h]
	switch {
	case told && want != name.Value:
		s.fail("client %d has %v with identity %d, and clients know it as %d", c.number, h, name.Value, want)
	case s.world.Status(h) == bulk.Unissued:
		s.fail("client %d has %v, which the world has not issued", c.number, h)
	case s.world.Status(h) == bulk.Live && s.identityOf(h) != name.Value:
		s.fail("client %d has %v with identity %d; it is %d", c.number, h, name.Value, s.identityOf(h))
	}
	if !told {
		s.told[h] = name.Value
	}
	if !slices.Contains(c.handles, h) {
		c.handles = append(c.handles, h)
	}
}

// step moves bytes, and lets the client act.
func (c *crashClient) step() {
	s := c.s
	if c.noticeAt != 0 && s.tick >= c.noticeAt {
		c.drop(1 + s.rng.IntN(30))
	}
	if c.backAt != 0 {
		if s.tick < c.backAt {
			return
		}
		c.session.Reconnect()
		c.connect()
	}
	n := c.conn
	if _, err := n.Receive(); err != nil {
		s.fail("client %d: %v", c.number, err)
		return
	}
	if w, ok := c.session.Welcome(); ok && !bytes.Equal(w.Secret, c.welcome.Secret) {
		c.welcomed(w)
	}
	c.session.Render(n.Time())
	n.Answer()
	if !n.closed {
		if err := n.Serve(); err != nil {
			s.fail("the server refuses what client %d sent: %v", c.number, err)
		}
	}
}

// welcomed checks a Welcome: the client stays in its session (S4).
func (c *crashClient) welcomed(w wire.Welcome) {
	was := c.welcome
	c.welcome = w
	if len(was.Secret) == 0 {
		return
	}
	if w.Session != was.Session || w.Epoch != was.Epoch {
		c.s.fail("client %d was in session %d, and is welcomed to %d", c.number, was.Session, w.Session)
		return
	}
	if w.Resumed == 0 {
		c.begunAgain++
	}
	if p := c.s.core.Session(w.Session); p != nil && !c.conn.closed && !c.s.pokes() {
		if done := p.Value().(*diary).done; len(done) != int(w.Commands) {
			c.s.fail("client %d is told that %d commands were received, and %d were executed", c.number, w.Commands, len(done))
		}
	}
}

// judgeRestored checks just after a crash that the client's session exists and controls the entity that the client
// has received (J1).
func (c *crashClient) judgeRestored() {
	s := c.s
	if len(c.welcome.Secret) == 0 {
		return
	}
	p := s.core.Session(c.welcome.Session)
	if p == nil {
		s.fail("session %d of client %d is not restored", c.welcome.Session, c.number)
		return
	}
	if own := c.session.Controlled(); own != 0 && own != p.Entity() {
		s.fail("client %d controls %v, and its restored session %v", c.number, own, p.Entity())
	}
}

// verify compares what the client has received with the world.
func (c *crashClient) verify() {
	s := c.s
	for _, h := range c.handles {
		v, status := c.session.Resolve(h), s.world.Status(h)
		switch {
		case status == bulk.Unissued:
			s.fail("client %d has received %v, which the world has not issued", c.number, h)
		case c.stale[h] && v != wire.Stale:
			s.fail("client %d called %v stale, and now %v (H3)", c.number, h, v)
		case v == wire.Stale && status == bulk.Live:
			s.fail("client %d calls %v stale, which lives (H3)", c.number, h)
		}
		c.stale[h] = v == wire.Stale
	}
	for number, h := range c.provisional {
		entity := c.session.Real(h)
		was, bound := c.bound[h]
		switch {
		case entity == 0 && !bound:
			continue
		case bound && was != entity:
			s.fail("the provisional handle %v of client %d stood for %v, and now for %v (H7)", h, c.number, was, entity)
		case s.world.Status(entity) == bulk.Unissued:
			s.fail("the provisional handle %v of client %d stands for %v, which the world has not issued", h, c.number, entity)
		case s.world.Status(entity) == bulk.Live && s.identityOf(entity) != crashIdentity(number):
			s.fail("the provisional handle %v of client %d stands for the entity of another command", h, c.number)
		}
		c.bound[h] = entity
	}
	p := s.core.Session(c.welcome.Session)
	if p == nil {
		return
	}
	done, sum := p.Value().(*diary).done, uint64(0)
	for _, n := range done {
		sum += uint64(n)
	}
	if t, _ := s.writtenBy(p.Entity()); t != (Written{uint32(len(done)), sum}) && s.world.Status(p.Entity()) == bulk.Live {
		s.fail("session %d has executed %d commands, and the world holds the effects of %d", p.ID(), len(done), t.Count)
	}
	for n := range c.confirmed {
		if !slices.Contains(done, n) {
			s.fail("client %d has the result of command %d, whose effect is lost (J1)", c.number, n)
		}
	}
}

// judgeSettled checks the client at the end, when everything has arrived.
func (c *crashClient) judgeSettled() {
	s := c.s
	p := s.core.Session(c.welcome.Session)
	if p == nil || !c.session.Joined() {
		s.fail("client %d has not joined", c.number)
		return
	}
	seen, far := 0, 0
	for h := range p.InterestSet() {
		seen++
		if v := c.session.Resolve(h); v != wire.Live {
			s.fail("client %d calls %v of its view %v", c.number, h, v)
		}
		if at, _ := s.world.Position(h); at.X > 400 {
			far++
		}
	}
	switch {
	case c.session.Replica().Len() != seen:
		s.fail("client %d shows %d entities, want %d", c.number, c.session.Replica().Len(), seen)
	case far != 1:
		s.fail("client %d sees %d far entities, want the one that its session owns", c.number, far)
	case c.session.Controlled() != p.Entity():
		s.fail("client %d controls %v, want %v", c.number, c.session.Controlled(), p.Entity())
	case s.asleep.Get(p.Entity()) != nil:
		s.fail("the entity of client %d is asleep: Back was not called", c.number)
	}
}
