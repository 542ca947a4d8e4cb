package simulation

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// conn is one connection of a client: the stream and datagrams of both directions, and the
// server's end.
type conn struct {
	simtest.Connection
	client *simClient
	peer   *session.Peer

	cut     bool   // the client neither receives nor sends; data that it has sent still arrives
	goneAt  int    // tick at which the server will notice the loss; 0: never
	gone    int    // tick at which it noticed; 0: not yet
	absence int    // ticks without a connection before this one
	orphan  bool   // ignore the server's bytes
	from    uint32 // structure records applied before this connection
	welcome int    // tick at which the server wrote the Welcome
	closed  wire.Code
	sent    wire.FrameReader
	arrived wire.FrameReader
	sender  sender
	stamp   uint32 // stamp of the newest datagram, which arrived at heard
	heard   int64
}

func (s *sim) newConn(c *simClient) *conn {
	n := &conn{Connection: simtest.NewConnection(s.rng.Uint64(), s.links), client: c}
	n.peer = s.core.Open(context.Background(), "", n)
	return n
}

// The server's end of the connection.

func (n *conn) SendStream(p []byte) bool {
	if !n.orphan {
		n.client.noteSent(n, p)
		n.client.sim.unseen.addSent(n.client.number, p)
	}
	n.send(p)
	return true
}

func (n *conn) SendSnapshot(ds [][]byte) {
	c, s := n.client, n.client.sim
	if n.orphan {
		return
	}
	if len(n.sender.datagrams) > 0 {
		s.fail("S8", "client %d is sent a snapshot in place of one that never left", c.number)
	}
	for i, d := range ds {
		s.unseen.addSent(c.number, d)
		ds[i] = c.noteSnapshot(d)
		if len(ds[i]) > wire.MaxDatagram {
			s.fail("S3", "datagram of %d bytes", len(ds[i]))
		}
	}
	n.sendDatagrams(ds)
}

func (n *conn) Close(code wire.Code, _ string) {
	n.closed = code
	if n.gone == 0 {
		n.gone = n.client.sim.tick
	}
}

// deliverUp delivers arrived data to the server. Data of an abandoned connection must not
// count as the client's; it is never malformed.
func (n *conn) deliverUp() {
	s := n.client.sim
	refuse := func(err error) {
		if err != nil && n.closed == wire.OK {
			s.fail("S3", "client %d sent what the server refuses: %v", n.client.number, err)
		}
	}
	if n.goneAt != 0 && s.tick >= n.goneAt && n.gone == 0 {
		n.gone = s.tick
		n.peer.Gone()
	}
	if n.gone != 0 {
		return
	}
	if p := n.Up.Receive(s.now()); len(p) > 0 {
		refuse(n.peer.ReceiveStream(p))
	}
	for _, d := range n.UpData.Receive(s.now()) {
		stamp, err := n.peer.ReceiveDatagram(d)
		refuse(err)
		n.client.noteAcked(n, d)
		n.stamp, n.heard = stamp, s.now()
		n.noteAck(d)
		if n.client.conn == n && n.welcome != 0 {
			n.client.answered = true
			n.client.spend()
		}
	}
}

// cutOff breaks the connection. The server notices after notice ticks; the client reconnects
// after away ticks.
func (c *simClient) cutOff(notice, away int) {
	s := c.sim
	if c.conn.cut || c.conn.closed != wire.OK || c.lied || c.boasted {
		return
	}
	// The connection breaks in the middle of data that is on its way.
	if p := c.conn.Down.Receive(s.now() + 1000); len(p) > 2 && !c.takeStream(p[:2*len(p)/3]) {
		return
	}
	c.conn.cut = true
	c.conn.goneAt = s.tick + 1 + notice
	c.backAt = s.tick + 1 + away
	c.session.Lost(&wire.Error{Code: wire.Timeout})
	s.coverage.cuts++
}

// reconnect opens another connection to resume the client's session, if the server has it.
func (c *simClient) reconnect() {
	s := c.sim
	w, joined := c.session.Welcome()
	old := c.conn
	s.left = append(s.left, old)
	old.cut, c.was = true, c.liveSession()
	if !joined { // there is no session to resume
		old.orphan, c.was = true, nil
	}
	c.backAt, c.lossy, c.slowest = 0, false, 0
	c.conn = s.newConn(c)
	if old.gone != 0 {
		c.conn.absence = s.tick - old.gone
	}
	c.noteLinks(s.links)
	c.session.Reconnect()
	if r := c.session.Replica(); r != nil {
		c.conn.from = r.Stats().Ack.Structure
	}
	if joined {
		c.secrets = append(c.secrets, bytes.Clone(w.Secret))
	}
}

// liveSession returns the client's session on the server, or nil.
func (c *simClient) liveSession() *session.Session {
	if p := c.newestSession(); p != nil && !c.sim.over[p] {
		return p
	}
	return nil
}

// newestSession returns the client's newest session, even if it has ended.
func (c *simClient) newestSession() *session.Session {
	if p := c.conn.peer.Session(); p != nil {
		return p
	}
	return c.was
}

// holder returns the connection that carries a session.
func (c *simClient) holder(p *session.Session) *conn {
	all := append(slices.Clone(c.sim.left), c.conn)
	for _, n := range slices.Backward(all) {
		if n.peer.Session() == p {
			return n
		}
	}
	return nil
}

// away reports whether the client's session has no connection.
func (c *simClient) away() bool { return c.holder(c.liveSession()).gone != 0 }

// welcomed checks a Welcome of the server: the session must resume if and only if it can.
func (c *simClient) welcomed(n *conn, w wire.Welcome) {
	s := c.sim
	n.welcome = s.tick
	c.judgeSimulate(w)
	must, may := c.resumable()
	switch resumed := w.Resumed == 1; {
	case !resumed && n != c.conn && c.conn.welcome != 0:
		n.orphan = true // its late Hello shows a secret that the newer connection has spent
	case resumed && !may:
		s.fail("S4", "client %d resumed a session that should have ended", c.number)
	case !resumed && must:
		s.fail("S4", "client %d reconnected in time, and its session was not resumed", c.number)
	case resumed:
		if n.absence > restTicks {
			s.coverage.travels++
		}
		c.sent.records = n.from
		s.coverage.resumed++
	default:
		for _, old := range s.left {
			if old.client == c {
				old.orphan = true
			}
		}
		c.was, c.answered = nil, false
		c.sent = streamParser{joined: true, floor: w.GenerationFloor}
		c.written, c.fresh, c.renewing = nil, nil, true
		c.datagrams, c.newest, c.owed = map[uint32]*receivedDatagram{}, 0, newOwed()
	}
	n.watch()
}

// resumable reports whether the earlier session must resume and whether it may resume.
func (c *simClient) resumable() (must, may bool) {
	if c.was == nil {
		return false, false
	}
	if c.sim.kicked[c.was] {
		return false, true // until the next tick
	}
	gone := c.holder(c.was).gone
	after := c.sim.tick - gone
	grace := c.sim.grace()
	return c.answered && (gone == 0 || after < grace), gone == 0 || after <= grace+2
}

// spend records that all secrets but the newest are invalid.
func (c *simClient) spend() {
	if len(c.secrets) > 0 {
		c.spent = append(c.spent, c.secrets...)
		c.secrets = c.secrets[:0]
	}
}

// steal presents an invalid secret for the client's session on another connection, which must
// begin a new session.
func (c *simClient) steal(which int) {
	s := c.sim
	w, ok := c.session.Welcome()
	if !ok || w.Epoch != s.epoch {
		return
	}
	secret := bytes.Repeat([]byte{byte(which)}, wire.SecretBytes)
	if len(c.spent) > 0 && which%2 == 0 {
		secret = c.spent[nth(which, len(c.spent))]
	}
	hello := stage.Hello(s.core.Config().Schema)
	hello.Epoch, hello.Session, hello.Secret, hello.Structure = s.epoch, w.Session, secret, c.session.Replica().Stats().Ack.Structure
	t := &stage.Conn{Forget: true}
	peer := s.core.Open(context.Background(), "", t)
	t.Peer = peer
	t.OnMessage = func(kind byte, _ []byte) {
		if kind != wire.TypeWelcome {
			return
		}
		if w := t.Welcome(); w.Resumed != 0 {
			s.fail("S4", "session %d was resumed with an invalid secret", w.Session)
		}
		peer.Left()
	}
	s.must(t.Send(hello))
	s.coverage.thefts++
}

// step runs one tick of the client.
func (c *simClient) step() {
	s := c.sim
	if c.backAt != 0 && s.tick >= c.backAt {
		c.reconnect()
	}
	n := c.conn
	if n.cut {
		return
	}
	if p := n.Down.Receive(s.now()); len(p) > 0 {
		if !c.takeStream(p) {
			return
		}
	}
	got := false
	for _, d := range n.DownData.Receive(s.now()) {
		c.datagram(d)
		got = true
	}
	if got {
		at := time.Duration(s.now()) * time.Millisecond
		c.push(at)
		if d := c.session.Input(at); d != nil {
			c.judgeAck(d)
			n.UpData.Send(s.now(), d)
		}
	}
	c.judgeBodies()
	if p := c.session.TakeStream(); p != nil {
		n.Up.Send(s.now(), p)
	}
}

// takeStream delivers stream bytes to the client. It returns false if they ended the
// connection.
func (c *simClient) takeStream(p []byte) bool {
	c.sim.recording.keep(c.conn, vectors.Step{Stream: p})
	c.noteArrived(p)
	err := c.session.ReceiveStream(p)
	if err != nil {
		c.ended(err)
	}
	return err == nil
}

// unanswered handles the result of a command whose connection broke.
func (c *simClient) unanswered(r client.Result) {
	if asked, ok := c.intents[r.ID]; !ok || asked.target != r.Target {
		c.sim.fail("H2", "unanswered command %d on %v was never sent", r.ID, r.Target)
	}
	delete(c.intents, r.ID)
	c.sim.coverage.unanswered++
}
