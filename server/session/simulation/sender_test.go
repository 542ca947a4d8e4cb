package simulation

import (
	"math"

	"github.com/worldd/worldd/replication/wire"
)

// A server that is short of time encodes snapshots faster than its connections send them.
// The operation "starve" stops the sender of a connection. The oracle requires that every
// encoded snapshot still leaves, and that each answer follows the records or snapshots on
// which its verdict rests (R10, S8).

// sender holds the data that the server has given to a connection and that has not left
// yet.
type sender struct {
	until     int // tick from which on it sends again
	stream    []byte
	datagrams [][]byte
}

// starve stops the sender of the client's connection for some ticks.
func (c *simClient) starve(ticks int) { c.conn.sender.until = c.sim.tick + ticks }

// resend sends the waiting data if the sender runs again, the stream first.
func (n *conn) resend() {
	x := &n.sender
	if n.client.sim.tick < x.until {
		return
	}
	stream, datagrams := x.stream, x.datagrams
	x.stream, x.datagrams = nil, nil
	n.send(stream)
	n.sendDatagrams(datagrams)
}

func (n *conn) send(p []byte) {
	s := n.client.sim
	switch {
	case len(p) == 0 || n.cut:
	case s.tick < n.sender.until:
		n.sender.stream = append(n.sender.stream, p...)
	default:
		n.Down.Send(s.now(), p)
	}
}

func (n *conn) sendDatagrams(ds [][]byte) {
	s := n.client.sim
	for _, d := range ds {
		switch {
		case n.cut:
		case s.tick < n.sender.until:
			n.sender.datagrams = append(n.sender.datagrams, d)
		default:
			wire.StampState(d, n.stamp, uint16(min(10*(s.now()-n.heard), math.MaxUint16)))
			n.DownData.Send(s.now(), d)
		}
	}
}

// HasUnsent implements session.Conn.
func (n *conn) HasUnsent() bool {
	held := len(n.sender.datagrams) > 0
	if held {
		n.client.sim.coverage.held++
	}
	return held
}

// starved adds the operation starve to some seeds, for up to half a second.
func (g *generator) starved() {
	d := g.rng.IntN
	if d(3) > 0 {
		return
	}
	longest := []int{3, 12, 30}[d(3)]
	g.often([]int{3, 20}[d(2)], "starve", func() []int { return []int{g.any(), 1 + d(longest)} })
}

// judgeTold checks that a Result follows the data on which its verdict rests: the record
// that makes its target Stale, or a message or snapshot that names the target (R10). An
// answer follows the Destroys of entities that it names (H3). Both follow the records that
// were lost with an earlier connection (R8).
func (c *simClient) judgeTold(r wire.Result) {
	s := c.sim
	if int(c.sent.records) < len(c.written) {
		s.fail("R8", "client %d is sent a Result after record %d, and was sent %d before its connection broke", c.number, c.sent.records, len(c.written))
	}
	if asked, ok := c.intents[r.ID]; ok && r.Code == wire.OK && asked.token != 0 {
		if l := s.lives[s.typed.asks[asked.token].told.Who]; l != nil && l.died != 0 && l.run == s.run && !c.ofServer(l).killed {
			s.fail("H3", "client %d is sent an answer with the dead %v ahead of its Destroy", c.number, l.handle)
		}
	}
	l := s.lives[r.Target]
	if l == nil || l.run != s.run {
		return
	}
	switch k := c.ofServer(l); {
	case r.Verdict == wire.Stale && !k.killed:
		s.fail("R10", "client %d is sent the verdict stale on %v ahead of its Destroy", c.number, r.Target)
	case r.Verdict == wire.Hidden && !k.sent && !l.named:
		s.fail("R10", "client %d is sent the verdict hidden on %v ahead of what names it", c.number, r.Target)
	}
}
