package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// handshakeTimeout bounds what a half-open connection can hold: 95 KiB.
	handshakeTimeout = 3 * time.Second
	// idleTimeout ends a connection from which nothing comes.
	idleTimeout = 10 * time.Second
	// The receive windows bound what a client can make the server buffer; the
	// library's defaults let each claim 15 MB.
	streamWindow     = 64 << 10
	connectionWindow = 256 << 10
	// packetSize is the least size of our packets: a datagram of
	// wire.MaxDatagram fits at once. The library's own default falls back to
	// packets in which it does not.
	packetSize = 1280
	// acceptors are how many goroutines wait for connections whose handshake is done.
	// The library keeps 32 of them for who is late, and refuses the next: one goroutine
	// is late whenever the processor is taken from it in the middle of a storm of
	// joins. These take 1 MB.
	acceptors = 256
)

func (s *Server) quicConfig() *quic.Config {
	return &quic.Config{
		Tracer:               s.qlogs.tracer(),
		HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: idleTimeout,
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
		MaxIncomingStreams: 1, MaxIncomingUniStreams: -1, EnableDatagrams: true,
		InitialPacketSize: packetSize,
	}
}

// accept takes connections until ctx is done. Several goroutines do.
func (s *Server) accept(ctx context.Context) {
	for {
		conn, err := s.listener.Accept(ctx)
		if err != nil {
			return
		}
		if !s.door.enter(conn.Context(), time.Now()) {
			_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.ServerFull), "")
			continue
		}
		s.connections.Go(func() { s.serve(ctx, conn) })
	}
}

// turnAway tells whoever comes while the server ends that it does, until the
// listener is closed. Clients that were told goodbye come again at once; without an
// answer they would wait for one for seconds, and not for the next server.
func (s *Server) turnAway() {
	for {
		conn, err := s.listener.Accept(context.Background())
		if err != nil {
			return
		}
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Draining), "")
	}
}

// serve carries one connection from its stream to its end. From the end of
// accepting on nobody is waited for who has not said anything yet.
func (s *Server) serve(accepting context.Context, conn *quic.Conn) {
	ctx, cancel := context.WithTimeout(conn.Context(), session.HelloTimeout)
	stop := context.AfterFunc(accepting, cancel)
	stream, err := conn.AcceptStream(ctx)
	stop()
	cancel()
	if err != nil && accepting.Err() != nil {
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Draining), "")
		return
	}
	if err != nil {
		s.traffic.handshakesFailed.Add(1)
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Timeout), "no stream")
		return
	}
	s.traffic.handshakes.Add(1)
	var once sync.Once
	c := &quicConn{conn: conn, stream: stream, wake: make(chan struct{}, 1), intake: newIntake(), counters: &s.traffic, timings: s.timings}
	peer := s.core.Open(conn.Context(), neighbourhood(conn.RemoteAddr()).String(), c)
	if s.core.Draining() { // there may be no tick any more that would say so
		c.Close(wire.Draining, "")
	}
	s.carried.began(c, peer)
	defer s.carried.over(c)
	log := s.log.With(zap.Uint64("connection", peer.ID()), zap.Stringer("from", conn.RemoteAddr()))
	log.Info("connected")
	s.connections.Go(c.send)
	blame := func(fault error) {
		once.Do(func() { log.Warn("client broke the protocol", zap.Error(fault)) })
	}
	s.connections.Go(func() { s.readDatagrams(c, peer, blame) })
	s.readStream(c, peer, blame)
	<-conn.Context().Done()
	log.Info("ended", endOf(c, peer.Bye())...) // before the tick ends what is over by itself
	if closedByClient(conn) {
		peer.Left()
	}
	peer.Gone()
}

// closedByClient says whether the client ended a connection that it had no
// complaint about: a Bye whose message was overtaken.
func closedByClient(conn *quic.Conn) bool {
	var app *quic.ApplicationError
	return errors.As(context.Cause(conn.Context()), &app) && app.Remote && wire.Code(app.ErrorCode) == wire.OK
}

// endOf says for the log how a connection ended: who ended it, with which
// code, whose fault that is, and what the one told the other besides. What
// the server had decided counts, even if the client, which reads it on the
// stream, was the first to close. A client's Bye counts more than the close frame:
// the server answers it with OK, and may be the first to close.
func endOf(c *quicConn, bye wire.Bye) []zap.Field {
	var app *quic.ApplicationError
	err := context.Cause(c.conn.Context())
	code, why, decided := c.sentence()
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
		fault = accused(code)
	}
	fields := []zap.Field{zap.String("by", who), zap.Stringer("code", code), zap.Stringer("fault", fault)}
	if why != "" {
		fields = append(fields, zap.String("why", why))
	}
	return fields
}

// accused is whose fault a code is that a client ends a connection with: the table
// of codes the other way round.
func accused(code wire.Code) wire.Fault {
	switch fault := code.Info().Fault; fault {
	case wire.Client:
		return wire.Server
	case wire.Server:
		return wire.Client
	default:
		return fault
	}
}

// readStream hands over the stream's bytes until it ends, or the client has
// made a mistake; the tick then ends the session.
func (s *Server) readStream(c *quicConn, peer *Peer, blame func(error)) {
	buf := make([]byte, 4<<10)
	for {
		n, err := c.stream.Read(buf)
		s.traffic.receivedBytes.Add(uint64(n))
		if n > 0 {
			if fault := peer.ReceiveStream(buf[:n]); fault != nil {
				blame(fault)
				return
			}
		}
		if err != nil {
			var reset *quic.StreamError
			switch {
			case err == io.EOF:
				peer.Left() // it has said all that it had to say
			case errors.As(err, &reset):
				peer.Gone()
			}
			return // the end of the connection tells the rest
		}
		if wait := c.intake.wait(n, time.Now()); wait > 0 {
			s.traffic.streamsHeld.Add(1)
			select {
			case <-time.After(wait):
			case <-c.conn.Context().Done():
			}
		}
	}
}

func (s *Server) readDatagrams(c *quicConn, peer *Peer, blame func(error)) {
	for {
		d, err := c.conn.ReceiveDatagram(c.conn.Context())
		if err != nil {
			return
		}
		s.traffic.receivedDatagrams.Add(1)
		s.traffic.receivedBytes.Add(uint64(len(d)))
		now := time.Now()
		take, excess := c.intake.datagram(now)
		if excess != nil {
			peer.Fail(excess)
			blame(excess)
			return
		}
		if !take {
			s.traffic.datagramsFast.Add(1)
			continue
		}
		stamp, fault := peer.ReceiveDatagram(d)
		if fault != nil {
			blame(fault)
			return
		}
		c.heard(stamp, now)
	}
}
