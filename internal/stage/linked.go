package stage

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
)

// Linked is a session.Conn whose client is a client.Session, behind simulated links. A test calls Serve
// before a tick and Play after it.
type Linked struct {
	simtest.Connection
	Peer   Peer
	Client *client.Session
	// Now is the time in the links' unit, and Unit its length.
	Now  int64
	Unit time.Duration

	// OnClose is called when the server closes the connection. Without it that is a panic.
	OnClose func(code wire.Code, text string)
	// OnInput changes or drops the datagrams that the client sends; may be nil.
	OnInput func(d []byte) []byte

	stamp   uint32 // of the newest Input, and when it arrived
	stampAt int64
}

// SendStream implements session.Conn.
func (c *Linked) SendStream(p []byte) bool {
	c.Down.Send(c.Now, p)
	return true
}

// HasUnsent implements session.Conn.
func (*Linked) HasUnsent() bool { return false }

// SendSnapshot implements session.Conn.
func (c *Linked) SendSnapshot(datagrams [][]byte) {
	hold := (c.Now - c.stampAt) * int64(c.Unit) / int64(100*time.Microsecond)
	for _, d := range datagrams {
		d = slices.Clone(d)
		wire.StampState(d, c.stamp, uint16(min(hold, math.MaxUint16)))
		c.DownData.Send(c.Now, d)
	}
}

// Close implements session.Conn.
func (c *Linked) Close(code wire.Code, text string) {
	if c.OnClose == nil {
		panic(fmt.Sprintf("stage: the server closed the connection: %v %s", code, text))
	}
	c.OnClose(code, text)
}

// Time returns Now as a duration.
func (c *Linked) Time() time.Duration { return time.Duration(c.Now) * c.Unit }

// Serve hands the server what has arrived. The error is its verdict.
func (c *Linked) Serve() error {
	if p := c.Up.Receive(c.Now); len(p) > 0 {
		if err := c.Peer.ReceiveStream(p); err != nil {
			return err
		}
	}
	for _, d := range c.UpData.Receive(c.Now) {
		stamp, err := c.Peer.ReceiveDatagram(d)
		if err != nil {
			return err
		}
		c.stamp, c.stampAt = stamp, c.Now
	}
	return nil
}

// Receive hands the client what has arrived, and returns the number of datagrams. The error is the
// client's verdict.
func (c *Linked) Receive() (datagrams int, err error) {
	if p := c.Down.Receive(c.Now); len(p) > 0 {
		if err := c.Client.ReceiveStream(p); err != nil {
			return 0, err
		}
	}
	arrived := c.DownData.Receive(c.Now)
	for _, d := range arrived {
		if _, err := c.Client.ReceiveDatagram(d, c.Time()); err != nil {
			return 0, err
		}
	}
	return len(arrived), nil
}

// Answer sends an Input, if the client has one, and what its stream holds.
func (c *Linked) Answer() {
	if d := c.Client.Input(c.Time()); d != nil {
		if c.OnInput != nil {
			d = c.OnInput(d)
		}
		if d != nil {
			c.UpData.Send(c.Now, d)
		}
	}
	c.Flush()
}

// Flush sends what the client's stream holds.
func (c *Linked) Flush() {
	if p := c.Client.TakeStream(); len(p) > 0 {
		c.Up.Send(c.Now, p)
	}
}

// Play plays a tick of the client: Receive and Answer.
func (c *Linked) Play() error {
	_, err := c.Receive()
	c.Answer()
	return err
}
