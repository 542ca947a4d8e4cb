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

// door decides which connection attempts are worth a handshake, and which
// connections may stay. What a stranger can claim without proof, its address
// above all, bounds only what strangers get.
type door struct {
	count *traffic
	paced *rate.Limiter // handshakes, ahead of what they cost

	mu         sync.Mutex
	places     int // connections at any one time
	perAddress int // connections from one address
	fromHere   int // from this machine
	inside     int // connections past their handshake
	shaking    int // handshakes under way
	unproven   *rate.Limiter
	proven     *rate.Limiter
	addresses  map[netip.Prefix]*visitors
}

// visitors are those of one address that have proved it.
type visitors struct {
	inside int
	shakes *rate.Limiter
}

// Why the door stays shut; quic-go shows them to nobody but its own log.
var (
	errTooManyHandshakes = errors.New("server: too many handshakes under way")
	errTooFastHandshakes = errors.New("server: too many handshakes a second")
	errAddressFull       = errors.New("server: too many connections from one address")
)

func newDoor(l Limits, t *traffic) *door {
	d := &door{
		count: t, addresses: map[netip.Prefix]*visitors{},
		unproven: rate.NewLimiter(initialsPerSecond, initialBurst),
		proven:   rate.NewLimiter(handshakesPerSecond, handshakeBurst),
		paced:    rate.NewLimiter(rate.Limit(handshakesPaced*runtime.GOMAXPROCS(0)), pacedBurst),
	}
	d.set(l)
	return d
}

// set takes valid limits. Who is inside stays.
func (d *door) set(l Limits) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places = min(cmp.Or(l.MaxSessions, session.DefaultMaxSessions), math.MaxInt-spareConnections) + spareConnections
	d.perAddress, d.fromHere = l.MaxSessionsPerAddress, l.MaxSessionsPerAddress
	if l.MaxSessionsPerAddress == 0 {
		d.perAddress, d.fromHere = DefaultMaxSessionsPerAddress, math.MaxInt
	}
}

// distrusts says whether an attempt from an address that has proved nothing must
// first answer a Retry.
func (d *door) distrusts(net.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shaking < trustedHandshakes && d.unproven.Allow() {
		return false
	}
	d.count.retries.Add(1)
	return true
}

// guestKey finds a connection's guest in its context.
type guestKey struct{}

// guest is a connection from its first packet to its end.
type guest struct {
	door    *door
	address netip.Prefix
	charged bool // its handshake, to its address
	inside  bool
	left    bool
	tape    *tape // nil if nothing is recorded
}

// knock is called with the first packet of each attempt that is trusted, or has
// answered its Retry. An error refuses it, which costs neither memory nor
// signatures.
func (d *door) knock(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	g := &guest{door: d, address: neighbourhood(info.RemoteAddr)}
	if err := d.admit(g, info.AddrVerified, time.Now()); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, g.leave)
	return context.WithValue(ctx, guestKey{}, g), nil
}

func (d *door) admit(g *guest, proven bool, now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.addresses[g.address]
	switch {
	case d.shaking >= maxHandshakes:
		d.count.handshakesCrowded.Add(1)
		return errTooManyHandshakes
	case v != nil && v.inside >= d.allowed(g.address):
		d.count.handshakesAddress.Add(1)
		return errAddressFull
	case proven && !d.charge(g, now), !proven && !d.recovered(g.address, now), !d.proven.AllowN(now, 1):
		d.count.handshakesFast.Add(1)
		return errTooFastHandshakes
	}
	d.shaking++
	return nil
}

// exempt reports whether an address has no limits of its own: this machine, unless the
// operator has set MaxSessionsPerAddress. A proxy in front of the server is such an address.
func (d *door) exempt(p netip.Prefix) bool { return p.Addr().IsLoopback() && d.fromHere == math.MaxInt }

// allowed is how many connections an address may have.
func (d *door) allowed(p netip.Prefix) int {
	if p.Addr().IsLoopback() {
		return d.fromHere
	}
	return d.perAddress
}

// charge charges g's handshake to its address, once. It returns false if the address
// has had its handshakes of this second. Only proven addresses are charged: an attempt
// with a forged one costs the victim nothing.
func (d *door) charge(g *guest, now time.Time) bool {
	if !g.charged && !d.exempt(g.address) {
		g.charged = d.visitors(g.address, now).shakes.AllowN(now, 1)
		return g.charged
	}
	return true
}

// recovered reports whether an address may have another handshake at once. An attempt
// that is trusted without a Retry is refused here ahead of its signature; enter charges it.
func (d *door) recovered(p netip.Prefix, now time.Time) bool {
	v := d.addresses[p]
	return v == nil || d.exempt(p) || v.shakes.TokensAt(now) >= 1
}

// visitors finds the entry of an address, or makes one. Those that say nothing any
// more go when there are many.
func (d *door) visitors(p netip.Prefix, now time.Time) *visitors {
	v := d.addresses[p]
	if v == nil {
		if len(d.addresses) >= maxAddresses+d.inside {
			d.forget(now)
		}
		v = &visitors{shakes: rate.NewLimiter(addressHandshakesPerSecond, addressHandshakeBurst)}
		d.addresses[p] = v
	}
	return v
}

// forget drops the addresses with nobody inside: first those whose rate has
// recovered, and if all are busy every one of them, which lets each begin anew.
func (d *door) forget(now time.Time) {
	for _, all := range []bool{false, true} {
		for p, v := range d.addresses {
			if v.inside == 0 && (all || v.shakes.TokensAt(now) >= addressHandshakeBurst) {
				delete(d.addresses, p)
				if all {
					d.count.addressesForgotten.Add(1)
				}
			}
		}
		if len(d.addresses) < maxAddresses+d.inside {
			return
		}
	}
}

// pace holds up a handshake ahead of what it costs, if many come at once. It is called
// on the goroutine of its connection.
func (d *door) pace(ctx context.Context) error {
	turn := d.paced.Reserve()
	wait := turn.Delay()
	switch {
	case wait == 0:
		return nil
	case wait > maxHandshakeWait:
		turn.Cancel()
		return nil
	}
	d.count.handshakesPaced.Add(1)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}

// enter moves a connection that has finished its handshake inside. false means
// that there is no place for it; it stays outside.
func (d *door) enter(ctx context.Context, now time.Time) bool {
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok {
		return false // not through this door
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.left {
		d.count.handshakesFailed.Add(1)
		return false // it ended before anybody could take it in
	}
	v := d.visitors(g.address, now)
	switch {
	case d.inside >= d.places:
		d.count.handshakesRefused.Add(1)
		return false
	case v.inside >= d.allowed(g.address):
		d.count.handshakesAddress.Add(1)
		return false
	case !d.charge(g, now):
		d.count.handshakesFast.Add(1)
		return false
	}
	d.shaking--
	d.inside++
	v.inside++
	g.inside = true
	return true
}

// leave is called when the connection, or the attempt at one, is over.
func (g *guest) leave() {
	d := g.door
	d.mu.Lock()
	defer d.mu.Unlock()
	g.left = true
	if !g.inside {
		d.shaking--
		return
	}
	d.inside--
	d.addresses[g.address].inside--
}

// neighbourhood is what counts as one address: an IPv4 address, or the /64 that
// an IPv6 host commonly has to itself.
func neighbourhood(a net.Addr) netip.Prefix {
	udp, ok := a.(*net.UDPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := udp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // of any address, there is one
	return p
}
