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

// connectionLimits decides which connection attempts get a handshake and which connections are
// accepted. An unproven claim of an attempt, above all its address, uses only capacity reserved
// for unproven attempts.
type connectionLimits struct {
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

// addressState counts the connections and handshakes of one proven address.
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

func newConnectionLimits(l Limits, t *traffic) *connectionLimits {
	c := &connectionLimits{
		count: t, addresses: map[netip.Prefix]*addressState{},
		unproven: rate.NewLimiter(initialsPerSecond, initialBurst),
		proven:   rate.NewLimiter(handshakesPerSecond, handshakeBurst),
		paced:    rate.NewLimiter(rate.Limit(handshakesPaced*runtime.GOMAXPROCS(0)), pacedBurst),
	}
	c.setLimits(l)
	return c
}

// setLimits replaces the limits, which must be valid. Existing connections stay.
func (c *connectionLimits) setLimits(l Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.maxConnections = min(cmp.Or(l.MaxSessions, session.DefaultMaxSessions), math.MaxInt-spareConnections) + spareConnections
	c.maxPerAddress, c.maxLoopback = l.MaxSessionsPerAddress, l.MaxSessionsPerAddress
	if l.MaxSessionsPerAddress == 0 {
		c.maxPerAddress, c.maxLoopback = DefaultMaxSessionsPerAddress, math.MaxInt
	}
}

// requireRetry reports whether an attempt from an unproven address must first answer a
// Retry.
func (c *connectionLimits) requireRetry(net.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handshaking < trustedHandshakes && c.unproven.Allow() {
		return false
	}
	c.count.retries.Add(1)
	return true
}

// attemptKey is the context key of a connection's *attempt.
type attemptKey struct{}

// attemptOf returns the attempt of a connection's context, or nil.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// attempt is a connection from its first packet to its end.
type attempt struct {
	id        uint64 // of the connection's Peer
	limits    *connectionLimits
	address   netip.Prefix
	charged   bool // its handshake was charged to its address
	connected bool
	ended     bool
	trace     *trace   // nil without a qlog folder
	page      *page    // nil without WebTransport
	tcp       *tcpConn // nil over UDP
}

// beginHandshake is called with the first packet of each attempt that is trusted or has
// answered its Retry. An error refuses the attempt before it costs memory or a
// signature.
func (c *connectionLimits) beginHandshake(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	t := &attempt{limits: c, address: AddressPrefix(info.RemoteAddr)}
	if err := c.allowHandshake(t, info.AddrVerified, time.Now()); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, t.releaseAttempt)
	return context.WithValue(ctx, attemptKey{}, t), nil
}

// allowHandshake counts t as handshaking, or returns why it is refused.
func (c *connectionLimits) allowHandshake(t *attempt, proven bool, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.addresses[t.address]
	switch {
	case c.handshaking >= maxHandshakes:
		c.count.handshakesCrowded.Add(1)
		return errTooManyHandshakes
	case s != nil && s.connections >= c.connectionLimit(t.address):
		c.count.handshakesAddress.Add(1)
		return errAddressFull
	case proven && !c.chargeHandshake(t, now), !proven && !c.hasHandshakeLeft(t.address, now), !c.proven.AllowN(now, 1):
		c.count.handshakesFast.Add(1)
		return errTooFastHandshakes
	}
	c.handshaking++
	return nil
}

// isExempt reports whether p has no limits of its own: loopback, unless the operator has
// set MaxSessionsPerAddress. A proxy in front of the server has such an address.
func (c *connectionLimits) isExempt(p netip.Prefix) bool {
	return p.Addr().IsLoopback() && c.maxLoopback == math.MaxInt
}

func (c *connectionLimits) connectionLimit(p netip.Prefix) int {
	if p.Addr().IsLoopback() {
		return c.maxLoopback
	}
	return c.maxPerAddress
}

// chargeHandshake charges t's handshake to its address, once. It returns false if the
// address has exhausted its rate. The address must be proven: an attempt with a forged
// address costs the victim nothing.
func (c *connectionLimits) chargeHandshake(t *attempt, now time.Time) bool {
	if !t.charged && !c.isExempt(t.address) {
		t.charged = c.stateOf(t.address, now).handshakes.AllowN(now, 1)
		return t.charged
	}
	return true
}

// hasHandshakeLeft reports whether the rate of p allows another handshake, without
// charging it. An attempt trusted without a Retry is refused here, before its signature;
// allowConnection charges it.
func (c *connectionLimits) hasHandshakeLeft(p netip.Prefix, now time.Time) bool {
	s := c.addresses[p]
	return s == nil || c.isExempt(p) || s.handshakes.TokensAt(now) >= 1
}

// stateOf returns the state of p, and creates it if necessary.
func (c *connectionLimits) stateOf(p netip.Prefix, now time.Time) *addressState {
	s := c.addresses[p]
	if s == nil {
		if len(c.addresses) >= maxAddresses+c.connections {
			c.forgetAddresses(now)
		}
		s = &addressState{handshakes: rate.NewLimiter(addressHandshakesPerSecond, addressHandshakeBurst)}
		c.addresses[p] = s
	}
	return s
}

// forgetAddresses drops addresses without connections whose rate has recovered. If there is
// none, it drops all addresses without connections, and their charges.
func (c *connectionLimits) forgetAddresses(now time.Time) {
	for _, all := range []bool{false, true} {
		for p, s := range c.addresses {
			if s.connections == 0 && (all || s.handshakes.TokensAt(now) >= addressHandshakeBurst) {
				delete(c.addresses, p)
				if all {
					c.count.addressesForgotten.Add(1)
				}
			}
		}
		if len(c.addresses) < maxAddresses+c.connections {
			return
		}
	}
}

// paceHandshake delays a handshake before its signature if many arrive at once. It runs
// on the goroutine of its connection.
func (c *connectionLimits) paceHandshake(ctx context.Context) error {
	turn := c.paced.Reserve()
	wait := turn.Delay()
	switch {
	case wait == 0:
		return nil
	case wait > maxHandshakeWait:
		turn.Cancel()
		return nil
	}
	c.count.handshakesPaced.Add(1)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}

// allowConnection counts a connection that has finished its handshake. It returns false if the
// connection exceeds a limit or has already ended.
func (c *connectionLimits) allowConnection(ctx context.Context, now time.Time) bool {
	t := attemptOf(ctx)
	if t == nil {
		return false // beginHandshake has not seen it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.ended {
		c.count.handshakesFailed.Add(1)
		return false
	}
	s := c.stateOf(t.address, now)
	switch {
	case c.connections >= c.maxConnections:
		c.count.handshakesRefused.Add(1)
		return false
	case s.connections >= c.connectionLimit(t.address):
		c.count.handshakesAddress.Add(1)
		return false
	case !c.chargeHandshake(t, now):
		c.count.handshakesFast.Add(1)
		return false
	}
	c.handshaking--
	c.connections++
	s.connections++
	t.connected = true
	return true
}

// releaseAttempt is called at the end of the attempt or of its connection.
func (t *attempt) releaseAttempt() {
	c := t.limits
	c.mu.Lock()
	defer c.mu.Unlock()
	t.ended = true
	if !t.connected {
		c.handshaking--
		return
	}
	c.connections--
	c.addresses[t.address].connections--
}

// AddressPrefix returns the prefix that counts as one address: an IPv4 address, or the /64 that
// an IPv6 host commonly has alone. It is the zero Prefix for other networks than UDP and TCP.
func AddressPrefix(addr net.Addr) netip.Prefix {
	a, ok := addr.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.Prefix{}
	}
	ip := a.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // bits is within range
	return p
}
