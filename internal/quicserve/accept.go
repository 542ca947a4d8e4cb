package quicserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// accept takes connections until ctx is done. Several goroutines do.
func (l *Listener) accept(ctx context.Context) {
	for {
		conn, err := l.listener.Accept(ctx)
		if err != nil {
			return
		}
		if !l.door.enter(conn.Context(), time.Now()) {
			_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.ServerFull), "")
			continue
		}
		l.connections.Go(func() { l.serve(ctx, conn) })
	}
}

// turnAway tells whoever comes while the server ends that it does, until the
// listener is closed. Clients that were told goodbye come again at once; without an
// answer they would wait for one for seconds, and not for the next server.
func (l *Listener) turnAway() {
	for {
		conn, err := l.listener.Accept(context.Background())
		if err != nil {
			return
		}
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Draining), "")
	}
}

// serve carries one connection from its stream to its end. From the end of
// accepting on nobody is waited for who has not said anything yet.
func (l *Listener) serve(accepting context.Context, conn *quic.Conn) {
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
		l.traffic.handshakesFailed.Add(1)
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.Timeout), "no stream")
		return
	}
	l.traffic.handshakes.Add(1)
	var once sync.Once
	c := &Conn{conn: conn, stream: stream, wake: make(chan struct{}, 1), intake: newIntake(), counters: &l.traffic, observe: &l.config.Observers}
	peer := l.config.Core.Open(conn.Context(), neighbourhood(conn.RemoteAddr()).String(), c)
	if l.config.Core.Draining() { // there may be no tick any more that would say so
		c.Close(wire.Draining, "")
	}
	l.began(c)
	defer l.over(c)
	log := l.config.Log.With(zap.Uint64("connection", peer.ID()), zap.Stringer("from", conn.RemoteAddr()))
	log.Info("connected")
	l.connections.Go(c.send)
	blame := func(fault error) {
		once.Do(func() { log.Warn("client broke the protocol", zap.Error(fault)) })
	}
	l.connections.Go(func() { l.readDatagrams(c, peer, blame) })
	l.readStream(c, peer, blame)
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
func endOf(c *Conn, bye wire.Bye) []zap.Field {
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
func (l *Listener) readStream(c *Conn, peer *session.Peer, blame func(error)) {
	buf := make([]byte, 4<<10)
	for {
		n, err := c.stream.Read(buf)
		l.traffic.receivedBytes.Add(uint64(n))
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
			l.traffic.streamsHeld.Add(1)
			select {
			case <-time.After(wait):
			case <-c.conn.Context().Done():
			}
		}
	}
}

func (l *Listener) readDatagrams(c *Conn, peer *session.Peer, blame func(error)) {
	for {
		d, err := c.conn.ReceiveDatagram(c.conn.Context())
		if err != nil {
			return
		}
		l.traffic.receivedDatagrams.Add(1)
		l.traffic.receivedBytes.Add(uint64(len(d)))
		now := time.Now()
		take, excess := c.intake.datagram(now)
		if excess != nil {
			peer.Fail(excess)
			blame(excess)
			return
		}
		if !take {
			l.traffic.datagramsFast.Add(1)
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

// intake bounds what one connection may send. Its two readers share it.
type intake struct {
	stream    *rate.Limiter // bytes
	datagrams *rate.Limiter
	excess    *rate.Limiter // datagrams that are dropped
}

func newIntake() intake {
	return intake{
		stream:    rate.NewLimiter(streamBytesPerSecond, streamBurst),
		datagrams: rate.NewLimiter(datagramsPerSecond, datagramBurst),
		excess:    rate.NewLimiter(excessPerSecond, excessBurst),
	}
}

// wait is how long to read nothing more of the stream, now that n bytes came.
func (i *intake) wait(n int, now time.Time) time.Duration {
	return i.stream.ReserveN(now, n).DelayFrom(now)
}

// datagram says whether to look at one, or else whether its sender may stay.
func (i *intake) datagram(now time.Time) (take bool, fault *wire.Error) {
	if i.datagrams.AllowN(now, 1) {
		return true, nil
	}
	if i.excess.AllowN(now, 1) {
		return false, nil
	}
	return false, &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d datagrams a second", datagramsPerSecond)}
}
