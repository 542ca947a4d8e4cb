package client

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

const (
	// attemptDelay is how long one attempt runs before the next IP address of a name is tried in parallel.
	// resolutionDelay is how long IPv4 addresses wait for IPv6 ones (RFC 8305, section 8).
	attemptDelay    = 250 * time.Millisecond
	resolutionDelay = 50 * time.Millisecond
	// maxAddresses bounds the addresses of each family that are tried.
	maxAddresses = 8
)

// race connects to several addresses, one started some time after the other, until one
// answers (RFC 8305). A is an address, C a connection.
type race[A, C any] struct {
	dial  func(ctx context.Context, address A) (C, error)
	close func(C)       // closes a connection that lost the race
	delay time.Duration // how long one attempt runs before the next one begins

	lookups  int                // lookups without an answer yet
	waiting  [2][]A             // not yet tried: IPv6, IPv4
	family   int                // index in waiting of the next attempt's family
	next     <-chan time.Time   // when the next attempt is due; nil: never
	attempts int                // attempts under way
	results  chan raceResult[C] // results of attempts
	unnamed  error              // error of the newest failed lookup
	errs     []error            // errors of attempts
}

// raceAnswer are the addresses of a family.
type raceAnswer[A any] struct {
	family int
	all    []A
	err    error
}

type raceResult[C any] struct {
	conn C
	err  error
}

// connectFirst returns the first connection that answers, or why none did. It waits for so many answers of lookups.
func (r *race[A, C]) connectFirst(ctx context.Context, answers <-chan raceAnswer[A], lookups int) (conn C, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer r.endOthers()
	defer cancel()
	r.lookups, r.results = lookups, make(chan raceResult[C])
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
			r.endOthers()
			if len(r.errs) == 0 {
				return conn, ctx.Err()
			}
			return conn, errors.Join(r.errs...)
		}
	}
	if len(r.errs) == 0 {
		return conn, r.unnamed
	}
	return conn, errors.Join(r.errs...)
}

// lookUp resolves host, both families at the same time, and returns how many answers come.
func lookUp(ctx context.Context, resolve func(ctx context.Context, network, host string) ([]netip.Addr, error), host string) (_ <-chan raceAnswer[netip.Addr], lookups int) {
	answers := make(chan raceAnswer[netip.Addr], 2)
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		answers <- raceAnswer[netip.Addr]{all: []netip.Addr{ip.Unmap()}}
		return answers, 1
	case host == "": // this machine
		answers <- raceAnswer[netip.Addr]{family: 0, all: []netip.Addr{netip.IPv6Loopback()}}
		answers <- raceAnswer[netip.Addr]{family: 1, all: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}}
		return answers, 2
	}
	for family, network := range []string{"ip6", "ip4"} {
		go func() {
			ips, err := resolve(ctx, network, host)
			ips = ips[:min(len(ips), maxAddresses)]
			for i := range ips {
				ips[i] = ips[i].Unmap()
			}
			answers <- raceAnswer[netip.Addr]{family, ips, err}
		}()
	}
	return answers, 2
}

// addAnswer adds the addresses of a lookup, and makes the attempt that waited for them.
func (r *race[A, C]) addAnswer(ctx context.Context, a raceAnswer[A]) {
	r.lookups--
	if a.err != nil {
		r.unnamed = a.err
	}
	r.waiting[a.family] = append(r.waiting[a.family], a.all...)
	switch first := r.attempts == 0; {
	case first && a.family == 1 && len(a.all) > 0 && r.lookups > 0:
		r.next = time.After(resolutionDelay)
	case first, r.next == nil:
		r.beginAttempt(ctx)
	}
}

// beginAttempt begins to dial the next address, if there is one. IPv6 and IPv4 take turns.
func (r *race[A, C]) beginAttempt(ctx context.Context) {
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
	r.next = time.After(r.delay)
	go func() {
		conn, err := r.dial(ctx, list[0])
		r.results <- raceResult[C]{conn, err}
	}()
}

// endOthers waits for the attempts under way, whose context has ended, and closes their
// connections.
func (r *race[A, C]) endOthers() {
	for ; r.attempts > 0; r.attempts-- {
		result := <-r.results
		if result.err == nil {
			r.close(result.conn)
		} else {
			r.errs = append(r.errs, result.err)
		}
	}
}
