package client

import (
	"cmp"
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
	// handshakeTimeout bounds the wait for a silent server.
	handshakeTimeout = 3 * time.Second
	// idleTimeout ends a connection on which nothing arrives: a server that was
	// killed sends no close.
	idleTimeout = 10 * time.Second
	// closeWait bounds how long Close waits for the server to receive the Bye.
	closeWait = 300 * time.Millisecond
)

// Stats describes a Client's connections and session.
type Stats struct {
	Traffic
	Commands   uint64 // sent
	Rejected   uint64
	Unanswered uint64 // the connection broke before the answer
	// Delay is the target lag of Render behind the server's time: half a round trip, a snapshot
	// interval, and the link's variation.
	Delay time.Duration
	// Lead is the time between making an input and its tick.
	Lead time.Duration
	// RoundTrip is the newest round trip: the time from sending an Input to the arrival of the
	// snapshot that echoes it, minus the time that the server held it. Clock.RTT is steadier.
	RoundTrip  time.Duration
	RoundTrips uint64 // measured so far
	// Ordinary is set once computed bodies have differed from the server's for too long: the
	// next session, or already this one, receives them as rows. See ErrDiverged.
	Ordinary bool
	// OverTCP is set while the connection is a WebSocket: Config.Fallback.
	OverTCP bool
	Replica ReplicaStats // snapshots by outcome
	Clock   Clock        // at the time of the call
}

// Client is a connection to a server and the replica that it feeds. It replaces a
// lost connection if the server allows. All methods belong to one goroutine, on
// which the callbacks run: a game calls Update once per render, a bot calls Wait and
// then Update.
type Client struct {
	config    Config // Addr is the present address
	tls       *tls.Config
	session   *Session
	link      Conn // nil while disconnected
	outage    outage
	addresses addresses
	state     State
	log       *zap.Logger
	clock     func() time.Duration // unless there is a Simulation
	sent      time.Duration        // when the newest Input was sent
	silence   silence
	timer     *time.Timer // of Wait
	past      Traffic     // of earlier connections
	err       error

	caller   caller   // callerSleeps: Wait was called since the last Update
	updating bool     // a callback may be running
	panicked error    // ErrCallback with the name of the callback
	in       Arrivals // buffers of the last Update, for reuse
}

// Dial connects and waits for the server's Welcome. A refusal is a *wire.Error
// whose Code says why. If the server does not answer, or is silent for four seconds, Dial tries each of Config.Addrs once. If a server ends meanwhile, Dial tries
// again for about a second, unless GiveUp is negative: another process may continue the world. The observer may be called before Dial returns.
func Dial(ctx context.Context, c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	tlsConfig, err := c.tlsConfig()
	if err != nil {
		return nil, err
	}
	session, err := NewSession(c.sessionConfig())
	if err != nil {
		return nil, err
	}
	cl := &Client{config: c, addresses: newAddresses(c), tls: tlsConfig, session: session, log: cmp.Or(c.Log, zap.NewNop()), clock: c.newClock(), timer: time.NewTimer(0)}
	session.hooks = hooks{welcomed: cl.reportWelcome, await: cl.awaitArrivals, mayBegin: c.FreshToken != nil}
	first, err := cl.newDialer()(ctx)
	cl.noteTried(first)
	switch {
	case err == nil:
		cl.link = first.link
		cl.silence.restartAt(cl.now())
	case ctx.Err() == nil && cl.joinsAgain(err):
		cl.beginAgain()
	default:
		return nil, err
	}
	if err := cl.awaitWelcome(ctx); err != nil {
		_ = cl.Close()
		return nil, err
	}
	return cl, nil
}

// awaitWelcome sends the Hello and waits for the Welcome.
func (c *Client) awaitWelcome(ctx context.Context) error {
	for {
		if err := c.Update(); err != nil {
			return err
		}
		if c.state == Joined {
			c.sendInput(0, c.now()) // confirms the Welcome
			return nil
		}
		if err := c.Wait(ctx); err != nil {
			return fmt.Errorf("client: no welcome from the server: %w", err)
		}
	}
}

// Wait blocks until Update has something to do, or returns ctx's error when ctx is done. It is
// for callers that draw nothing; Update never needs it. After Wait, Update sends no
// acknowledgement: the next SetInput or Wait sends it, and one datagram carries the input and
// the acknowledgement.
func (c *Client) Wait(ctx context.Context) error {
	c.caller = callerSleeps
	if c.err == nil {
		c.sendInput(0, c.now())
	}
	if s := c.config.Simulation; s != nil {
		return errors.Join(ctx.Err(), s.Wait())
	}
	var arrived, connected <-chan struct{}
	if link, ok := c.link.(*connection); ok {
		r := c.session.replica
		arrived = link.wakeChannel(r != nil && len(r.held) > 0)
	}
	if a := c.outage.attempt; a != nil {
		connected = a.done
	}
	now := c.now()
	c.timer.Reset(c.session.uplink.inputWait(&c.session.time, receiptOf(c.session.replica, &c.session.stream), now, now-c.sent))
	select {
	case <-arrived:
	case <-connected:
	case <-c.timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Update applies everything that has arrived, runs the callbacks, acknowledges snapshots with
// an input, and sends queued commands. It does not block. A lost connection is no error: State
// is Reconnecting, and Update makes a new connection. An error is final: a *wire.Error says why
// the server ended the session, ErrCallback that an earlier Update was interrupted. After
// it only Resolve and Close are useful.
func (c *Client) Update() error {
	switch {
	case c.updating:
		return errors.New("client: Update called from a callback")
	case c.panicked != nil && c.err == nil:
		return c.endWith(c.panicked)
	}
	c.updating = true
	returned := false
	defer func() {
		c.updating = false
		if !returned && c.panicked == nil {
			c.panicked = callbackError(panickedCallback())
		}
	}()
	c.session.uplink.setCaller(c.caller)
	c.caller = callerRenders
	err := c.receiveAndSend()
	returned = true
	return err
}

// awaitArrivals sends what is queued, waits for something to arrive, and applies it.
func (c *Client) awaitArrivals(ctx context.Context) error {
	if err := c.Update(); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	return c.Update()
}

func (c *Client) receiveAndSend() error {
	if a := c.outage.attempt; a != nil && c.err == nil {
		c.simulateAttempt(a)
		select {
		case <-a.done:
			if err := c.takeLink(); err != nil {
				return err
			}
		default:
			c.sent = c.now()
		}
	}
	if c.err != nil || c.link == nil {
		return c.err
	}
	in := c.link.Receive(c.in)
	err := c.applyArrivals(in)
	c.in = in
	if c.err != nil {
		return c.err // a callback closed the client
	}
	if err == nil && in.Err != nil {
		err = explainClose(in.Err)
	}
	if err == nil && c.state == Joined && c.session.resyncs.endsSession(c.session.welcome) && c.config.GiveUp >= 0 {
		err = ErrDiverged // the next session receives rows
	}
	if err == nil {
		err = c.link.SendStream(c.session.TakeStream())
	}
	if err != nil {
		return c.handleLoss(err)
	}
	return nil
}

func (c *Client) applyArrivals(in Arrivals) error {
	now := c.now()
	r := c.session.replica
	stuck := r != nil && len(r.held) > 0 // snapshots wait for structure that does not arrive
	lost := c.silence.noteArrivals(now, len(in.Stream) > 0 || len(in.Datagrams) > 0 && !stuck)
	fresh, err := c.session.receiveArrivals(in, now)
	if err != nil {
		return err
	}
	if lost && (c.state != Connecting || len(c.addresses.all) > 1) { // a frozen server of a cluster may never send its Welcome
		return &wire.Error{Code: wire.Timeout, Detail: fmt.Sprintf("nothing new arrived from the server for %v", lostAfter)}
	}
	s := c.session
	if s.uplink.caller == callerRenders || s.uplink.isOverdue(&s.time, receiptOf(s.replica, &s.stream), now-c.sent) {
		c.sendInput(fresh, now)
	}
	return nil
}

// sendInput sends an Input if one is due after the arrival of so many datagrams.
func (c *Client) sendInput(datagrams int, now time.Duration) {
	if c.link == nil || !c.session.uplink.inputDue(&c.session.time, receiptOf(c.session.replica, &c.session.stream), datagrams, now, now-c.sent) {
		return
	}
	if d := c.session.Input(now); d != nil {
		c.link.SendDatagram(d)
	}
	c.sent = now
}

// State returns the state of the connection; Config.State is called when it changes.
func (c *Client) State() State { return c.state }

// Entity returns the entity that h names, nil unless h is Live; see Replica.Entity.
func (c *Client) Entity(h bulk.Handle) *Entity { return c.session.Replica().Entity(h) }

// Resolve returns the verdict on h; see Replica.Resolve.
func (c *Client) Resolve(h bulk.Handle) wire.Verdict { return c.session.Resolve(h) }

// Replica returns the client's copy of its interest set. Call it each time: a new
// session (StateChange without Resumed) has a new Replica, and the old one no longer
// changes.
func (c *Client) Replica() *Replica { return c.session.Replica() }

// Welcome returns the server's newest Welcome: the session's number, the world's epoch, the
// tick and snapshot rates. Its Secret is empty: only the client needs it. Welcome is zero after
// the client ended with wire.EpochMismatch.
func (c *Client) Welcome() wire.Welcome {
	w, _ := c.session.Welcome()
	w.Secret = nil
	return w
}

// SetRawInput is SetInput with bytes, for a schema that declares no input.
func (c *Client) SetRawInput(data []byte) (tick uint32, err error) {
	now := c.now()
	tick, err = c.session.SetRawInput(data, now)
	c.sendInput(0, now)
	return tick, err
}

// DoRaw asks the server to execute a raw command once; see Session.DoRaw. The next
// Update sends it.
func (c *Client) DoRaw(name string, target bulk.Handle, args []byte, provisional ...bulk.Handle) (*Future, error) {
	return c.session.DoRaw(name, target, args, provisional...)
}

// SchemaChanges lists in lines where the server's schema lacks something that Config.Schema
// declares, or has another form of it: see schema.Schema.Bind. It is empty if the server has all
// declared items exactly.
func (c *Client) SchemaChanges() []string { return c.session.greeting.schemaChanges() }

// Controlled returns the entity that this session controls; see Session.Controlled.
// It may still be zero when Dial returns.
func (c *Client) Controlled() bulk.Handle { return c.session.Controlled() }

// Render returns the moment to show in a picture drawn now; see Session.Render.
func (c *Client) Render() Moment { return c.session.Render(c.now()) }

// Stats returns what the client measured and counted since Dial.
func (c *Client) Stats() Stats {
	s := c.session.stats()
	s.OverTCP = overTCP(c.link)
	s.Traffic, s.Clock = c.past.plusLink(c.link), c.session.time.clock.estimateAt(c.now())
	return s
}

// Close sends a Bye and ends the connection; afterwards none of its goroutines runs. It may be
// called more than once, and by a callback: then the callbacks for data that had already
// arrived may still run.
func (c *Client) Close() error {
	if a := c.outage.attempt; a != nil {
		a.cancel()
		if c.config.Simulation == nil { // else no goroutine makes it
			<-a.done
		}
		c.outage.attempt, c.link = nil, a.reached.link
	}
	why := c.err
	if c.state != Ended {
		_ = c.endWith(errClosed)
	}
	c.timer.Stop()
	if c.link == nil {
		return nil
	}
	c.session.stream.sendMessage(wire.Bye{Code: wire.CodeOf(why)})
	return c.link.Close(wire.CodeOf(why), c.session.TakeStream())
}

// errClosed is the error of a client after Close.
var errClosed = errors.New("client: closed")
