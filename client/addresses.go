package client

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxAddrs bounds Config.Addrs.
	maxAddrs = 32
	// addressPatience bounds the attempt to connect to one of several addresses, with the look-up of its name.
	addressPatience = 4 * time.Second
	// addressDelay is how long the client waits for one of several addresses before it also tries the next one. With it a client of a dead
	// node asks another one, after lostAfter and the first backoff, before the node's lease of five seconds has ended.
	addressDelay = 500 * time.Millisecond
)

// addresses holds Config.Addr, and Config.Addrs in the order in which the client tries them.
type addresses struct {
	all []string
	at  int // of the present one, or of the last one before a redirection
}

func newAddresses(c Config) addresses {
	all := []string{c.Addr}
	for _, further := range c.Addrs {
		if !slices.Contains(all, further) {
			all = append(all, further)
		}
	}
	others, shuffle := all[1:], rand.Shuffle
	if c.Random != nil {
		shuffle = c.Random.Shuffle
	}
	if c.Random != nil || c.Simulation == nil {
		shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	}
	return addresses{all: all}
}

func (a *addresses) has(address string) bool { return slices.Contains(a.all, address) }

// after returns the address to try once the present one has failed: the next one, or the last one before a redirection.
func (a *addresses) after(present string) string {
	if a.has(present) {
		a.at = (slices.Index(a.all, present) + 1) % len(a.all)
	}
	return a.all[a.at]
}

// from returns all addresses in the order in which one attempt tries them, the present one first.
func (a *addresses) from(present string) []string {
	at := slices.Index(a.all, present)
	if at >= 0 {
		return slices.Concat(a.all[at:], a.all[:at])
	}
	return slices.Concat([]string{present}, a.all[a.at:], a.all[:a.at])
}

// reached is the connection to the first of several addresses that has answered.
type reached[C Conn] struct {
	link    C
	address string
	tried   int // addresses, up to this one, or all
}

// openFirst connects to addrs, one begun addressDelay after the other, until one answers. The other connections are closed: they have sent
// nothing, so that no session begins on them.
func openFirst[C Conn](ctx context.Context, addrs []string, open func(ctx context.Context, address string) (C, error)) (reached[C], error) {
	r := race[string, reached[C]]{
		delay: addressDelay,
		dial: func(ctx context.Context, address string) (reached[C], error) {
			ctx, cancel := context.WithTimeout(ctx, addressPatience)
			defer cancel()
			link, err := open(ctx, address)
			return reached[C]{link: link, address: address}, err
		},
		close: func(r reached[C]) { _ = r.link.Close(wire.OK, nil) },
	}
	answers := make(chan raceAnswer[string], 1)
	answers <- raceAnswer[string]{all: addrs}
	first, err := r.connectFirst(ctx, answers, 1)
	first.tried = len(addrs) - len(r.waiting[0])
	if err == nil {
		first.tried = slices.Index(addrs, first.address) + 1
	}
	return first, err
}
