package session

import (
	"context"

	"github.com/worldd/worldd/replication/wire"
)

// Conn is what a session needs of the transport below it: QUIC in a server, a
// seeded link in a simulation. No method may block, since the goroutine that
// owns the world calls them.
type Conn interface {
	// SendStream queues bytes for the reliable stream. It returns false when
	// the peer has left more unread than the connection is willing to queue.
	SendStream(p []byte) bool
	// SendSnapshot queues the datagrams of one snapshot in place of an older
	// one that is still unsent. It copies them.
	SendSnapshot(datagrams [][]byte)
	// Close ends the connection after what is queued on the stream was sent.
	Close(code wire.Code, text string)
}

// Peer is the client's end of one connection, from its first byte to its end.
// Until its Hello is answered it has no session; then it is how a session is
// reached, until it ends or another one takes its place. The exported methods
// that receive may be called from any goroutine; everything else belongs to the
// tick.
type Peer struct {
	core    *Core
	id      uint64
	ctx     context.Context // done when the connection has ended
	address string          // as the door counts addresses
	conn    Conn
	inbox   inbox // shared with the connection's goroutines
	session *Session
	age     int // ticks without a session
	closed  bool
	out     []byte       // scratch
	spare   []wire.Input // the inbox's other queue of inputs
}

// ID tells the connections of one run apart. It is also that of the session which
// begins over this connection.
func (p *Peer) ID() uint64 { return p.id }

// Session is the session that is reached over this connection; nil before it has
// one. It belongs to the goroutine that calls Tick.
func (p *Peer) Session() *Session { return p.session }

// ReceiveStream takes bytes of the reliable stream. After an error, which is
// the client's fault, nothing more is taken and the session ends with the next
// tick.
func (p *Peer) ReceiveStream(b []byte) error {
	in := &p.inbox
	in.reading.Lock()
	defer in.reading.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.fault != nil:
		return in.fault
	case in.closed:
		return nil
	}
	in.frames.Max = wire.MaxClientMessage
	in.frames.Feed(b)
	for {
		kind, body, ok, err := in.frames.Next()
		if err == nil && ok {
			err = in.take(p.ctx, kind, body, p.core.config.Admit)
		}
		if err != nil {
			return in.blame(err)
		}
		if !ok {
			return nil
		}
	}
}

// ReceiveDatagram takes a datagram and returns the client's stamp, to be
// echoed. It keeps d until the tick after the next.
func (p *Peer) ReceiveDatagram(d []byte) (stamp uint32, err error) {
	in := &p.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.fault != nil:
		return 0, in.fault
	case in.closed:
		return 0, nil
	}
	input := in.room()
	if err := input.Parse(d); err != nil {
		in.inputs = in.inputs[:len(in.inputs)-1]
		return 0, in.blame(err)
	}
	return input.Stamp, nil
}

// Gone tells that the connection has ended: broken, unless the client was heard
// to leave. The session waits for it to come again.
func (p *Peer) Gone() {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	p.inbox.broken = true
}

// Left tells that the client has closed the connection because it wanted to.
func (p *Peer) Left() {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	p.inbox.left = true
}

// Fail ends the session with the next tick, for a fault of the client's that was found
// outside of its messages. The first fault counts.
func (p *Peer) Fail(fault *wire.Error) {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	if p.inbox.fault == nil {
		p.inbox.fault = fault
	}
}

// Bye is why the client left, if it said so.
func (p *Peer) Bye() wire.Bye {
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	return p.inbox.bye
}

// receive is the part of a tick's first phase of a peer without a session.
func (p *Peer) receive() {
	if p.closed {
		return
	}
	in := &p.inbox
	in.mu.Lock()
	hello, fault := in.hello, in.fault
	if hello != nil && fault == nil && p.core.welcomes == 0 {
		in.mu.Unlock()
		p.core.stats.HellosHeld++
		return // its turn comes in one of the next ticks
	}
	in.hello = nil
	in.mu.Unlock()
	p.age++
	if hello != nil {
		p.core.welcomes = max(p.core.welcomes-1, 0)
		p.greet(*hello)
	}
	switch {
	case p.session != nil:
		p.session.receive()
	case p.closed:
	case fault != nil:
		p.refuse(fault, "")
	case p.age > ticksOf(HelloTimeout, p.core.world.TickHz()):
		p.refuse(&wire.Error{Code: wire.Timeout, Detail: "no Hello"}, "")
	}
}

// refuse ends a connection without a session, if it has not ended. want says what
// would be right.
func (p *Peer) refuse(why *wire.Error, want string) {
	if p.closed {
		return
	}
	p.core.stats.Refused++
	p.core.countClosed(why.Code)
	p.sendMessage(wire.TypeRefused, wire.Refused{Code: why.Code, Text: why.Detail, Want: want}.Append(nil))
	p.close(why)
}

// replaced ends a connection whose session goes on over another one.
func (p *Peer) replaced() {
	why := &wire.Error{Code: wire.Replaced}
	p.sendMessage(wire.TypeGoodbye, wire.Goodbye{Code: why.Code}.Append(nil))
	p.close(why)
}

// close ends the connection; nothing more of it is taken.
func (p *Peer) close(why *wire.Error) {
	if p.closed {
		return
	}
	p.closed = true
	p.inbox.mu.Lock()
	p.inbox.closed = true
	p.inbox.mu.Unlock()
	p.conn.Close(why.Code, why.Detail)
}

// sendMessage queues a message for the stream. It returns false if the stream is
// not read.
func (p *Peer) sendMessage(kind byte, body []byte) bool {
	p.out = wire.AppendFrame(p.out[:0], kind, body)
	return p.conn.SendStream(p.out)
}

// reap says whether a connection without a session is over, and ends it if it is
// gone.
func (p *Peer) reap() bool {
	if ended, _ := p.inbox.ended(); ended && !p.closed {
		p.core.countClosed(wire.OK)
		p.close(&wire.Error{Code: wire.OK})
	}
	return p.closed
}
