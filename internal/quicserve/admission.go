package quicserve

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/server/session"
)

// admission decides which connection attempts get a handshake and which connections
// are accepted. Unproven claims of an attempt, above all its address, consume only the
// shares of unproven attempts.
type admission struct {
	count *traffic
	paced *rate.Limiter // handshakes, before their signature

	mu             sync.Mutex
	maxConnections int
	maxPerAddress  int
	maxLoopback    int // connections from loopback
	connections    int // past their handshake
	handshaking    int // attempts before the end of their handshake
	unproven       *rate.Limiter
	proven         *rate.Limiter
	addresses      map[netip.Prefix]*addressState
}

// addressState is the account of one proven address.
type addressState struct {
	connections int
	handshakes  *rate.Limiter
}

// Reasons to refuse an attempt. They reach quic-go's own log only.
var (
	errTooManyHandshakes = errors.New("server: too many handshakes under way")
	errTooFastHandshakes = errors.New("server: too many handshakes a second")
	errAddressFull       = errors.New("server: too many connections from one address")
)

func newAdmission(l Limits, t *traffic) *admission {
	a := &admission{
		count: t, addresses: map[netip.Prefix]*addressState{},
		unproven: rate.NewLimiter(initialsPerSecond, initialBurst),
		proven:   rate.NewLimiter(handshakesPerSecond, handshakeBurst),
		paced:    rate.NewLimiter(rate.Limit(handshakesPaced*runtime.GOMAXPROCS(0)), pacedBurst),
	}
	a.setLimits(l)
	return a
}

// setLimits replaces the limits, which must be valid. Existing connections stay.
func (a *admission) setLimits(l Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.maxConnections = min(cmp.Or(l.MaxSessions, session.DefaultMaxSessions), math.MaxInt-spareConnections) + spareConnections
	a.maxPerAddress, a.maxLoopback = l.MaxSessionsPerAddress, l.MaxSessionsPerAddress
	if l.MaxSessionsPerAddress == 0 {
		a.maxPerAddress, a.maxLoopback = DefaultMaxSessionsPerAddress, math.MaxInt
	}
}

// requireRetry reports whether an attempt from an unproven address must first answer a
// Retry.
func (a *admission) requireRetry(net.Addr) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.handshaking < trustedHandshakes && a.unproven.Allow() {
		return false
	}
	a.count.retries.Add(1)
	return true
}

// attemptKey is the context key of a connection's *attempt.
type attemptKey struct{}

// attempt is a connection from its first packet to its end.
type attempt struct {
	admission *admission
	address   netip.Prefix
	charged   bool // its handshake was charged to its address
	admitted  bool
	ended     bool
	trace     *trace // nil without a qlog folder
}

// beginHandshake is called with the first packet of each attempt that is trusted or has
// answered its Retry. An error refuses the attempt before it costs memory or a
// signature.
func (a *admission) beginHandshake(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	t := &attempt{admission: a, address: addressPrefix(info.RemoteAddr)}
	if err := a.allowHandshake(t, info.AddrVerified, time.Now()); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, t.release)
	return context.WithValue(ctx, attemptKey{}, t), nil
}

// allowHandshake counts t as handshaking, or returns why it is refused.
func (a *admission) allowHandshake(t *attempt, proven bool, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.addresses[t.address]
	switch {
	case a.handshaking >= maxHandshakes:
		a.count.handshakesCrowded.Add(1)
		return errTooManyHandshakes
	case s != nil && s.connections >= a.connectionLimit(t.address):
		a.count.handshakesAddress.Add(1)
		return errAddressFull
	case proven && !a.chargeHandshake(t, now), !proven && !a.hasHandshakeLeft(t.address, now), !a.proven.AllowN(now, 1):
		a.count.handshakesFast.Add(1)
		return errTooFastHandshakes
	}
	a.handshaking++
	return nil
}

// exempt reports whether p has no limits of its own: loopback, unless the operator has
// set MaxSessionsPerAddress. A proxy in front of the server has such an address.
func (a *admission) exempt(p netip.Prefix) bool {
	return p.Addr().IsLoopback() && a.maxLoopback == math.MaxInt
}

func (a *admission) connectionLimit(p netip.Prefix) int {
	if p.Addr().IsLoopback() {
		return a.maxLoopback
	}
	return a.maxPerAddress
}

// chargeHandshake charges t's handshake to its address, once. It returns false if the
// address has exhausted its rate. The address must be proven: an attempt with a forged
// address costs the victim nothing.
func (a *admission) chargeHandshake(t *attempt, now time.Time) bool {
	if !t.charged && !a.exempt(t.address) {
		t.charged = a.stateOf(t.address, now).handshakes.AllowN(now, 1)
		return t.charged
	}
	return true
}

// hasHandshakeLeft reports whether the rate of p allows another handshake, without
// charging it. An attempt trusted without a Retry is refused here, before its signature;
// admit charges it.
func (a *admission) hasHandshakeLeft(p netip.Prefix, now time.Time) bool {
	s := a.addresses[p]
	return s == nil || a.exempt(p) || s.handshakes.TokensAt(now) >= 1
}

// stateOf returns the state of p, and creates it if necessary.
func (a *admission) stateOf(p netip.Prefix, now time.Time) *addressState {
	s := a.addresses[p]
	if s == nil {
		if len(a.addresses) >= maxAddresses+a.connections {
			a.forgetAddresses(now)
		}
		s = &addressState{handshakes: rate.NewLimiter(addressHandshakesPerSecond, addressHandshakeBurst)}
		a.addresses[p] = s
	}
	return s
}

// forgetAddresses drops addresses without connections: those whose rate has recovered,
// or, if none has, all of them with their charges.
func (a *admission) forgetAddresses(now time.Time) {
	for _, all := range []bool{false, true} {
		for p, s := range a.addresses {
			if s.connections == 0 && (all || s.handshakes.TokensAt(now) >= addressHandshakeBurst) {
				delete(a.addresses, p)
				if all {
					a.count.addressesForgotten.Add(1)
				}
			}
		}
		if len(a.addresses) < maxAddresses+a.connections {
			return
		}
	}
}

// paceHandshake delays a handshake before its signature if many arrive at once. It runs
// on the goroutine of its connection.
func (a *admission) paceHandshake(ctx context.Context) error {
	turn := a.paced.Reserve()
	wait := turn.Delay()
	switch {
	case wait == 0:
		return nil
	case wait > maxHandshakeWait:
		turn.Cancel()
		return nil
	}
	a.count.handshakesPaced.Add(1)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}

// admit counts a connection that has finished its handshake. It returns false if the
// connection exceeds a limit or has already ended.
func (a *admission) admit(ctx context.Context, now time.Time) bool {
	t, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return false // beginHandshake has not seen it
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.ended {
		a.count.handshakesFailed.Add(1)
		return false
	}
	s := a.stateOf(t.address, now)
	switch {
	case a.connections >= a.maxConnections:
		a.count.handshakesRefused.Add(1)
		return false
	case s.connections >= a.connectionLimit(t.address):
		a.count.handshakesAddress.Add(1)
		return false
	case !a.chargeHandshake(t, now):
		a.count.handshakesFast.Add(1)
		return false
	}
	a.handshaking--
	a.connections++
	s.connections++
	t.admitted = true
	return true
}

// release is called at the end of the attempt or of its connection.
func (t *attempt) release() {
	a := t.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	t.ended = true
	if !t.admitted {
		a.handshaking--
		return
	}
	a.connections--
	a.addresses[t.address].connections--
}

// addressPrefix returns what counts as one address: an IPv4 address, or the /64 that
// an IPv6 host commonly has to itself.
func addressPrefix(addr net.Addr) netip.Prefix {
	udp, ok := addr.(*net.UDPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := udp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // bits is within range
	return p
}
