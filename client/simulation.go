package client

import (
	"context"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// Simulation replaces the network and the clock of a Client, so that a game runs unchanged in
// one process and in virtual time. Its methods are called on the Client's goroutine.
type Simulation interface {
	// Now returns the time since a fixed origin.
	Now() time.Duration
	// Connect opens a connection to the server at an address of the Config, or to which one has redirected. An error is a failed dial.
	Connect(address string) (Conn, error)
	// Wait lets some virtual time pass. Dial, Client.Wait and Future.Wait call it repeatedly
	// until their condition holds. An error ends them.
	Wait() error
}

// Conn is one connection of a Client: a reliable stream and datagrams. Only Close may block.
type Conn interface {
	// Receive returns what arrived since the last call. The caller owns the result, and passes
	// the previous one as before for reuse.
	Receive(before Arrivals) Arrivals
	// SendStream sends stream bytes. The error is the caller's: too much is queued.
	SendStream(b []byte) error
	// SendDatagram sends a datagram. It replaces a datagram that still waits to be sent.
	SendDatagram(d []byte)
	// Traffic returns what the connection carried.
	Traffic() Traffic
	// Close sends last on the stream and ends the connection with code why. It may be called
	// more than once.
	Close(why wire.Code, last []byte) error
}

// Arrivals are the bytes that arrived on a Conn.
type Arrivals struct {
	Stream    []byte
	Datagrams []Datagram
	Err       error // why nothing more will arrive; nil: more may
}

// Datagram is a datagram and its time of arrival: since Dial, or a Simulation's Now.
type Datagram struct {
	Bytes []byte
	At    time.Duration
}

// now returns the time since Dial, or of the simulation.
func (c *Client) now() time.Duration {
	if s := c.config.Simulation; s != nil {
		return s.Now()
	}
	return c.clock()
}

// dialer opens a connection to the first of some addresses that answers.
type dialer func(context.Context) (reached[Conn], error)

// newDialer returns a function that any goroutine may call. In a simulation, and while the client follows redirections, it tries the
// present address alone: elsewhere another server would redirect it again.
func (c *Client) newDialer() dialer {
	config, t, clock := c.config, c.tls, c.clock
	if s := config.Simulation; s != nil {
		return func(context.Context) (reached[Conn], error) {
			link, err := s.Connect(config.Addr)
			return reached[Conn]{link, config.Addr, 1}, err
		}
	}
	wait := fallbackDelay
	if overTCP(c.link) {
		wait = 0
	}
	open := func(ctx context.Context, address string) (Conn, error) {
		at := config
		at.Addr = address
		link, err := openConnection(ctx, at, t, clock, wait)
		if err != nil {
			return nil, err
		}
		return link, nil
	}
	addrs := c.addresses.from(config.Addr)
	switch {
	case len(addrs) == 1:
		return func(ctx context.Context) (reached[Conn], error) {
			link, err := open(ctx, config.Addr)
			return reached[Conn]{link, config.Addr, 1}, err
		}
	case c.outage.moves > 0:
		addrs = addrs[:1]
	}
	return func(ctx context.Context) (reached[Conn], error) { return openFirst(ctx, addrs, open) }
}

// simulateAttempt makes a simulated attempt to reconnect when it is due.
func (c *Client) simulateAttempt(a *attempt) {
	if c.config.Simulation != nil && c.now() >= a.due {
		a.reached, a.err = a.openLink(context.Background(), c.config, c.newDialer())
		close(a.done)
	}
}
