package rig

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// Client is a client of a rig. Its own methods change its frames and its link.
type Client struct {
	*client.Client

	rig      *Rig
	link     Link
	conn     *conn // the newest
	frame    func() error
	period   time.Duration // between two frames
	next     time.Duration // when the next frame is due
	heard    time.Duration // when something last arrived, or the connection began
	err      error
	reported bool
	closed   bool
}

// EachFrame calls f hz times a second as the client's frame. f calls Update, as a game does
// once per picture. The first frame comes at a random moment of the first period.
func (c *Client) EachFrame(hz int, f func() error) {
	c.frame, c.period = f, time.Second/time.Duration(hz)
	c.next = c.rig.now + time.Duration(c.rig.random.Int64N(int64(c.period)))
}

// runFrame runs the frame if it is due, unless an earlier frame of this moment closed c.
func (c *Client) runFrame() {
	if !c.closed && c.err == nil && c.rig.now >= c.next {
		c.next += c.period
		c.err = c.frame()
	}
}

// Err returns the error that ended the client's frames, or nil.
func (c *Client) Err() error { return c.err }

// SetLink changes the link for data sent from now on. With Loss 1 nothing passes, and after
// some seconds both ends notice.
func (c *Client) SetLink(l Link) {
	c.link = l
	c.conn.SetConditions(l.conditions())
}

// Break breaks the connection. Both ends notice at once, and the client makes a new one.
func (c *Client) Break() {
	c.conn.gone = true
	c.conn.peer.Gone()
	c.conn.in.Err = &wire.Error{Code: wire.Timeout, Detail: "the rig broke the connection"}
}

// Session returns the client's session on the server, nil while it has none.
func (c *Client) Session() *session.Session { return c.conn.peer.Session() }

// Close ends the client's frames and its session.
func (c *Client) Close() error {
	c.closed = true
	c.rig.clients = slices.DeleteFunc(c.rig.clients, func(other *Client) bool { return other == c })
	return c.Client.Close()
}

// maxSilence is how long a client waits for something to arrive.
const maxSilence = time.Minute

// network is the client.Simulation of a client.
type network Client

func (n *network) Now() time.Duration { return n.rig.now }

func (n *network) Wait() error {
	switch {
	case n.rig.passing:
		return errNested
	case n.rig.now-n.heard > maxSilence:
		return fmt.Errorf("rig: nothing arrived from the server for %v", maxSilence)
	}
	n.rig.pass()
	return nil
}

// errCut is the error of a dial over a link that loses everything. A real dial takes seconds to
// fail.
var errCut = errors.New("rig: no answer: the link loses everything")

func (n *network) Connect(string) (client.Conn, error) {
	n.heard = n.rig.now
	if n.link.Loss >= 1 {
		return nil, errCut
	}
	n.conn = n.rig.connect((*Client)(n))
	return (*clientEnd)(n.conn), nil
}
