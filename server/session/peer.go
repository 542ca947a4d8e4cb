package session

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// Conn is the transport of a connection: QUIC in a server, a seeded link in a simulation.
// No method may block: the goroutine that owns the world calls them.
type Conn interface {
	// SendStream queues bytes for the reliable stream. It returns false if the unread bytes
	// exceed the connection's queue limit.
	SendStream(p []byte) bool
	// HasUnsent reports whether datagrams of a snapshot wait to be sent. The next snapshot
	// waits for these datagrams: the viewer assumes that they leave, and no other snapshot
	// contains their events.
	HasUnsent() bool
	// SendSnapshot copies and queues the datagrams of one snapshot. It is called only if
	// HasUnsent is false.
	SendSnapshot(datagrams [][]byte)
	// Close closes the connection after the queued stream bytes are sent.
	Close(code wire.Code, text string)
}

// Peer is the client at the other end of one connection. It has no session until its Hello
// is answered. The session then uses this connection until it ends or resumes over another
// one. Any goroutine may call the exported methods that receive; all other methods belong
// to the goroutine that calls Tick.
type Peer struct {
	core    *Core   // nil until the Router has found a room
	router  *Router // nil: opened by Core.Open
	gate    gate
	id      uint64
	ctx     context.Context // ends with the connection
	address string          // client's network: groups connections when the server is full
	conn    Conn
	link    Conn  // the connection that Open was given; never changes
	inbox   inbox // shared with the connection's goroutines
	session *Session
	path    atomic.Int32 // size limit of a datagram on the path; 0: wire.MaxDatagram
	age     int          // ticks without a session
	closed  bool
	place   *Place // held for it; nil: none
	resumes bool   // the Router has found the session that the Hello names
	// Guarded by router.mu.
	claimed  bool      // placed or refused: it no longer waits for a Hello
	openedAt time.Time // time of the first Expire that saw it

	out   []byte       // scratch
	spare []wire.Input // the inbox's other input buffer
}

func newPeer(ctx context.Context, id uint64, address string, conn Conn, g gate) *Peer {
	return &Peer{gate: g, id: id, ctx: ctx, address: address, conn: conn, link: conn, inbox: inbox{frames: wire.FrameReader{Max: wire.MaxClientMessage}}}
}

// ID returns the connection's id, unique within a run. A session that begins over this
// connection has the same id.
func (p *Peer) ID() uint64 { return p.id }

// Session returns the session reached over this connection, or nil. Only the goroutine that
// calls Tick may call it.
func (p *Peer) Session() *Session { return p.session }

// ReceiveStream accepts bytes of the reliable stream. An error is the client's fault: later
// bytes are ignored, and the next tick ends the session.
func (p *Peer) ReceiveStream(b []byte) error {
	in := &p.inbox
	in.readMu.Lock()
	defer in.readMu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.fault != nil:
		return in.fault
	case in.closed:
		return nil
	}
	in.frames.Feed(b)
	for {
		kind, body, ok, err := in.frames.Next()
		if err == nil && ok {
			err = p.queueMessage(kind, body)
		}
		if err != nil {
			return in.setFault(err)
		}
		if !ok {
			return nil
		}
	}
}

// queueMessage queues a message for the tick. It passes a Hello to the Router, if there is
// one.
func (p *Peer) queueMessage(kind byte, body []byte) error {
	if kind == wire.TypeListRooms {
		return p.answerList(body)
	}
	in := &p.inbox
	hello := !in.greeted
	if err := in.queueMessage(p.ctx, kind, body, &p.gate); err != nil || !hello || p.router == nil {
		return err
	}
	h := in.hello
	in.mu.Unlock()
	defer in.mu.Lock()
	p.router.placePeer(p, h)
	return nil
}

// ReceiveDatagram accepts a datagram and returns the client's stamp, which the caller
// echoes. d must stay unchanged until the tick after the next.
func (p *Peer) ReceiveDatagram(d []byte) (stamp uint32, err error) {
	return p.inbox.receiveDatagram(d)
}

// SetMaxDatagram sets the maximum size of datagrams on the path, for the next snapshots.
// The default is wire.MaxDatagram, the minimum wire.MinDatagram.
func (p *Peer) SetMaxDatagram(bytes int) { p.path.Store(int32(bytes)) }

// maxDatagram returns the newest limit.
func (p *Peer) maxDatagram() int { return int(cmp.Or(p.path.Load(), wire.MaxDatagram)) }

// Gone reports that the connection has ended. Unless the client ended it, the session waits
// for the client to reconnect.
func (p *Peer) Gone() { p.inbox.end(false) }

// Left reports that the client closed the connection on purpose.
func (p *Peer) Left() { p.inbox.end(true) }

// Fail ends the session at the next tick, for a fault of the client that is not in a
// message. If several faults are reported, the first counts.
func (p *Peer) Fail(fault *wire.Error) { p.inbox.fail(fault) }

// Bye returns the Bye message of the client, with its reason for leaving, or zero.
func (p *Peer) Bye() wire.Bye {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.bye
}

// setPlace sets the place that is held for the client.
func (p *Peer) setPlace(held *Place) { p.place = held }

// releasePass gives up the place of a client with a pass that does not enter.
func (p *Peer) releasePass() { p.inbox.releasePass() }

// enterRoom makes c the room of the connection.
func (p *Peer) enterRoom(c *Core) {
	p.core = c
	held, ok := p.conn.(*heldConn)
	switch {
	case ok:
		held.enterGate(c.outputGate)
	case c.outputGate != nil:
		p.conn = &heldConn{conn: p.conn, gate: c.outputGate}
	}
}

// transport returns the connection that Open was given.
func (p *Peer) transport() Conn { return p.link }

// receiveHello processes one tick of a connection without a session.
func (p *Peer) receiveHello() {
	if p.closed {
		return
	}
	c := p.core
	hello, fault, held := p.inbox.takeHello(p.ctx.Err() != nil, c.hellosLeft == 0)
	if held {
		c.stats.HellosHeld++
		return
	}
	p.age++
	if hello != nil {
		switch {
		case c.forwardPeer(p, hello):
			return
		case c.awaitsSession(hello):
			p.inbox.setHello(hello) // costs no join: the tick has as many for others
		default:
			c.hellosLeft--
			p.handleHello(*hello)
		}
	}
	switch {
	case p.session != nil:
		p.session.receiveMessages()
	case p.closed:
	case fault != nil:
		p.refuseHello(fault, "")
	case p.age <= ticksOf(HelloTimeout, p.core.world.TickHz()):
	case hello != nil:
		p.refuseHello(&wire.Error{Code: wire.Timeout, Detail: "another session of the user has not ended in time, or is between two rooms: connect again"}, "")
	default:
		p.refuseHello(&wire.Error{Code: wire.Timeout, Detail: "no Hello"}, "")
	}
}

// failureReason returns the reason why the connection can no longer begin a session, or
// nil. ctx ends before Gone is called: the goroutine that calls Gone may still run Admit.
func (p *Peer) failureReason() *wire.Error {
	if ended, _ := p.inbox.hasEnded(); ended || p.ctx.Err() != nil {
		return &wire.Error{Code: wire.OK}
	}
	return p.inbox.readFault()
}

// refuseHello sends Refused and closes a connection without a session. want is the value that
// the server would accept.
func (p *Peer) refuseHello(why *wire.Error, want string) {
	if p.closed {
		return
	}
	p.core.stats.Refused++
	p.core.stats.countClosed(why.Code)
	p.sendRefused(why, want)
}

func (p *Peer) sendRefused(why *wire.Error, want string) {
	p.sendMessage(wire.Refused{Code: why.Code, Text: why.Detail, Want: want, Address: why.Address, Token: why.Token})
	p.closeConn(why)
}

// closeReplaced closes a connection whose session resumed over another connection.
func (p *Peer) closeReplaced() {
	why := &wire.Error{Code: wire.Replaced}
	p.sendMessage(wire.Goodbye{Code: why.Code})
	p.closeConn(why)
}

// closeConn closes the connection. Later messages from it are ignored.
func (p *Peer) closeConn(why *wire.Error) {
	if p.closed {
		return
	}
	p.closed = true
	p.inbox.close()
	p.conn.Close(why.Code, why.Detail)
}

// sendMessage queues a message on the stream. It returns false if the client does not read.
func (p *Peer) sendMessage(m wire.Message) bool {
	p.out = wire.AppendMessage(p.out[:0], m)
	return p.conn.SendStream(p.out)
}

// closeIfEnded reports whether a connection without a session is closed, and closes it if it has
// ended.
func (p *Peer) closeIfEnded() bool {
	if ended, _ := p.inbox.hasEnded(); ended && !p.closed {
		p.core.stats.countClosed(wire.OK)
		p.closeConn(&wire.Error{Code: wire.OK})
	}
	if p.closed {
		p.place.Release()
		p.place = nil
	}
	return p.closed
}
