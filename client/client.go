package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

const (
	// handshakeTimeout is how long a silent server is waited for.
	handshakeTimeout = 3 * time.Second
	// idleTimeout ends a connection from which nothing comes; a server that
	// was killed says nothing.
	idleTimeout = 10 * time.Second
	// closeWait is how long Close waits for the server to see the Bye.
	closeWait = 300 * time.Millisecond
)

// Client is a connection to a server, and the replica that it feeds. All
// methods belong to one goroutine, on which the callbacks run: a game calls
// Update once a frame, a bot waits in Wait and then calls Update.
type Client struct {
	session *Session
	conn    *quic.Conn
	socket  *socket
	lanes   *lanes
	log     *zap.Logger
	start   time.Time
	told    time.Duration // when the newest Input was sent
	quiet   *time.Timer
	err     error

	updating bool // a callback may be running
}

// Dial connects and waits for the server's welcome. A refusal is a *wire.Error
// whose Code says why. The observer may be told of the first entities before
// Dial returns.
func Dial(ctx context.Context, c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, err
	}
	session, err := NewSession(c.SessionConfig)
	if err != nil {
		return nil, err
	}
	socket, err := openSocket(c.Socket)
	if err != nil {
		return nil, err
	}
	conn, err := socket.dial(ctx, c.Addr, tlsConfig)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("client: can't connect to %s: %w", c.Addr, explainDial(err)), socket.close())
	}
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.OK), "")
		return nil, errors.Join(fmt.Errorf("client: can't open the stream to %s: %w", c.Addr, explain(err)), socket.close())
	}
	cl := &Client{session: session, conn: conn, socket: socket, log: c.Log, start: time.Now(), quiet: time.NewTimer(0)}
	if cl.log == nil {
		cl.log = zap.NewNop()
	}
	session.next = cl.next
	cl.lanes = openLanes(conn, stream, cl.start)
	if err := cl.join(ctx); err != nil {
		_ = cl.Close()
		return nil, err
	}
	cl.log.Info("joined", zap.String("server", c.Addr), zap.Uint64("session", session.welcome.Session))
	return cl, nil
}

// join sends the Hello and waits for the answer.
func (c *Client) join(ctx context.Context) error {
	for {
		if err := c.Update(); err != nil {
			return err
		}
		if _, ok := c.session.Welcome(); ok {
			return nil
		}
		if err := c.Wait(ctx); err != nil {
			return fmt.Errorf("client: no welcome from the server: %w", err)
		}
	}
}

// errNoAnswer is all that can be known of a server that is silent.
var errNoAnswer = errors.New("no answer: is the server running there, and its UDP port open?")

// explainDial adds what to do to the errors that people meet first.
func explainDial(err error) error {
	var idle *quic.IdleTimeoutError
	var silent *quic.HandshakeTimeoutError
	var transport *quic.TransportError
	switch {
	case errors.As(err, &idle), errors.As(err, &silent), errors.Is(err, context.DeadlineExceeded):
		return errNoAnswer
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
	switch {
	case errors.As(err, &app):
		return &wire.Error{Code: wire.Code(min(app.ErrorCode, 1<<16-1)), Detail: app.ErrorMessage}
	case errors.As(err, &idle):
		return &wire.Error{Code: wire.Timeout, Detail: "nothing came from the server"}
	}
	return err
}

// Wait blocks until there is something for Update to do, or ctx is done, whose
// error it then returns. It is for callers without frames of their own: it
// returns as soon as anything arrives, and Update never needs it.
func (c *Client) Wait(ctx context.Context) error {
	c.quiet.Reset(c.told + c.silence() - time.Since(c.start))
	select {
	case <-c.lanes.arrived:
		return nil
	case <-c.lanes.ended:
		return nil
	case <-c.quiet.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Update applies everything that has arrived, runs the callbacks, answers
// snapshots with an input, and sends what commands have queued. It does not
// block. After an error the client is of no more use than to be closed and
// asked for verdicts; a *wire.Error tells why the server ended it.
func (c *Client) Update() error {
	if c.err != nil {
		return c.err
	}
	if c.updating {
		return errors.New("client: Update from within a callback")
	}
	c.updating = true
	defer func() { c.updating = false }()
	in := c.lanes.take()
	c.err = c.apply(in)
	if c.err == nil && in.err != nil {
		c.err = explain(in.err)
	}
	if c.err == nil {
		c.err = c.lanes.write(c.session.TakeStream())
	}
	if c.err != nil {
		c.session.End(c.err)
	}
	return c.err
}

// next sends what waits to be sent, waits for something to come, and takes it in.
func (c *Client) next(ctx context.Context) error {
	if err := c.Update(); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	return c.Update()
}

func (c *Client) apply(in arrivals) error {
	if len(in.stream) > 0 {
		if err := c.session.ReceiveStream(in.stream); err != nil {
			return err
		}
	}
	for _, d := range in.datagrams {
		if _, err := c.session.ReceiveDatagram(d.bytes, d.at); err != nil {
			return err
		}
	}
	// One answer for all, since the acknowledgement is of everything. If
	// nothing comes, inputs go out all the same: only half of the link may be
	// down. So they do before more of them wait than one datagram holds.
	if now := time.Since(c.start); len(in.datagrams) > 0 || now-c.told >= c.silence() || c.session.inputs.unsent == wire.MaxInputs {
		if d := c.session.Input(now); d != nil {
			c.lanes.answer(d)
		}
		c.told = now
	}
	return nil
}

// silence is how long the client waits for a snapshot before it sends an Input
// unasked: two snapshots' time.
func (c *Client) silence() time.Duration {
	if w, ok := c.session.Welcome(); ok {
		return 2 * time.Second / time.Duration(w.SnapshotHz)
	}
	return handshakeTimeout
}

// Resolve says what became of h.
func (c *Client) Resolve(h bulk.Handle) wire.Verdict { return c.session.Resolve(h) }

// Replica is the client's copy of what the server shows it.
func (c *Client) Replica() *Replica { return c.session.Replica() }

// Session is the protocol's state: the welcome, the controlled entity, round
// trips.
func (c *Client) Session() *Session { return c.session }

// SetInput is what the client wants from now on; see Session.SetInput. It is sent
// with the answer to the next snapshot and repeated in those that follow.
func (c *Client) SetInput(data []byte) error { return c.session.SetInput(data, time.Since(c.start)) }

// Command asks the server to execute a command once; the next Update sends it.
// See Session.Command. After an error of Update, and at Close, what is not
// answered ends as Unanswered.
func (c *Client) Command(name string, target bulk.Handle, args []byte) (*Future, error) {
	return c.session.Command(name, target, args)
}

// Controlled is the entity that this session steers; zero if none.
func (c *Client) Controlled() bulk.Handle { return c.session.Controlled() }

// Clock is what is known of the server's time.
func (c *Client) Clock() Clock { return c.session.Clock(time.Since(c.start)) }

// Render returns the moment that a frame drawn now is to show; see
// Session.Render.
func (c *Client) Render() Moment { return c.session.Render(time.Since(c.start)) }

// Close says goodbye and ends the connection. Nothing of it is left running.
// It may be called more than once.
func (c *Client) Close() error {
	var err error
	c.lanes.close(wire.CodeOf(c.err), func() {
		c.session.Bye(wire.CodeOf(c.err))
		_ = c.lanes.write(c.session.TakeStream())
		select {
		case <-c.conn.Context().Done():
		case <-time.After(closeWait):
		}
	}, func() { err = c.socket.close() })
	c.quiet.Stop()
	c.session.End(errClosed)
	return err
}
