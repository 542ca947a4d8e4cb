package client

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/replication/wire"
)

// State is the state of a Client's connection. STATE.md of package server/session has
// the transitions.
type State uint8

const (
	Connecting   State = iota // Dial has not returned yet
	Joined                    // the server sent its Welcome
	Reconnecting              // the connection was lost; the client is replacing it
	Ended                     // final
)

// String returns the state's name in lower case.
func (s State) String() string {
	names := [...]string{"connecting", "joined", "reconnecting", "ended"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// StateChange is the state that a Client has entered.
type StateChange struct {
	State State
	// Err is why the connection was lost or the client ended: a *wire.Error if the
	// server said so.
	Err error
	// Resumed is set if the client reconnected to its session: entities, handles and the
	// controlled entity are as before. Joined after Reconnecting without Resumed, Restored, NewWorld and Moved
	// begins a new session: all entities have left, Stale handles stay Stale, and all others are
	// Pending until the session shows them.
	Resumed bool
	// Restored is set if the client reconnected to its session, and the server does not know what the
	// client has in view: it has come back after a crash. The player and its entities are as before;
	// for the client's entities and handles a new session has begun.
	Restored bool
	// NewWorld is set if the client is in another world that may issue handles of an earlier world again: after the restart of
	// a server without rooms, and when the session returns to a room. Forget all handles: the same handle may name
	// another entity. All else is as with Moved.
	NewWorld bool
	// Moved is set if the client is in another world, Welcome().Room, whose generations are new to it: the server has
	// moved the session to another room, or the client is on another server or in another run. All
	// entities of earlier worlds are destroyed, and their handles are Stale for ever, or until a NewWorld.
	// Commands have ended with ErrUnanswered, and there is a new Replica.
	Moved bool
}

const (
	// minBackoff and maxBackoff bound the delay before reconnecting. The first delay is random
	// up to minBackoff; the bound doubles with each further attempt.
	minBackoff = 250 * time.Millisecond
	maxBackoff = 5 * time.Second
	// stableAfter is how long a connection must have lasted so that the next redirection counts as the first: players go from room to
	// room. It bounds loops of redirections together with maxMoves.
	stableAfter = time.Second
	// maxJoinsAgain bounds the further attempts of Dial, the last after 750 ms: a hand-over takes about as long.
	maxJoinsAgain = 2
	// maxMoves bounds how many servers in a row may redirect the client.
	maxMoves      = 4
	defaultGiveUp = time.Minute
)

// backoffBefore returns the delay before attempt n, counted from 0. random, from [0, 1),
// spreads clients that lost their connections together.
func backoffBefore(n int, random float64) time.Duration {
	if n == 0 {
		return time.Duration(random * float64(minBackoff))
	}
	return time.Duration((1 + random) / 2 * float64(longestBackoff(n)))
}

// longestBackoff returns the bound of the delay before attempt n. A connection that lasts as long resets the backoff, since
// the server works.
func longestBackoff(n int) time.Duration { return min(minBackoff<<min(n, 10), maxBackoff) }

// attempt is one attempt to reconnect, on its own goroutine.
type attempt struct {
	cancel  context.CancelFunc
	done    chan struct{} // closed when the fields below are set
	token   []byte        // for the Hello; nil: from FreshToken, or Config.Token
	reached reached[Conn]
	due     time.Duration // when a simulated attempt is made
	err     error
}

// outage is a Client's record of lost connections.
type outage struct {
	attempt  *attempt // in progress, or nil
	attempts int      // begun since the last connection that reset the backoff
	moves    int      // followed since the last stable connection
	began    time.Duration
	joinedAt time.Duration // when the newest connection received its Welcome
	random   *rand.Rand
}

// beginAttempt begins an attempt, which first closes the old connection. token, unless nil,
// goes into its Hello.
func (c *Client) beginAttempt(delay time.Duration, token []byte) {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attempt{cancel: cancel, done: make(chan struct{}), token: token, due: c.now() + delay}
	old, config, dial := c.link, c.config, c.newDialer()
	c.link, c.outage.attempt = nil, a
	c.past = c.past.plusLink(old)
	why, last := wire.Timeout, []byte(nil) // OK would end the session
	if c.session.resyncs.endsSession(c.session.welcome) {
		c.session.stream.sendMessage(wire.Bye{Code: wire.OK})
		why, last = wire.OK, c.session.TakeStream()
	}
	if config.Simulation != nil {
		if old != nil {
			_ = old.Close(why, last)
		}
		return // simulate makes the attempt
	}
	go func() {
		defer close(a.done)
		if old != nil {
			_ = old.Close(why, last)
		}
		select {
		case <-time.After(delay):
			a.reached, a.err = a.openLink(ctx, config, dial)
		case <-ctx.Done():
			a.err = ctx.Err()
		}
	}()
}

// openLink opens the connection. It first calls FreshToken if the config has it and no token is
// set.
func (a *attempt) openLink(ctx context.Context, config Config, dial dialer) (r reached[Conn], err error) {
	if config.FreshToken != nil && a.token == nil {
		if a.token, err = config.FreshToken(ctx); err != nil {
			return r, fmt.Errorf("client: FreshToken, for reconnecting: %w", err)
		}
	}
	return dial(ctx)
}

// errMoveLost replaces a close with the code Moved that has overtaken its message, which alone has the address. The client asks the server again.
var errMoveLost = &wire.Error{Code: wire.Timeout, Detail: "the connection was closed before the address of another server had arrived"}

// handleLoss handles the loss of a connection: it begins an attempt to replace it, or ends the
// client and returns the error.
func (c *Client) handleLoss(why error) error {
	var e *wire.Error
	if errors.As(why, &e) && e.Code == wire.Moved && e.Address == "" {
		e = errMoveLost
		why = e
	}
	now, o := c.now(), &c.outage
	rounds := o.attempts / len(c.addresses.all)
	retries := c.config.GiveUp >= 0 && (mayRetry(why) || c.session.greeting.asksAgain(why, c.config.Room))
	if c.state == Joined {
		o.began = now
		lasted := now - o.joinedAt
		if lasted >= longestBackoff(rounds) {
			o.attempts, rounds = 0, 0
		}
		if lasted >= stableAfter {
			o.moves = 0
		}
	}
	if e != nil && e.Code == wire.Moved {
		return c.followMove(e)
	}
	switch {
	case c.state == Connecting && c.joinsAgain(why):
		c.session.Lost(why)
		c.beginAgain()
		return nil
	case c.state == Connecting || !retries:
		return c.endWith(why)
	case now-o.began > c.giveUp():
		return c.endWith(fmt.Errorf("client: gave up after %v: %w", c.giveUp(), why))
	}
	if mayRetry(why) && (c.state == Reconnecting || wire.CodeOf(why) == wire.Draining) {
		c.leaveAddress()
	}
	c.leaveConnection(why)
	if c.err != nil {
		return c.err // a callback closed the client
	}
	delay := backoffBefore(rounds, o.random.Float64())
	o.attempts++
	c.beginAttempt(delay, nil)
	return nil
}

// joinsAgain reports whether Dial makes another attempt: at an address that it has not tried, or since the server has ended before
// its Welcome, and another process may have its sockets or its rooms.
func (c *Client) joinsAgain(why error) bool {
	code, most := wire.CodeOf(why), len(c.addresses.all)-1
	ended := code == wire.Draining || code == wire.Timeout || !c.addresses.has(c.config.Addr)
	if ended && c.config.GiveUp >= 0 {
		most += maxJoinsAgain
	}
	return mayRetry(why) && c.outage.attempts < most
}

// beginAgain begins another attempt to join. The delay is not random: no outage has brought this client together with others.
func (c *Client) beginAgain() {
	delay := time.Duration(0)
	if again := c.outage.attempts - (len(c.addresses.all) - 1); again >= 0 {
		delay = minBackoff << again
	}
	c.outage.attempts++
	c.leaveAddress()
	c.beginAttempt(delay, nil)
}

// leaveAddress makes the next attempt go to another address, if there is one.
func (c *Client) leaveAddress() {
	c.config.Addr = c.addresses.after(c.config.Addr)
	c.outage.moves = 0 // another address may redirect as often
}

// leaveConnection notifies the caller and the session of the lost connection.
func (c *Client) leaveConnection(why error) {
	if o := &c.outage; c.state == Joined {
		w, _ := c.session.Welcome()
		if o.random == nil {
			o.random = rand.New(rand.NewPCG(w.Session, binary.LittleEndian.Uint64(append(w.Secret, make([]byte, 8)...))))
		}
		c.log.Info("connection lost", zap.Error(why))
		c.changeState(StateChange{State: Reconnecting, Err: why})
	}
	c.session.Lost(why)
}

// followMove connects to the server to which the present one redirects. A new session begins there, unless the present one says that
// the session may be there, or a client that looks for its session is sent to another of its addresses. The server that says so knows the
// secret.
func (c *Client) followMove(to *wire.Error) error {
	if c.outage.moves == maxMoves {
		return c.endWith(fmt.Errorf("client: moved %d times in a row, the last time to %q: %w", maxMoves, to.Address, to))
	}
	if err := address.CheckDial("udp", to.Address); err != nil {
		return c.endWith(fmt.Errorf("client: moved to an address that cannot be dialled: %w: %w", err, to))
	}
	c.outage.moves++
	resumes := to.Detail == wire.SessionThere || c.state == Reconnecting && c.addresses.has(to.Address)
	c.leaveConnection(to)
	if c.err != nil {
		return c.err // a callback closed the client
	}
	c.config.Addr = to.Address
	token := append([]byte{}, to.Token...)
	switch {
	case !resumes:
		c.session.forgetServer(to)
	case len(token) == 0:
		token = nil // the client's own: the session may have ended there
	}
	c.beginAttempt(0, token)
	return nil
}

// ErrDiverged is StateChange.Err if the client replaces its session by one without
// Config.Simulate, in which the server sends rows of all bodies. The reason is that computed
// bodies still differed from the server's, which is a bug on either side, or took too long.
// Before that the client has asked for all states ten times, each within half a minute of the
// last. The game sees the player leave and join. With a negative GiveUp, or a Token without
// FreshToken, the client keeps the session.
var ErrDiverged = errors.New("client: computed bodies kept differing from the server's, or took too long: the next session receives them as rows")

// mayRetry reports whether another connection may succeed. The error's code decides; transport
// errors have none and may be temporary.
func mayRetry(why error) bool {
	if e, ok := errors.AsType[*wire.Error](why); ok {
		return e.Code.Info().Retry
	}
	return !errors.Is(why, errCertificate)
}

// takeLink takes over the connection of a completed attempt.
func (c *Client) takeLink() error {
	a := c.outage.attempt
	c.outage.attempt = nil
	a.cancel()
	c.noteTried(a.reached)
	if a.err != nil {
		return c.handleLoss(a.err)
	}
	c.link = a.reached.link
	c.silence.restartAt(c.now())
	c.session.config.Token = a.token
	if a.token == nil { // an earlier redirection's is used, or of another server
		c.session.config.Token = c.config.Token
	}
	c.session.Reconnect()
	return nil
}

// noteTried takes the address that has answered, if one has. Each address that was tried counts as an attempt.
func (c *Client) noteTried(r reached[Conn]) {
	c.outage.attempts += max(r.tried-1, 0)
	c.config.Addr = cmp.Or(r.address, c.config.Addr)
}

func (c *Client) reportWelcome(kind welcomeKind, change worldChange) {
	w, _ := c.session.Welcome()
	if c.state != Joined {
		c.outage.joinedAt = c.now()
	}
	c.log.Info("joined", zap.String("server", c.config.Addr), zap.Uint64("session", w.Session), zap.Bool("resumed", w.Resumed == 1), zap.String("room", w.Room))
	c.changeState(StateChange{State: Joined, Resumed: w.Resumed == 1, Restored: kind == sessionRestored, Moved: change == freshRange, NewWorld: change == reusedRange})
}

func (c *Client) giveUp() time.Duration { return cmp.Or(c.config.GiveUp, defaultGiveUp) }

// endWith enters the final state. Commands without an answer end in ErrUnanswered. The first
// error stays, even if a callback closes the client meanwhile.
func (c *Client) endWith(why error) error {
	c.err, c.state = why, Ended
	c.session.Lost(why)
	c.changeState(StateChange{State: Ended, Err: why})
	return why
}

func (c *Client) changeState(s StateChange) {
	c.state = s.State
	if f := c.config.State; f != nil {
		f(s)
	}
}
