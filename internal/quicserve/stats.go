package quicserve

import (
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
)

// traffic holds the counters of all connections, shared by their goroutines.
type traffic struct {
	handshakes         atomic.Uint64 // sessions opened
	handshakesFailed   atomic.Uint64 // connections without a stream
	handshakesRefused  atomic.Uint64 // connections beyond MaxSessions and spareConnections
	handshakesCrowded  atomic.Uint64 // attempts refused with too many under way
	handshakesFast     atomic.Uint64 // attempts beyond the total rate or their address's
	handshakesAddress  atomic.Uint64 // attempts and connections beyond their address's limit
	handshakesPaced    atomic.Uint64 // handshakes delayed by paceHandshake
	addressesForgotten atomic.Uint64 // addresses dropped before their rates had recovered
	retries            atomic.Uint64 // attempts that had to prove their address
	streamBytes        atomic.Uint64 // sent
	datagrams          atomic.Uint64 // sent
	datagramBytes      atomic.Uint64 // sent
	refused            atomic.Uint64 // datagrams refused by the transport
	snapshots          atomic.Uint64 // sent
	unsent             atomic.Int64  // queued stream bytes, now
	receivedBytes      atomic.Uint64
	receivedDatagrams  atomic.Uint64
	datagramsFast      atomic.Uint64 // received beyond a session's rate and dropped
	streamsHeld        atomic.Uint64 // pauses of reading a stream beyond its rate
	webRequests        atomic.Uint64 // HTTP/3 requests refused: not for WebTransport on WebPath
	webOrigins         atomic.Uint64 // sessions refused to pages of other origins
	webSessions        atomic.Uint64 // second sessions of one connection refused
}

// Traffic counts the traffic of all connections since the start. It has the fields of server.Traffic,
// which documents them.
type Traffic struct {
	Handshakes, HandshakesFailed, HandshakesRefused                                uint64
	StreamBytes, DatagramBytes                                                     uint64
	Datagrams                                                                      uint64 // sent
	DatagramsRefused                                                               uint64 // by the transport
	Snapshots                                                                      uint64 // sent
	UnsentBytes                                                                    int64  // stream bytes queued now
	ReceivedBytes                                                                  uint64
	ReceivedDatagrams                                                              uint64
	HandshakesCrowded, HandshakesFast, HandshakesAddress, HandshakesPaced, Retries uint64
	AddressesForgotten, DatagramsFast, StreamsHeld                                 uint64
	WebRequests, WebOrigins, WebSessions                                           uint64
}

// Traffic returns a copy of the counters.
func (l *Listener) Traffic() Traffic { return l.traffic.copyCounters() }

func (t *traffic) copyCounters() Traffic {
	return Traffic{
		Handshakes: t.handshakes.Load(), HandshakesFailed: t.handshakesFailed.Load(), HandshakesRefused: t.handshakesRefused.Load(),
		StreamBytes: t.streamBytes.Load(), DatagramBytes: t.datagramBytes.Load(), Datagrams: t.datagrams.Load(),
		DatagramsRefused: t.refused.Load(), Snapshots: t.snapshots.Load(), UnsentBytes: t.unsent.Load(),
		ReceivedBytes: t.receivedBytes.Load(), ReceivedDatagrams: t.receivedDatagrams.Load(),
		HandshakesCrowded: t.handshakesCrowded.Load(), HandshakesFast: t.handshakesFast.Load(), HandshakesAddress: t.handshakesAddress.Load(),
		HandshakesPaced: t.handshakesPaced.Load(), Retries: t.retries.Load(), AddressesForgotten: t.addressesForgotten.Load(), DatagramsFast: t.datagramsFast.Load(), StreamsHeld: t.streamsHeld.Load(),
		WebRequests: t.webRequests.Load(), WebOrigins: t.webOrigins.Load(), WebSessions: t.webSessions.Load(),
	}
}

// connectionStats sums the packets of live and ended connections.
type connectionStats struct {
	mu    sync.Mutex
	live  map[*Conn]struct{}
	ended Packets
}

// Packets counts the UDP packets of all connections since the start, including acknowledgements
// and retransmissions.
type Packets struct {
	Sent, Received uint64
	// Lost counts sent packets declared lost. It may decrease, since some arrive late.
	Lost uint64
}

func (p *Packets) addConnection(s quic.ConnectionStats) {
	p.Sent += s.PacketsSent
	p.Received += s.PacketsReceived
	p.Lost += s.PacketsLost
}

func (s *connectionStats) addLive(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[c] = struct{}{}
}

func (s *connectionStats) removeLive(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, c)
	s.ended.addConnection(c.conn.ConnectionStats())
}

func (s *connectionStats) sumPackets() Packets {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.ended
	for c := range s.live {
		sum.addConnection(c.conn.ConnectionStats())
	}
	return sum
}

// countWeb returns the number of live connections over WebTransport and WebSocket that have joined.
func (s *connectionStats) countWeb() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.live {
		if c.transport() != rawTransport && c.hasJoined() {
			n++
		}
	}
	return n
}

// WebClients returns the number of clients over WebTransport and WebSocket that have joined.
func (l *Listener) WebClients() int { return l.connStats.countWeb() }

// Names of transports in logs, metrics and /sessions.
const (
	rawTransport = "quic"
	webTransport = "web"
	tcpTransport = "websocket"
)

// transport returns the name of c's transport.
func (c *Conn) transport() string {
	switch c.conn.(type) {
	case *webLink:
		return webTransport
	case *webSocketLink:
		return tcpTransport
	}
	return rawTransport
}

func (c *Conn) hasJoined() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined
}

// Packets returns the packets of all connections, including ended ones.
func (l *Listener) Packets() Packets { return l.connStats.sumPackets() }

// ConnStats describes a connection at one moment, with the names of its JSON in
// /sessions of the admin port.
type ConnStats struct {
	Address         string  `json:"address"`
	Transport       string  `json:"transport"` // "quic", "web" or "websocket"
	RTTMs           float64 `json:"rtt_ms"`
	QueuedBytes     int     `json:"queued_bytes"`     // of the stream
	QueuedDatagrams int     `json:"queued_datagrams"` // of the newest snapshot
	BytesSent       uint64  `json:"bytes_sent"`       // including packet headers
	BytesReceived   uint64  `json:"bytes_received"`
	PacketsSent     uint64  `json:"packets_sent"`
	PacketsLost     uint64  `json:"packets_lost"`
	PacketsReceived uint64  `json:"packets_received"`
}

// Stats returns the current state of c's transport and queues.
func (c *Conn) Stats() ConnStats {
	t := c.conn.ConnectionStats()
	c.mu.Lock()
	defer c.mu.Unlock()
	return ConnStats{
		Address: c.conn.RemoteAddr().String(), Transport: c.transport(), RTTMs: float64(t.SmoothedRTT.Microseconds()) / 1000, QueuedBytes: len(c.out), QueuedDatagrams: c.count,
		BytesSent: t.BytesSent, BytesReceived: t.BytesReceived,
		PacketsSent: t.PacketsSent, PacketsLost: t.PacketsLost, PacketsReceived: t.PacketsReceived,
	}
}
