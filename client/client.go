package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

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

// Client is a connection to a server, and the replica that it feeds. A connection
// that is lost is replaced by another, as far as the server lets it. All methods
// belong to one goroutine, on which the callbacks run: a game calls Update once a
// frame, a bot waits in Wait and then calls Update.
type Client struct {
	config  Config
	tls     *tls.Config
	session *Session
	link    *connection // nil while there is none
	outage  outage
	state   State
	log     *zap.Logger
	start   time.Time
	told    time.Duration // when the newest Input was sent
	hearing hearing
	quiet   *time.Timer
	past    Traffic // of earlier connections
	err     error

	updating bool     // a callback may be running
	in       arrivals // of the newest Update, to be used again
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
	session, err := NewSession(c.session())
	if err != nil {
		return nil, err
	}
	cl := &Client{config: c, tls: tlsConfig, session: session, log: c.Log, start: time.Now(), quiet: time.NewTimer(0)}
	session.taken = cl.welcomed
	if cl.log == nil {
		cl.log = zap.NewNop()
	}
	session.next = cl.next
	if cl.link, err = connect(ctx, c, tlsConfig, cl.start); err != nil {
		return nil, err
	}
	if err := cl.join(ctx); err != nil {
		_ = cl.Close()
		return nil, err
	}
	return cl, nil
}

// join sends the Hello and waits for the answer.
func (c *Client) join(ctx context.Context) error {
	for {
		if err := c.Update(); err != nil {
			return err
		}
		if c.state == Joined {
			return nil
		}
		if err := c.Wait(ctx); err != nil {
			return fmt.Errorf("client: no welcome from the server: %w", err)
		}
	}
}

// Wait blocks until there is something for Update to do, or ctx is done, whose
// error it then returns. It is for callers without frames of their own: it
// returns as soon as anything arrives, and Update never needs it.
func (c *Client) Wait(ctx context.Context) error {
	var arrived, ended, connected <-chan struct{}
	if c.link != nil {
		arrived, ended = c.link.lanes.arrived, c.link.lanes.ended
	}
	if a := c.outage.attempt; a != nil {
		connected = a.done
	}
	c.quiet.Reset(c.told + c.session.patience() - time.Since(c.start))
	select {
	case <-arrived:
	case <-ended:
	case <-connected:
	case <-c.quiet.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Update applies everything that has arrived, runs the callbacks, answers
// snapshots with an input, and sends what commands have queued. It does not
// block. A connection that is lost is no error: State says so, and Update goes on
// to make another. After an error the client is of no more use than to be closed
// and asked for verdicts; a *wire.Error tells why the server ended it.
func (c *Client) Update() error {
	if c.updating {
		return errors.New("client: Update from within a callback")
	}
	c.updating = true
	err := c.update()
	c.updating = false
	return err
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

func (c *Client) update() error {
	if a := c.outage.attempt; a != nil && c.err == nil {
		select {
		case <-a.done:
			if err := c.resume(); err != nil {
				return err
			}
		default:
			c.told = time.Since(c.start)
		}
	}
	if c.err != nil || c.link == nil {
		return c.err
	}
	in := c.link.lanes.take(c.in)
	err := c.apply(in)
	c.in = in
	if c.err != nil {
		return c.err // a callback has closed it
	}
	if err == nil && in.err != nil {
		err = explain(in.err)
	}
	if err == nil {
		err = c.link.lanes.write(c.session.TakeStream())
	}
	if err != nil {
		return c.lost(err)
	}
	return nil
}

func (c *Client) apply(in arrivals) error {
	now := time.Since(c.start)
	lost := c.hearing.look(now, len(in.stream) > 0 || len(in.datagrams) > 0)
	if err := c.session.receive(in); err != nil {
		return err
	}
	if lost && c.state != Connecting {
		return &wire.Error{Code: wire.Timeout, Detail: fmt.Sprintf("nothing came from the server for %v", lostAfter)}
	}
	if c.session.answers(len(in.datagrams), now-c.told) {
		if d := c.session.Input(now); d != nil {
			c.link.lanes.answer(d)
		}
		c.told = now
	}
	return nil
}

// State is where the client stands; Config.State is told when it changes.
func (c *Client) State() State { return c.state }

// Lookup returns the verdict on h, and the entity if h is Live; see Replica.Lookup.
func (c *Client) Lookup(h bulk.Handle) (*Entity, wire.Verdict) { return c.session.Replica().Lookup(h) }

// Resolve returns Lookup's verdict on h.
func (c *Client) Resolve(h bulk.Handle) wire.Verdict { return c.session.Resolve(h) }

// Replica is the client's copy of what the server shows it. A new session has another
// one (StateChange without Resumed), and the one before stands still for good: ask each
// time, and keep none.
func (c *Client) Replica() *Replica { return c.session.Replica() }

// Welcome returns the server's newest Welcome: the session's number, the world's
// epoch, the tick and snapshot rates. It has no Secret, which only the client needs.
// It is zero after the client ended with wire.EpochMismatch.
func (c *Client) Welcome() wire.Welcome {
	w, _ := c.session.Welcome()
	w.Secret = nil
	return w
}

// RTT returns the newest measured round trip. Stats().Clock.RTT is steadier.
func (c *Client) RTT() RTT { return c.session.RTT() }

// SetInput is what the client wants from now on; see Session.SetInput. It is sent
// with the answer to the next snapshot and repeated in those that follow.
func (c *Client) SetInput(data []byte) error { return c.session.SetInput(data, time.Since(c.start)) }

// Command asks the server to execute a command once; the next Update sends it.
// See Session.Command.
func (c *Client) Command(name string, target bulk.Handle, args []byte) (*Future, error) {
	return c.session.Command(name, target, args)
}

// Controlled is the entity that this session steers now; zero if none, and right
// after Dial, when it may not have been told yet.
func (c *Client) Controlled() bulk.Handle { return c.session.Controlled() }

// Render returns the moment that a frame drawn now is to show; see
// Session.Render.
func (c *Client) Render() Moment { return c.session.Render(time.Since(c.start)) }

// Close says goodbye and ends the connection. Nothing of it is left running.
// It may be called more than once, and by a callback, which may be told some more
// of what came with it.
func (c *Client) Close() error {
	if a := c.outage.attempt; a != nil {
		a.cancel()
		<-a.done
		c.outage.attempt, c.link = nil, a.link
	}
	why := c.err
	if c.state != Ended {
		_ = c.end(errClosed)
	}
	c.quiet.Stop()
	if c.link == nil {
		return nil
	}
	c.session.Bye(wire.CodeOf(why))
	return c.link.close(wire.CodeOf(why), c.session.TakeStream())
}

// errClosed is what a client that was closed answers.
var errClosed = errors.New("client: closed")
