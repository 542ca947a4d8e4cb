package client

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// backoffFirst and backoffMost bound the time before an attempt to connect
	// again: the first comes at once, as far as a crowd may, each further one
	// after twice the time.
	backoffFirst = 250 * time.Millisecond
	backoffMost  = 5 * time.Second
	// stableAfter is how long a connection must have lasted for the next loss to
	// be taken for a first one.
	stableAfter = 10 * time.Second
	// defaultGiveUp is for how long it is tried.
	defaultGiveUp = time.Minute
)

// backoff is the time before attempt n, counted from 0. die is random from
// [0, 1): clients that were lost together must not come again together.
func backoff(n int, die float64) time.Duration {
	if n == 0 {
		return time.Duration(die * float64(backoffFirst))
	}
	most := min(backoffFirst<<min(n, 10), backoffMost)
	return time.Duration((1 + die) / 2 * float64(most))
}

// attempt connects again, beside the goroutine of Update.
type attempt struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the rest is there
	token  []byte        // to be shown; nil: the one before
	link   *connection
	err    error
}

// outage is what a Client remembers of a lost connection.
type outage struct {
	attempt  *attempt // under way
	attempts int      // begun since the last stable connection
	began    time.Duration
	last     error
	epoch    uint64        // of the world before; 0: none
	joinedAt time.Duration // when the newest connection was taken in
	dice     *rand.Rand
}

// again begins the next attempt, after it has closed what is left of the
// connection before.
func (c *Client) again(delay time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	a := &attempt{cancel: cancel, done: make(chan struct{})}
	old, config, t, start := c.link, c.config, c.tls, c.start
	c.link, c.outage.attempt = nil, a
	c.past = c.past.plus(old)
	go func() {
		defer close(a.done)
		if old != nil {
			_ = old.close(wire.Timeout, nil) // not OK, which would be goodbye
		}
		select {
		case <-time.After(delay):
			a.link, a.err = a.connect(ctx, config, t, start)
		case <-ctx.Done():
			a.err = ctx.Err()
		}
	}()
}

// connect opens the connection, with a token at hand if one is needed.
func (a *attempt) connect(ctx context.Context, config Config, t *tls.Config, start time.Time) (*connection, error) {
	if config.FreshToken != nil {
		var err error
		if a.token, err = config.FreshToken(ctx); err != nil {
			return nil, fmt.Errorf("client: no connect token to come back with: %w", err)
		}
	}
	return connect(ctx, config, t, start)
}

// lost is the end of a connection. If it is worth another try, Update goes on;
// else the client has ended.
func (c *Client) lost(why error) error {
	now := time.Since(c.start)
	mayRetry := c.config.GiveUp >= 0 && c.state != Connecting && retryable(why)
	o := &c.outage
	if c.state == Joined {
		o.began, o.last = now, why
		if now-o.joinedAt >= stableAfter {
			o.attempts = 0
		}
	}
	switch {
	case !mayRetry:
		return c.end(why)
	case now-o.began > c.giveUp():
		return c.end(fmt.Errorf("client: gave up after %v: %w", c.giveUp(), why))
	}
	if c.state == Joined {
		w, _ := c.session.Welcome()
		o.epoch = w.Epoch
		if o.dice == nil {
			o.dice = rand.New(rand.NewPCG(w.Session, binary.LittleEndian.Uint64(append(w.Secret, make([]byte, 8)...))))
		}
		c.log.Info("connection lost", zap.Error(why))
		c.enter(StateChange{State: Reconnecting, Err: why})
	}
	c.session.Lost(why)
	if c.err != nil {
		return c.err // a callback has closed it
	}
	delay := backoff(o.attempts, o.dice.Float64())
	o.attempts++
	c.again(delay)
	return nil
}

// retryable says whether another connection may do better: the codes say so, and
// a transport that failed without one may always.
func retryable(why error) bool {
	var e *wire.Error
	if !errors.As(why, &e) {
		return !errors.Is(why, errCertificate)
	}
	return e.Code.Info().Retry
}

// resume takes over the connection of an attempt that is done.
func (c *Client) resume() error {
	a := c.outage.attempt
	c.outage.attempt = nil
	a.cancel()
	if a.err != nil {
		return c.lost(a.err)
	}
	c.link = a.link
	c.hearing.begin(time.Since(c.start))
	if a.token != nil {
		c.session.config.Token = a.token
	}
	c.session.Reconnect()
	return nil
}

// welcomed notes that the server has taken the client in.
func (c *Client) welcomed() {
	w, _ := c.session.Welcome()
	again := c.state == Reconnecting
	c.outage.joinedAt = time.Since(c.start)
	c.log.Info("joined", zap.String("server", c.config.Addr), zap.Uint64("session", w.Session), zap.Bool("resumed", w.Resumed == 1))
	c.enter(StateChange{State: Joined, Resumed: w.Resumed == 1, NewWorld: again && w.Epoch != c.outage.epoch})
}

func (c *Client) giveUp() time.Duration {
	if c.config.GiveUp == 0 {
		return defaultGiveUp
	}
	return c.config.GiveUp
}

// end is the client's last state. Commands without an answer get none. A callback
// that closes the client meanwhile changes nothing of why it has ended.
func (c *Client) end(why error) error {
	c.err, c.state = why, Ended
	c.session.Lost(why)
	c.enter(StateChange{State: Ended, Err: why})
	return why
}

func (c *Client) enter(s StateChange) {
	c.state = s.State
	if f := c.config.State; f != nil {
		f(s)
	}
}
