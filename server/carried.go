package server

import (
	"sync"

	"github.com/quic-go/quic-go"
)

// carried knows the connections that are there, and what those that have ended
// had carried.
type carried struct {
	mu    sync.Mutex
	live  map[*quicConn]*Peer
	ended Packets
}

// Packets counts UDP packets of all connections since the start, as the transport
// does: acknowledgements and what was sent again included.
type Packets struct {
	Sent, Received uint64
	// Lost were sent and taken for lost. It may fall: some arrive after all.
	Lost uint64
}

func (p *Packets) add(s quic.ConnectionStats) {
	p.Sent += s.PacketsSent
	p.Received += s.PacketsReceived
	p.Lost += s.PacketsLost
}

func (c *carried) began(conn *quicConn, p *Peer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		c.live = map[*quicConn]*Peer{}
	}
	c.live[conn] = p
}

func (c *carried) over(conn *quicConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, conn)
	c.ended.add(conn.conn.ConnectionStats())
}

// packets adds up those of the connections that are there and of those that were.
func (c *carried) packets() Packets {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.ended
	for conn := range c.live {
		sum.add(conn.conn.ConnectionStats())
	}
	return sum
}
