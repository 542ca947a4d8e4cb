package quicserve

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// traffic counts what connections carry; their goroutines share it.
type traffic struct {
	handshakes         atomic.Uint64 // sessions opened
	handshakesFailed   atomic.Uint64 // connections without a stream
	handshakesRefused  atomic.Uint64 // connections beyond the places
	handshakesCrowded  atomic.Uint64 // attempts while too many were under way
	handshakesFast     atomic.Uint64 // attempts beyond the rate, of all or of one address
	handshakesAddress  atomic.Uint64 // attempts and connections beyond those of one address
	handshakesPaced    atomic.Uint64 // attempts that waited for their turn
	addressesForgotten atomic.Uint64 // before their rates had recovered
	retries            atomic.Uint64 // attempts that were told to prove their address
	streamBytes        atomic.Uint64 // sent
	datagrams          atomic.Uint64 // sent
	datagramBytes      atomic.Uint64 // sent
	replaced           atomic.Uint64 // datagrams replaced by newer ones before they were sent
	refused            atomic.Uint64 // datagrams that the transport did not take
	snapshots          atomic.Uint64 // sent
	unsent             atomic.Int64  // stream bytes in queues, now
	receivedBytes      atomic.Uint64
	receivedDatagrams  atomic.Uint64
	datagramsFast      atomic.Uint64 // received and dropped: beyond the rate of a session
	streamsHeld        atomic.Uint64 // times that a stream was not read for a while: beyond its rate
}

// Traffic is a copy of the counters of all connections since the start.
type Traffic struct {
	Handshakes, HandshakesFailed, HandshakesRefused uint64
	// StreamBytes and DatagramBytes are sent, without packet headers.
	StreamBytes, DatagramBytes uint64
	Datagrams                  uint64 // sent
	DatagramsReplaced          uint64 // a newer snapshot took their place before they were sent
	DatagramsRefused           uint64 // not taken by the transport
	Snapshots                  uint64 // sent
	UnsentBytes                int64  // of streams, in queues now
	ReceivedBytes              uint64
	ReceivedDatagrams          uint64
	// What limits.go keeps out: attempts at connections by their reason, and what
	// sessions sent beyond their rates.
	HandshakesCrowded, HandshakesFast, HandshakesAddress, HandshakesPaced, Retries uint64
	AddressesForgotten, DatagramsFast, StreamsHeld                                 uint64
}

// Traffic returns a copy of the counters.
func (l *Listener) Traffic() Traffic { return l.traffic.load() }

func (t *traffic) load() Traffic {
	return Traffic{
		Handshakes: t.handshakes.Load(), HandshakesFailed: t.handshakesFailed.Load(), HandshakesRefused: t.handshakesRefused.Load(),
		StreamBytes: t.streamBytes.Load(), DatagramBytes: t.datagramBytes.Load(), Datagrams: t.datagrams.Load(),
		DatagramsReplaced: t.replaced.Load(), DatagramsRefused: t.refused.Load(),
		Snapshots: t.snapshots.Load(), UnsentBytes: t.unsent.Load(),
		ReceivedBytes: t.receivedBytes.Load(), ReceivedDatagrams: t.receivedDatagrams.Load(),
		HandshakesCrowded: t.handshakesCrowded.Load(), HandshakesFast: t.handshakesFast.Load(), HandshakesAddress: t.handshakesAddress.Load(),
		HandshakesPaced: t.handshakesPaced.Load(), Retries: t.retries.Load(), AddressesForgotten: t.addressesForgotten.Load(), DatagramsFast: t.datagramsFast.Load(), StreamsHeld: t.streamsHeld.Load(),
	}
}

// carried knows the connections that are there, and what those that have ended
// had carried.
type carried struct {
	mu    sync.Mutex
	live  map[*Conn]struct{}
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

func (l *Listener) began(c *Conn) {
	l.carried.mu.Lock()
	defer l.carried.mu.Unlock()
	l.carried.live[c] = struct{}{}
}

func (l *Listener) over(c *Conn) {
	l.carried.mu.Lock()
	defer l.carried.mu.Unlock()
	delete(l.carried.live, c)
	l.carried.ended.add(c.conn.ConnectionStats())
}

// Packets adds up those of the connections that are there and of those that were.
func (l *Listener) Packets() Packets {
	l.carried.mu.Lock()
	defer l.carried.mu.Unlock()
	sum := l.carried.ended
	for c := range l.carried.live {
		sum.add(c.conn.ConnectionStats())
	}
	return sum
}

// ConnStats describes a connection at this moment.
type ConnStats struct {
	Address         string
	RTT             time.Duration
	QueuedBytes     int    // of the stream
	QueuedDatagrams int    // of the newest snapshot
	BytesSent       uint64 // by the transport, packet headers included
	BytesReceived   uint64
	PacketsSent     uint64
	PacketsLost     uint64
	PacketsReceived uint64
}

// Stats returns what the transport and the queues of c know.
func (c *Conn) Stats() ConnStats {
	t := c.conn.ConnectionStats()
	c.mu.Lock()
	defer c.mu.Unlock()
	return ConnStats{
		Address: c.conn.RemoteAddr().String(), RTT: t.SmoothedRTT, QueuedBytes: len(c.out), QueuedDatagrams: c.count,
		BytesSent: t.BytesSent, BytesReceived: t.BytesReceived,
		PacketsSent: t.PacketsSent, PacketsLost: t.PacketsLost, PacketsReceived: t.PacketsReceived,
	}
}
