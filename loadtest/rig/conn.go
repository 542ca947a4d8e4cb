package rig

import (
	"context"
	"slices"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// Link describes what happens to data between a client and the server, in each direction. The
// zero value is a perfect link.
type Link struct {
	// Delay is the least time that a packet takes. Jitter is the most by which it may take
	// longer.
	Delay, Jitter time.Duration
	// Loss, Duplicate and Reorder are the shares of packets, 0 to 1, that are lost, that arrive
	// twice, and that arrive 50 ms late, after later packets. The stream sends lost data again;
	// only datagrams arrive twice or in another order.
	Loss, Duplicate, Reorder float64
}

// reorderDelay is how late reordered datagrams are.
const reorderDelay = 50 * time.Millisecond

// conditions returns l with times in microseconds.
func (l Link) conditions() simtest.Conditions {
	return simtest.Conditions{
		Loss: l.Loss, Duplicate: l.Duplicate, Reorder: l.Reorder, ReorderExtra: reorderDelay.Microseconds(),
		DelayMin: l.Delay.Microseconds(), DelayMax: (l.Delay + l.Jitter).Microseconds(),
	}
}

const (
	// maxUnread bounds the bytes that the server queues for a client that does not read.
	maxUnread = 4 << 20
	// idleTimeout is how long the server keeps a connection on which nothing passes.
	idleTimeout = 10 * time.Second
)

// conn is a connection: both directions, and what each end knows of its state.
type conn struct {
	simtest.Connection
	rig    *Rig
	client *Client
	peer   *session.Peer

	in      client.Arrivals // arrivals that the client has not read yet
	traffic client.Traffic
	left    bool          // the client has closed it, or never existed
	closing *wire.Error   // the server has closed it
	gone    bool          // the server knows that the connection ended
	passed  time.Duration // when something last passed over the link

	stamp   uint32 // of the newest Input, and its arrival
	stampAt time.Duration
}

// connect opens a connection of c.
func (r *Rig) connect(c *Client) *conn {
	n := &conn{Connection: simtest.NewConnection(r.random.Uint64(), c.link.conditions()), rig: r, client: c, passed: r.now}
	if r.router != nil {
		n.peer = r.router.Open(context.Background(), "", (*serverEnd)(n))
	} else {
		n.peer = r.core.Open(context.Background(), "", (*serverEnd)(n))
	}
	r.conns = append(r.conns, n)
	return n
}

func (n *conn) time() int64 { return n.rig.now.Microseconds() }

// deliver passes what has arrived to both ends.
func (n *conn) deliver() {
	if !n.gone {
		n.deliverUp()
	}
	if p := n.Down.Receive(n.time()); len(p) > 0 && n.arrives(p) {
		n.in.Stream = append(n.in.Stream, p...)
	}
	for _, d := range n.DownData.Receive(n.time()) {
		if n.arrives(d) {
			n.in.Datagrams = append(n.in.Datagrams, client.Datagram{Bytes: d, At: n.rig.now})
			n.traffic.Datagrams++
		}
	}
	if n.closing != nil && n.Down.Quiet() && n.in.Err == nil {
		n.in.Err = n.closing
	}
}

// deliverUp passes what has arrived to the server. A fault of the client ends its session at
// the next tick, so errors are ignored here.
func (n *conn) deliverUp() {
	if p := n.Up.Receive(n.time()); len(p) > 0 {
		n.rig.note(p)
		_ = n.peer.ReceiveStream(p)
	}
	for _, d := range n.UpData.Receive(n.time()) {
		n.rig.note(d)
		if stamp, err := n.peer.ReceiveDatagram(d); err == nil {
			n.stamp, n.stampAt = stamp, n.rig.now
		}
	}
	closed := false
	if n.client.link.Loss < 1 {
		n.passed, closed = n.rig.now, n.left && n.Up.Quiet()
	}
	if closed || n.rig.now-n.passed > idleTimeout {
		n.gone = true
		n.peer.Gone()
	}
}

// arrives counts bytes that arrive at the client, and reports whether it still reads.
func (n *conn) arrives(p []byte) bool {
	if n.left || n.in.Err != nil {
		return false
	}
	n.rig.note(p)
	n.client.heard = n.rig.now
	n.traffic.BytesReceived += uint64(len(p))
	return true
}

// clientEnd is the client.Conn of a connection.
type clientEnd conn

func (n *clientEnd) Receive(client.Arrivals) client.Arrivals {
	in := n.in
	n.in = client.Arrivals{Err: in.Err}
	return in
}

func (n *clientEnd) SendStream(b []byte) error {
	n.Up.Send((*conn)(n).time(), b)
	return nil
}

func (n *clientEnd) SendDatagram(d []byte) { n.UpData.Send((*conn)(n).time(), d) }

func (n *clientEnd) Traffic() client.Traffic { return n.traffic }

func (n *clientEnd) Close(_ wire.Code, last []byte) error {
	if !n.left {
		n.Up.Send((*conn)(n).time(), last)
		n.left = true
	}
	return nil
}

// serverEnd is the session.Conn of a connection.
type serverEnd conn

func (n *serverEnd) SendStream(p []byte) bool {
	n.Down.Send((*conn)(n).time(), p)
	return n.Down.Stats().Pending <= maxUnread
}

func (*serverEnd) HasUnsent() bool { return false }

func (n *serverEnd) SendSnapshot(datagrams [][]byte) {
	hold := (n.rig.now - n.stampAt) / (100 * time.Microsecond)
	for _, d := range datagrams {
		d = slices.Clone(d) // the server may send it to others
		wire.StampState(d, n.stamp, uint16(min(hold, 1<<16-1)))
		n.DownData.Send((*conn)(n).time(), d)
	}
}

func (n *serverEnd) Close(code wire.Code, text string) {
	if n.closing == nil {
		n.closing = &wire.Error{Code: code, Detail: text}
		n.gone = true
	}
}
