package quicserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// acceptUntil accepts and serves connections until ctx is done. Several goroutines run it.
func (l *Listener) acceptUntil(ctx context.Context) {
	for {
		conn, err := l.listener.Accept(ctx)
		if err != nil {
			return
		}
		if !l.limits.allowConnection(conn.Context(), time.Now()) {
			_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.ServerFull), "")
			continue
		}
		l.connections.Go(func() { l.serveConnection(ctx, conn) })
	}
}

// refuseConnections closes new connections with Draining until the listener is closed.
// Clients of a draining server reconnect at once; without an answer they would time out
// instead of reaching the next server.
func (l *Listener) refuseConnections() {
	for {
		conn, err := l.listener.Accept(context.Background())
		if err != nil {
			return
		}
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Draining), "")
	}
}

// serveConnection serves one connection from its stream to its end. When accepting ends,
// connections that have not opened their stream are closed.
func (l *Listener) serveConnection(accepting context.Context, conn *quic.Conn) {
	if p := l.config.Peers; p != nil && conn.ConnectionState().TLS.NegotiatedProtocol == p.ALPN {
		l.traffic.handshakes.Add(1)
		p.Serve(accepting, conn)
		return
	}
	select {
	case <-l.serves:
	case <-conn.Context().Done():
		return
	}
	ctx, cancel := context.WithTimeout(conn.Context(), session.HelloTimeout)
	stop := context.AfterFunc(accepting, cancel)
	link, stream, err := l.awaitStream(ctx, conn)
	stop()
	cancel()
	if err != nil && accepting.Err() != nil {
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Draining), "")
		return
	}
	if err != nil {
		l.traffic.handshakesFailed.Add(1)
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Timeout), "no stream")
		return
	}
	l.serveLink(link, stream, attemptOf(conn.Context()).id)
}

// serveLink serves a link with a stream to its end.
func (l *Listener) serveLink(link link, stream stream, id uint64) {
	l.traffic.handshakes.Add(1)
	var once sync.Once
	c := &Conn{conn: link, stream: stream, wake: make(chan struct{}, 1), limits: newReceiveLimits(), counters: &l.traffic, observe: &l.config.Observers}
	peer := l.config.Opener.OpenReserved(link.Context(), id, AddressPrefix(link.RemoteAddr()).String(), c)
	if l.config.Draining() { // there may be no further tick to close it
		c.Close(wire.Draining, "")
	}
	l.connStats.addLive(c)
	defer l.connStats.removeLive(c)
	fields := []zap.Field{zap.Uint64("connection", peer.ID()), zap.String("transport", c.transport()), zap.Stringer("address", link.RemoteAddr())}
	log := l.config.Log.With(fields...)
	log.Info("connected")
	c.learnLimit(peer)
	l.connections.Go(func() { c.sendQueued(peer) })
	logFault := func(fault error) {
		once.Do(func() { log.Warn("client broke the protocol", zap.Error(fault)) })
	}
	l.connections.Go(func() { l.readDatagrams(c, peer, logFault) })
	if l.web != nil {
		l.connections.Go(func() { watch(c, peer, logFault) })
	}
	l.readStream(c, peer, logFault)
	<-link.Context().Done()
	ended := log
	if code, _, decided := c.closeReason(); decided && code == wire.Unauthorized {
		ended = l.config.Audit.With(fields...)
	}
	ended.Info("ended", endFields(c, peer.Bye())...) // before the tick closes the ended session
	if closedByClient(link) {
		peer.Left()
	}
	peer.Gone()
}

// awaitStream waits for the client's stream. Over WebTransport it first waits for the client's
// session. The ALPN decides.
func (l *Listener) awaitStream(ctx context.Context, conn *quic.Conn) (link, stream, error) {
	switch {
	case l.web == nil:
		s, err := conn.AcceptStream(ctx)
		return rawLink{Conn: conn}, s, err
	case conn.ConnectionState().TLS.NegotiatedProtocol == http3.NextProtoH3:
		return l.web.awaitStream(ctx, conn, &l.connections)
	default:
		s, err := conn.AcceptStream(ctx)
		return rawLink{Conn: conn, polled: l.web.polled}, s, err
	}
}

// closedByClient reports whether the client closed conn with OK: then the close frame arrived
// before the Bye message.
func closedByClient(l link) bool {
	app, ok := errors.AsType[*quic.ApplicationError](context.Cause(l.Context()))
	return ok && app.Remote && wire.Code(app.ErrorCode) == wire.OK
}

// endFields returns log fields for the end of a connection: the side that ended it, its code,
// the side at fault, and its text. The server's decision takes precedence, even if the client
// reads it on the stream and closes first. A client's Bye takes precedence over the close
// frame: the server answers with OK, and may close first.
func endFields(c *Conn, bye wire.Bye) []zap.Field {
	var app *quic.ApplicationError
	err := context.Cause(c.conn.Context())
	code, why, decided := c.closeReason()
	who, fault := "server", code.Info().Fault
	switch {
	case decided && code != wire.OK: // the server ends with OK only after a Bye
	case !errors.As(err, &app):
		return []zap.Field{zap.String("by", "transport"), zap.Error(err)}
	default:
		who, code, why = "client", bye.Code, bye.Text
		if app.Remote && code == wire.OK {
			code = wire.Code(min(app.ErrorCode, 1<<16-1))
		}
		fault = faultReportedByClient(code)
	}
	fields := []zap.Field{zap.String("by", who), zap.Stringer("code", code), zap.Stringer("fault", fault)}
	if why != "" {
		fields = append(fields, zap.String("why", why))
	}
	return fields
}

// faultReportedByClient returns the side at fault if a client ends a connection with code: as
// in the table of codes, with the sides exchanged.
func faultReportedByClient(code wire.Code) wire.Fault {
	switch fault := code.Info().Fault; fault {
	case wire.Client:
		return wire.Server
	case wire.Server:
		return wire.Client
	default:
		return fault
	}
}

// readStream passes the stream's bytes to peer until the stream ends or the client
// violates the protocol; the tick then ends the session.
func (l *Listener) readStream(c *Conn, peer *session.Peer, logFault func(error)) {
	buf := make([]byte, 4<<10)
	for {
		n, err := c.stream.Read(buf)
		l.traffic.receivedBytes.Add(uint64(n))
		if n > 0 {
			if fault := peer.ReceiveStream(buf[:n]); fault != nil {
				logFault(fault)
				return
			}
		}
		if err != nil {
			var reset *quic.StreamError
			var webReset *webtransport.StreamError
			var broken *wire.Error // of a WebSocket's messages
			switch {
			case err == io.EOF:
				peer.Left() // an orderly end
			case errors.As(err, &broken):
				peer.Fail(broken)
				logFault(broken)
			case errors.As(err, &reset):
				peer.Gone()
			case errors.As(err, &webReset) && !endsWithin(c.conn, resetGrace):
				peer.Gone()
			}
			return // serve logs how the connection ended
		}
		if wait := c.limits.streamDelay(n, time.Now()); wait > 0 {
			l.traffic.streamsHeld.Add(1)
			select {
			case <-time.After(wait):
			case <-c.conn.Context().Done():
			}
		}
	}
}

// endsWithin reports whether l ends within d.
func endsWithin(l link, d time.Duration) bool {
	select {
	case <-l.Context().Done():
		return true
	case <-time.After(d):
		return false
	}
}

// readDatagrams passes datagrams to peer until the connection ends or the client violates
// the protocol.
func (l *Listener) readDatagrams(c *Conn, peer *session.Peer, logFault func(error)) {
	for {
		d, err := c.conn.ReceiveDatagram(c.conn.Context())
		if err != nil {
			return
		}
		l.traffic.receivedDatagrams.Add(1)
		l.traffic.receivedBytes.Add(uint64(len(d)))
		now := time.Now()
		allowed, excess := c.limits.allowDatagram(now)
		if excess != nil {
			peer.Fail(excess)
			logFault(excess)
			return
		}
		if !allowed {
			l.traffic.datagramsFast.Add(1)
			continue
		}
		stamp, fault := peer.ReceiveDatagram(d)
		if fault != nil {
			logFault(fault)
			return
		}
		c.setInputStamp(stamp, now)
	}
}

// watch ends the session if the client violates the limits of the transport, with any kind of
// data, until the connection ends.
func watch(c *Conn, peer *session.Peer, logFault func(error)) {
	ticker := time.NewTicker(violationInterval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if fault := c.conn.violation(now); fault != nil {
				peer.Fail(fault)
				logFault(fault)
				return
			}
		case <-c.conn.Context().Done():
			return
		}
	}
}

// receiveLimits bounds the rates of one connection. Its two readers share it.
type receiveLimits struct {
	stream    *rate.Limiter // bytes
	datagrams *rate.Limiter
	excess    *rate.Limiter // dropped datagrams
}

func newReceiveLimits() receiveLimits {
	return receiveLimits{
		stream:    rate.NewLimiter(streamBytesPerSecond, streamBurst),
		datagrams: rate.NewLimiter(datagramsPerSecond, datagramBurst),
		excess:    rate.NewLimiter(excessPerSecond, excessBurst),
	}
}

// streamDelay charges n bytes of the stream, and returns how long to pause before the
// next read.
func (l *receiveLimits) streamDelay(n int, now time.Time) time.Duration {
	return l.stream.ReserveN(now, n).DelayFrom(now)
}

// allowDatagram reports whether to process a datagram. fault ends the session if too many
// have been dropped.
func (l *receiveLimits) allowDatagram(now time.Time) (allowed bool, fault *wire.Error) {
	if l.datagrams.AllowN(now, 1) {
		return true, nil
	}
	if l.excess.AllowN(now, 1) {
		return false, nil
	}
	return false, &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d datagrams a second", datagramsPerSecond)}
}
