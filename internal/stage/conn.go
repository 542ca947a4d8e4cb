package stage

import (
	"sync"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// Peer is the server's end of a connection: a *session.Peer.
type Peer interface {
	ReceiveStream(p []byte) error
	ReceiveDatagram(d []byte) (stamp uint32, err error)
}

// Conn is a session.Conn whose client a test plays. It keeps what it receives, and panics if a server
// sends what cannot be read. The zero value is ready for use. Give it to Core.Open or Router.Open, and
// set Peer to the result.
type Conn struct {
	Peer Peer
	// Received sums up what has arrived. Other goroutines than the server's read a Snapshot.
	Received

	// Full makes SendStream report that the client does not read.
	Full bool
	// Unsent makes HasUnsent report that the newest snapshot waits.
	Unsent bool
	// Forget is for runs that measure allocations: it keeps no message for Next, and SendInput allocates
	// nothing if it is called once a tick.
	Forget bool
	// OnMessage and OnSnapshot are called for each message of the stream and for each snapshot; may be nil.
	OnMessage  func(kind byte, body []byte)
	OnSnapshot func(datagrams [][]byte)

	mu     sync.Mutex
	frames wire.FrameReader
	unread wire.FrameReader // for Next
	inputs [3][]byte        // the newest datagrams of SendInput: the server keeps them for two ticks
	sent   int              // index of the newest
}

// Received sums up what a connection has received.
type Received struct {
	StreamBytes int
	Records     uint32         // number of the newest structure record
	Welcomes    []wire.Welcome // one for the session, and one for each room that it moved to
	Ended       wire.Error     // of Refused or Goodbye
	Closed      []wire.Code    // of each call of Close

	Datagrams int    // how many
	Longest   int    // bytes of the longest datagram
	Newest    uint32 // number of the newest snapshot, and its tick
	Tick      uint32
}

// SendStream implements session.Conn.
func (c *Conn) SendStream(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.StreamBytes += len(p)
	c.frames.Feed(p)
	if !c.Forget {
		c.unread.Feed(p)
	}
	for {
		kind, body, ok, err := c.frames.Next()
		mustRead(err)
		if !ok {
			return !c.Full
		}
		c.readMessage(kind, body)
	}
}

func (c *Conn) readMessage(kind byte, body []byte) {
	switch kind {
	case wire.TypeStructure:
		m := must.Get(wire.ParseStructure(body))
		c.Records = m.First + uint32(m.Count) - 1
	case wire.TypeWelcome:
		c.Welcomes = append(c.Welcomes, must.Get(wire.Parse[wire.Welcome](body)))
	case wire.TypeRefused:
		m := must.Get(wire.Parse[wire.Refused](body))
		c.Ended = wire.Error{Code: m.Code, Detail: m.Text, Address: m.Address, Token: m.Token}
	case wire.TypeGoodbye:
		m := must.Get(wire.Parse[wire.Goodbye](body))
		c.Ended = wire.Error{Code: m.Code, Detail: m.Text, Address: m.Address, Token: m.Token}
	}
	if c.OnMessage != nil {
		c.OnMessage(kind, body)
	}
}

// HasUnsent implements session.Conn.
func (c *Conn) HasUnsent() bool { return c.Unsent }

// SendSnapshot implements session.Conn.
func (c *Conn) SendSnapshot(datagrams [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Datagrams += len(datagrams)
	for _, d := range datagrams {
		c.Longest = max(c.Longest, len(d))
		var rows bitio.Reader
		h := must.Get(wire.ParseStateHeader(d, &rows))
		c.Newest, c.Tick = h.Seq, h.Tick
	}
	if c.OnSnapshot != nil {
		c.OnSnapshot(datagrams)
	}
}

// Close implements session.Conn.
func (c *Conn) Close(code wire.Code, _ string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Closed = append(c.Closed, code)
}

// Snapshot returns what has arrived. It may be called from any goroutine.
func (c *Conn) Snapshot() Received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Received
}

// Next returns the next message of the stream that it has not returned yet. ok is false if there is none.
func (c *Conn) Next() (kind byte, body []byte, ok bool) {
	kind, body, ok, err := c.unread.Next()
	mustRead(err)
	return kind, body, ok
}

// Skip makes Next return later messages only.
func (c *Conn) Skip() { c.unread = wire.FrameReader{} }

// Welcome returns the newest Welcome.
func (c *Conn) Welcome() wire.Welcome { return c.Welcomes[len(c.Welcomes)-1] }

// Send sends messages of the client to the server. The error is the server's verdict on them.
func (c *Conn) Send(messages ...wire.Message) error {
	var b []byte
	for _, m := range messages {
		b = wire.AppendMessage(b, m)
	}
	return c.Peer.ReceiveStream(b)
}

// SendInput sends a datagram with an acknowledgement and inputs. The error is the server's verdict on it.
func (c *Conn) SendInput(ack wire.Ack, inputs ...wire.TickInput) error {
	in := wire.Input{Stamp: 1, Ack: ack, Inputs: inputs}
	c.sent = (c.sent + 1) % len(c.inputs)
	if !c.Forget {
		c.inputs[c.sent] = nil
	}
	d := in.Append(c.inputs[c.sent][:0])
	c.inputs[c.sent] = d
	_, err := c.Peer.ReceiveDatagram(d)
	return err
}

// Ack returns the acknowledgement of everything that has arrived.
func (c *Conn) Ack() wire.Ack {
	return wire.Ack{Seen: c.Newest > 0, Newest: c.Newest, Structure: c.Records}
}

func mustRead(err error) {
	if err != nil {
		panic(err)
	}
}
