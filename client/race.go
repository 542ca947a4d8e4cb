package client

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

const (
	// attemptDelay is how long one attempt runs before the next address is tried in parallel.
	// resolutionDelay is how long IPv4 addresses wait for IPv6 ones (RFC 8305, section 8).
	attemptDelay    = 250 * time.Millisecond
	resolutionDelay = 50 * time.Millisecond
	// maxAddresses bounds the addresses of each family that are tried.
	maxAddresses = 8
)

// race connects to the addresses of a name, one started some time after the other, until one
// answers (RFC 8305). C is a connection.
type race[C any] struct {
	resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, ip netip.Addr) (C, error)
	close   func(C) // closes a connection that lost the race

	lookups  int                // lookups without an answer yet
	waiting  [2][]netip.Addr    // not yet tried: IPv6, IPv4
	family   int                // index in waiting of the next attempt's family
	next     <-chan time.Time   // when the next attempt is due; nil: never
	attempts int                // attempts under way
	results  chan raceResult[C] // results of attempts
	unnamed  error              // error of the newest failed lookup
	errs     []error            // errors of attempts
}

type raceAnswer struct {
	family int
	ips    []netip.Addr
	err    error
}

type raceResult[C any] struct {
	conn C
	err  error
}

// connectFirst returns the first connection that answers, or why none did.
func (r *race[C]) connectFirst(ctx context.Context, host string) (conn C, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer r.closeOthers()
	defer cancel()
	r.results = make(chan raceResult[C], 2*maxAddresses)
	answers := r.lookUp(ctx, host)
	for r.lookups+r.attempts > 0 {
		select {
		case a := <-answers:
			r.addAnswer(ctx, a)
		case <-r.next:
			r.beginAttempt(ctx)
		case result := <-r.results:
			r.attempts--
			if result.err == nil {
				return result.conn, nil
			}
			r.errs = append(r.errs, result.err)
			r.beginAttempt(ctx)
		case <-ctx.Done():
			return conn, errors.Join(append(r.errs, ctx.Err())...)
		}
	}
	if len(r.errs) == 0 {
		return conn, r.unnamed
	}
	return conn, errors.Join(r.errs...)
}

// lookUp resolves host, both families at the same time.
func (r *race[C]) lookUp(ctx context.Context, host string) <-chan raceAnswer {
	answers := make(chan raceAnswer, 2)
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		r.lookups = 1
		answers <- raceAnswer{ips: []netip.Addr{ip}}
	case host == "": // this machine
		r.lookups = 2
		answers <- raceAnswer{family: 0, ips: []netip.Addr{netip.IPv6Loopback()}}
		answers <- raceAnswer{family: 1, ips: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}}
	default:
		for family, network := range []string{"ip6", "ip4"} {
			r.lookups++
			go func() {
				ips, err := r.resolve(ctx, network, host)
				answers <- raceAnswer{family, ips, err}
			}()
		}
	}
	return answers
}

// addAnswer adds the addresses of a lookup, and makes the attempt that waited for them.
func (r *race[C]) addAnswer(ctx context.Context, a raceAnswer) {
	r.lookups--
	if a.err != nil {
		r.unnamed = a.err
	}
	for _, ip := range a.ips[:min(len(a.ips), maxAddresses)] {
		r.waiting[a.family] = append(r.waiting[a.family], ip.Unmap())
	}
	switch first := r.attempts == 0; {
	case first && a.family == 1 && len(a.ips) > 0 && r.lookups > 0:
		r.next = time.After(resolutionDelay)
	case first, r.next == nil:
		r.beginAttempt(ctx)
	}
}

// beginAttempt begins to dial the next address, if there is one. IPv6 and IPv4 take turns.
func (r *race[C]) beginAttempt(ctx context.Context) {
	if len(r.waiting[r.family]) == 0 {
		r.family = 1 - r.family
	}
	r.next = nil
	list := r.waiting[r.family]
	if len(list) == 0 {
		return
	}
	r.waiting[r.family], r.family = list[1:], 1-r.family
	r.attempts++
	r.next = time.After(attemptDelay)
	go func() {
		conn, err := r.dial(ctx, list[0])
		if err != nil {
			err = fmt.Errorf("%v: %w", list[0], err)
		}
		r.results <- raceResult[C]{conn, err}
	}()
}

// closeOthers waits for the attempts under way, whose context has ended, and closes their
// connections.
func (r *race[C]) closeOthers() {
	for ; r.attempts > 0; r.attempts-- {
		result := <-r.results
		if result.err == nil {
			r.close(result.conn)
		}
	}
}
