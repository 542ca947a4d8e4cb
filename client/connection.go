package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/replication/wire"
)

// connection is one connection with its socket and the goroutines that move its
// bytes.
type connection struct {
	socket  *socket // its own; nil if it uses a Port, or TCP
	overTCP bool
	*pump
}

// openConnection opens a connection. Arrival times are of clock. With Fallback it tries TCP after wait.
func openConnection(ctx context.Context, c Config, t *tls.Config, clock func() time.Duration, wait time.Duration) (*connection, error) {
	if c.Fallback {
		return raceFallback(ctx, c, t, clock, wait)
	}
	return openQUIC(ctx, c, t, clock)
}

func openQUIC(ctx context.Context, c Config, t *tls.Config, clock func() time.Duration) (*connection, error) {
	d, err := dialServer(ctx, c, t)
	if err != nil {
		return nil, fmt.Errorf("client: can't connect to %s: %w", c.Addr, explainDial(err))
	}
	stream, err := d.conn.OpenStreamSync(ctx)
	if err != nil {
		_ = d.conn.CloseWithError(quic.ApplicationErrorCode(wire.OK), "")
		return nil, errors.Join(fmt.Errorf("client: can't open the stream to %s: %w", c.Addr, explainClose(err)), d.own.closeSocket())
	}
	return &connection{socket: d.own, pump: newPump(&quicTransport{Conn: d.conn, stream: stream}, clock)}, nil
}

// Close implements Conn.
func (c *connection) Close(why wire.Code, last []byte) error {
	var err error
	c.pump.closeWith(why, func() {
		if len(last) == 0 {
			return
		}
		_ = c.SendStream(last)
		select {
		case <-c.conn.Context().Done():
		case <-time.After(closeWait):
		}
	}, func() { err = c.socket.closeSocket() })
	return err
}

// errNoAnswer is the error of a dial that nothing answered.
var errNoAnswer = errors.New("no answer: is the server running there, and its UDP port open?")

// errClosedPort says what a refused TCP connection means.
var errClosedPort = errors.New("the port is closed")

// explainDial adds advice to the dial errors that users meet first.
func explainDial(err error) error {
	var idle *quic.IdleTimeoutError
	var silent *quic.HandshakeTimeoutError
	var transport *quic.TransportError
	switch {
	case errors.Is(err, errCertificate):
		return errCertificate
	case errors.As(err, &transport) && transport.ErrorCode == quic.ConnectionRefused:
		return &wire.Error{Code: wire.ServerFull, Detail: "the server refused the connection: too many connections, or too many from this address"}
	case errors.As(err, &transport) && transport.ErrorCode.IsCryptoError():
		return fmt.Errorf("%w (pin the fingerprint that the server prints; for development on one machine, InsecureDev, --insecure-dev, accepts any certificate)", remoteError{err})
	case errors.Is(err, context.DeadlineExceeded): // callers test for it
		return fmt.Errorf("%w (%w)", errNoAnswer, remoteError{err})
	case errors.As(err, &idle), errors.As(err, &silent):
		return errNoAnswer
	case errors.Is(err, syscall.ECONNREFUSED):
		return errClosedPort
	}
	return explainClose(err)
}

// explainClose returns the *wire.Error that the close code of err stands for, or err.
func explainClose(err error) error {
	var app *quic.ApplicationError
	var idle *quic.IdleTimeoutError
	var reset *quic.StatelessResetError
	switch {
	case errors.As(err, &reset):
		return &wire.Error{Code: wire.Timeout, Detail: "the server was restarted and does not know this connection"}
	case errors.As(err, &app):
		return &wire.Error{Code: wire.Code(min(app.ErrorCode, 1<<16-1)), Detail: app.ErrorMessage}
	case errors.As(err, &idle):
		return &wire.Error{Code: wire.Timeout, Detail: "nothing arrived from the server"}
	}
	return remoteError{err}
}

// remoteError makes the text of an error printable: it may quote the server.
type remoteError struct{ error }

func (e remoteError) Error() string { return printable.Text(e.error.Error()) }
func (e remoteError) Unwrap() error { return e.error }

const (
	// lostAfter is how long a server may be silent before the client counts the connection as
	// lost. By then many snapshots are missing. Waiting out a shorter stall is faster than
	// reconnecting, and stalls of three seconds are common on mobile links.
	lostAfter = 4 * time.Second
	// maxCheckGap bounds how much of the time between two checks counts as silence. A process
	// that was suspended for longer checks before its system delivers the datagrams that
	// arrived.
	maxCheckGap = time.Second
)

// silence measures how long nothing has arrived on a connection. Times are since the client's
// start.
type silence struct {
	heard   time.Duration // when something last arrived, plus the gaps that do not count as silence
	checked time.Duration
}

func (s *silence) restartAt(now time.Duration) { *s = silence{now, now} }

// noteArrivals notes whether anything arrived since the last check, and reports whether the
// server has been silent for too long.
func (s *silence) noteArrivals(now time.Duration, arrived bool) (lost bool) {
	if gap := now - s.checked; gap > maxCheckGap {
		s.heard += gap - maxCheckGap
	}
	s.checked = now
	if arrived {
		s.heard = now
	}
	return now-s.heard > lostAfter
}
