//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
)

const (
	// allUpdates is the share of updates that counts as all: the measurement may begin and end
	// between two updates.
	allUpdates = 0.99
	// mostStep is the step of the search, and mostLimit ends it.
	mostStep  = 50
	mostLimit = 4000
	// mostTries is the number of tries for each number of clients, since something else may
	// disturb a try.
	mostTries = 2
)

// searchMost returns the largest number of clients, in steps of mostStep, for which enough
// returns true. It doubles from first on, then bisects. It returns 0 if even mostStep clients
// are too many.
func searchMost(first int, enough func(clients int) (bool, error)) (int, error) {
	good, bad := 0, 0 // bad is 0 until one is known
	for n := max(first/mostStep, 1) * mostStep; ; {
		ok, err := enough(n)
		if err != nil {
			return good, err
		}
		if ok {
			good = n
		} else {
			bad = n
		}
		switch {
		case bad == 0 && good >= mostLimit:
			return good, nil
		case bad == 0:
			n = min(2*good, mostLimit)
		case bad-good <= mostStep:
			return good, nil
		default:
			n = (good/mostStep + (bad/mostStep-good/mostStep)/2) * mostStep
		}
	}
}

// most finds how many clients of a peer get all updates on this machine.
func (b *bench) most(ctx context.Context, p peer, l load, out io.Writer) error {
	n, err := searchMost(l.clients, func(clients int) (bool, error) {
		l.clients = clients
		for try := 1; ; try++ {
			ok, err := b.enough(ctx, p, l, out)
			if ok || err != nil || try == mostTries {
				return ok, err
			}
		}
	})
	if err == nil {
		fmt.Fprintf(out, "%-10s most clients with all %d updates: %d\n", p.name, updateHz, n)
	}
	return err
}

// enough measures whether all clients get all updates.
func (b *bench) enough(ctx context.Context, p peer, l load, out io.Writer) (bool, error) {
	m, err := b.measure(ctx, p, l)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil { // so many clients could not even join, or were lost
		fmt.Fprintf(out, "%-10s %5d clients: %v\n", p.name, l.clients, err)
		return false, nil
	}
	fmt.Fprintf(out, "%-10s %5d clients: %.2f updates/s, the slowest %.2f, p99 %.1f ms, server %.2f cores, clients %.2f\n",
		p.name, l.clients, m.updates(), m.client.Slowest, millis(m.client.Latency[1]), m.server.CPU.Seconds()/m.client.Seconds, m.client.CPU.Seconds()/m.client.Seconds)
	return m.updates() >= allUpdates*updateHz, nil
}
