package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
)

// connection is one QUIC connection with its stream, its socket, and the
// goroutines that move its bytes.
type connection struct {
	conn   *quic.Conn
	socket *socket
	lanes  *lanes
}

// connect opens a connection. Times of arrival are counted from start.
func connect(ctx context.Context, c Config, t *tls.Config, start time.Time) (*connection, error) {
	socket, err := openSocket(c.Socket)
	if err != nil {
		return nil, err
	}
	conn, err := socket.dial(ctx, c.Addr, t.Clone())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("client: can't connect to %s: %w", c.Addr, explainDial(err)), socket.close())
	}
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.OK), "")
		return nil, errors.Join(fmt.Errorf("client: can't open the stream to %s: %w", c.Addr, explain(err)), socket.close())
	}
	return &connection{conn, socket, openLanes(conn, stream, start)}, nil
}

// close ends the connection with a code, after the given last bytes. Nothing of
// it is left running. It may be called more than once.
func (c *connection) close(why wire.Code, last []byte) error {
	var err error
	c.lanes.close(why, func() {
		if len(last) == 0 {
			return
		}
		_ = c.lanes.write(last)
		select {
		case <-c.conn.Context().Done():
		case <-time.After(closeWait):
		}
	}, func() { err = c.socket.close() })
	return err
}

// errNoAnswer is all that can be known of a server that is silent.
var errNoAnswer = errors.New("no answer: is the server running there, and its UDP port open?")

// explainDial adds what to do to the errors that people meet first.
func explainDial(err error) error {
	var idle *quic.IdleTimeoutError
	var silent *quic.HandshakeTimeoutError
	var transport *quic.TransportError
	switch {
	case errors.As(err, &idle), errors.As(err, &silent):
		return errNoAnswer
	case errors.Is(err, context.DeadlineExceeded): // which callers ask for
		return fmt.Errorf("%w (%w)", errNoAnswer, err)
	case errors.Is(err, errCertificate):
		return errCertificate
	case errors.As(err, &transport) && transport.ErrorCode == quic.ConnectionRefused:
		return &wire.Error{Code: wire.ServerFull, Detail: "it refuses the connection: too many from this address, or too many at once"}
	case errors.As(err, &transport) && transport.ErrorCode.IsCryptoError():
		return fmt.Errorf("%w (pin the fingerprint that the server prints; for development on one machine, believe it unseen: InsecureDev, --insecure-dev)", err)
	}
	return explain(err)
}

// explain turns a close code into the *wire.Error that it stands for.
func explain(err error) error {
	var app *quic.ApplicationError
	var idle *quic.IdleTimeoutError
	var reset *quic.StatelessResetError
	switch {
	case errors.As(err, &reset):
		return &wire.Error{Code: wire.Timeout, Detail: "the server was restarted, and knows nothing of the connection"}
	case errors.As(err, &app):
		return &wire.Error{Code: wire.Code(min(app.ErrorCode, 1<<16-1)), Detail: app.ErrorMessage}
	case errors.As(err, &idle):
		return &wire.Error{Code: wire.Timeout, Detail: "nothing came from the server"}
	}
	return err
}
