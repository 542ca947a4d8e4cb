package quicserve

import (
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/internal/wslink"
	"github.com/worldd/worldd/replication/wire"
)

// pingInterval is how often the server pings a client over WebSocket. One that does not answer within idleTimeout is gone.
const pingInterval = idleTimeout / 2

// probesAfterLoss is how long probes follow snapshots after TCP has sent a segment again.
const probesAfterLoss = 10 * time.Second

// webSocketLink is a WebSocket, and the stream over it.
type webSocketLink struct {
	*wslink.Link
	tcp      *tcpConn
	received *rate.Limiter // bytes
	seen     uint64        // bytes that were charged to received

	retransmitted uint32      // segments, at the last look
	lossy         time.Time   // until then
	probing       atomic.Bool // while lossy
}

func newWebSocketLink(conn *websocket.Conn, tcp *tcpConn) *webSocketLink {
	return &webSocketLink{Link: wslink.New(conn, func() { _ = tcp.Close() }), tcp: tcp, received: rate.NewLimiter(webBytesPerSecond, webBurst)}
}

// flush sends what is held back. Over a lossy network a probe follows it.
func (l *webSocketLink) flush() error {
	if err := l.Flush(); err != nil || !l.probing.Load() {
		return err
	}
	return l.SendProbe()
}

// ConnectionStats counts messages as packets.
func (l *webSocketLink) ConnectionStats() quic.ConnectionStats {
	s := quic.ConnectionStats{SmoothedRTT: l.RoundTrip(), BytesSent: l.tcp.written.Load(), BytesReceived: l.tcp.read.Load()}
	s.PacketsSent, s.PacketsReceived = l.Messages()
	return s
}

func (l *webSocketLink) RemoteAddr() net.Addr { return l.tcp.RemoteAddr() }

// violation is called by watch only. It bounds the bytes of the connection, since pings and TLS records are read at any rate.
func (l *webSocketLink) violation(now time.Time) *wire.Error {
	l.watchLoss(now, retransmissions(l.tcp.TCPConn))
	before := l.seen
	l.seen = l.tcp.read.Load()
	if !l.received.AllowN(now, int(min(l.seen-before, math.MaxInt32))) {
		return &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d KiB a second", webBytesPerSecond>>10)}
	}
	return nil
}

// watchLoss decides whether probes follow snapshots. retransmitted is the count since the connection began.
func (l *webSocketLink) watchLoss(now time.Time, retransmitted uint32) {
	if retransmitted != l.retransmitted {
		l.retransmitted, l.lossy = retransmitted, now.Add(probesAfterLoss)
	}
	l.probing.Store(now.Before(l.lossy))
}
