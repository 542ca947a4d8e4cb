package quicserve

import (
	"fmt"
	"math"
	"net"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/internal/wslink"
	"github.com/worldd/worldd/replication/wire"
)

// pingInterval is how often the server pings a client over WebSocket. One that does not answer within idleTimeout is gone.
const pingInterval = idleTimeout / 2

// webSocketLink is a WebSocket, and the stream over it.
type webSocketLink struct {
	*wslink.Link
	tcp      *tcpConn
	received *rate.Limiter // bytes
	seen     uint64        // bytes that were charged to received
}

func newWebSocketLink(conn *websocket.Conn, tcp *tcpConn) *webSocketLink {
	return &webSocketLink{wslink.New(conn, func() { _ = tcp.Close() }), tcp, rate.NewLimiter(webBytesPerSecond, webBurst), 0}
}

func (l *webSocketLink) flush() error { return l.Flush() }

// ConnectionStats counts messages as packets.
func (l *webSocketLink) ConnectionStats() quic.ConnectionStats {
	s := quic.ConnectionStats{SmoothedRTT: l.RoundTrip(), BytesSent: l.tcp.written.Load(), BytesReceived: l.tcp.read.Load()}
	s.PacketsSent, s.PacketsReceived = l.Messages()
	return s
}

func (l *webSocketLink) RemoteAddr() net.Addr { return l.tcp.RemoteAddr() }

// violation is called by watch only. It bounds the bytes of the connection, since pings and TLS records are read at any rate.
func (l *webSocketLink) violation(now time.Time) *wire.Error {
	before := l.seen
	l.seen = l.tcp.read.Load()
	if !l.received.AllowN(now, int(min(l.seen-before, math.MaxInt32))) {
		return &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d KiB a second", webBytesPerSecond>>10)}
	}
	return nil
}
