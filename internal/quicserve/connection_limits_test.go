package quicserve

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// harness is a connectionLimits with its own counters.
type harness struct {
	t      *testing.T
	limits *connectionLimits
	count  traffic
}

func newHarness(t *testing.T, l Limits) *harness {
	h := &harness{t: t}
	h.limits = newConnectionLimits(l, &h.count)
	return h
}

func udp(ip string) net.Addr { return &net.UDPAddr{IP: net.ParseIP(ip), Port: 1} }

// connection is one attempt and its connection.
type connection struct {
	ctx context.Context
	end func()
}

func (h *harness) begin(ip string, proven bool) (*connection, error) {
	below, cancel := context.WithCancel(context.Background())
	h.t.Cleanup(cancel)
	ctx, err := h.limits.beginHandshake(below, &quic.ClientInfo{RemoteAddr: udp(ip), AddrVerified: proven})
	return &connection{ctx, cancel}, err
}

// settle waits until handshaking attempts and connections remain.
func (h *harness) settle(handshaking, connections int) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		h.limits.mu.Lock()
		defer h.limits.mu.Unlock()
		return h.limits.handshaking == handshaking && h.limits.connections == connections
	}, time.Minute, time.Millisecond)
}

func TestConnectionLimitsCountsAddresses(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		ips    [2]string // two that share a limit
		other  string
		most   int
	}{
		{"IPv4", Limits{}, [2]string{"192.0.2.1", "192.0.2.1"}, "192.0.2.2", DefaultMaxSessionsPerAddress},
		{"IPv4 in IPv6", Limits{}, [2]string{"192.0.2.1", "::ffff:192.0.2.1"}, "::ffff:192.0.2.2", DefaultMaxSessionsPerAddress},
		{"IPv6 by its /64", Limits{MaxSessionsPerAddress: 3}, [2]string{"2001:db8::1", "2001:db8::ff:2"}, "2001:db8:0:1::1", 3},
		{"loopback with a configured limit", Limits{MaxSessionsPerAddress: 3}, [2]string{"127.0.0.1", "127.0.0.1"}, "192.0.2.2", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, c.limits)
			var connected []*connection
			for i := range c.most {
				v := must.Get(h.begin(c.ips[i%2], i%3 == 0))
				require.True(t, h.limits.allowConnection(v.ctx, time.Now()))
				connected = append(connected, v)
			}
			require.ErrorIs(t, must.Fail(h.begin(c.ips[1], true)), errAddressFull)
			other := must.Get(h.begin(c.other, true))
			require.True(t, h.limits.allowConnection(other.ctx, time.Now()))
			connected[0].end()
			h.settle(0, c.most)
			again := must.Get(h.begin(c.ips[0], true))
			require.True(t, h.limits.allowConnection(again.ctx, time.Now()))
			require.EqualValues(t, 1, h.count.handshakesAddress.Load())
		})
	}
}

// An unproven address is not charged a connection before its handshake is finished, so a forged
// address takes no capacity from its owner.
func TestConnectionLimitsIgnoresUnprovenAddresses(t *testing.T) {
	h := newHarness(t, Limits{MaxSessionsPerAddress: 1})
	for range 50 {
		must.Get(h.begin("192.0.2.1", false))
	}
	victim := must.Get(h.begin("192.0.2.1", true))
	require.True(t, h.limits.allowConnection(victim.ctx, time.Now()))
	second := must.Get(h.begin("192.0.2.2", false))
	third := must.Get(h.begin("192.0.2.2", false))
	require.True(t, h.limits.allowConnection(second.ctx, time.Now()))
	require.False(t, h.limits.allowConnection(third.ctx, time.Now()), "both began before either was connected")
}

func TestConnectionLimitsExemptsLoopback(t *testing.T) {
	h := newHarness(t, Limits{})
	for _, ip := range []string{"127.0.0.1", "::1"} {
		for range 2 * DefaultMaxSessionsPerAddress {
			v := must.Get(h.begin(ip, true))
			require.True(t, h.limits.allowConnection(v.ctx, time.Now()))
		}
	}
}

func TestConnectionLimitsBoundsConnections(t *testing.T) {
	h := newHarness(t, Limits{MaxSessions: 2})
	for range 2 + spareConnections {
		v := must.Get(h.begin("127.0.0.1", true))
		require.True(t, h.limits.allowConnection(v.ctx, time.Now()))
	}
	v := must.Get(h.begin("127.0.0.1", true))
	require.False(t, h.limits.allowConnection(v.ctx, time.Now()))
	require.EqualValues(t, 1, h.count.handshakesRefused.Load())
	v.end()
	h.settle(0, 2+spareConnections)
	require.False(t, h.limits.allowConnection(context.Background(), time.Now()), "no attempt in the context")
}

// Handshakes under way are bounded, and from trustedHandshakes on every attempt must
// answer a Retry. An ended attempt makes room.
func TestConnectionLimitsBoundsHandshakesUnderWay(t *testing.T) {
	h := newHarness(t, Limits{})
	require.False(t, h.limits.requireRetry(udp("192.0.2.1")))
	var under []*connection
	for i := range maxHandshakes {
		if i == trustedHandshakes {
			require.True(t, h.limits.requireRetry(udp("192.0.2.1")))
		}
		v := must.Get(h.begin("127.0.0.1", true))
		under = append(under, v)
	}
	require.ErrorIs(t, must.Fail(h.begin("127.0.0.1", true)), errTooManyHandshakes)
	for _, v := range under {
		v.end()
	}
	h.settle(0, 0)
	require.False(t, h.limits.requireRetry(udp("192.0.2.1")))
	must.Get(h.begin("127.0.0.1", true))
	require.EqualValues(t, 1, h.count.handshakesCrowded.Load())
}

// The rates of all handshakes and of one proven address are bounded.
func TestConnectionLimitsRates(t *testing.T) {
	h := newHarness(t, Limits{})
	now := time.Unix(1000, 0)
	handshake := func(ip string) error {
		a := &attempt{limits: h.limits, address: AddressPrefix(udp(ip))}
		err := h.limits.allowHandshake(a, true, now)
		if err == nil {
			a.releaseAttempt()
		}
		return err
	}
	for range addressHandshakeBurst {
		require.NoError(t, handshake("192.0.2.1"))
	}
	require.ErrorIs(t, handshake("192.0.2.1"), errTooFastHandshakes)
	require.NoError(t, handshake("192.0.2.2"), "another address")
	for range handshakeBurst - addressHandshakeBurst - 1 {
		require.NoError(t, handshake("127.0.0.1"))
	}
	require.ErrorIs(t, handshake("127.0.0.1"), errTooFastHandshakes)
	now = now.Add(time.Second)
	for range addressHandshakesPerSecond {
		require.NoError(t, handshake("192.0.2.1"))
	}
	require.ErrorIs(t, handshake("192.0.2.1"), errTooFastHandshakes)
	unproven := 0
	for !h.limits.requireRetry(udp("192.0.2.9")) {
		unproven++
	}
	require.GreaterOrEqual(t, unproven, initialBurst)
	require.EqualValues(t, 3, h.count.handshakesFast.Load())
	require.EqualValues(t, 1, h.count.retries.Load())
}

// A trusted attempt is charged to its address once the address is proven. Attempts with a
// forged address are not charged to the address's owner.
func TestConnectionLimitsChargesTrustedHandshakes(t *testing.T) {
	h := newHarness(t, Limits{MaxSessionsPerAddress: 1 << 20})
	now := time.Unix(1000, 0)
	connect := func(ip string, proven bool) error {
		a := &attempt{limits: h.limits, address: AddressPrefix(udp(ip))}
		if err := h.limits.allowHandshake(a, proven, now); err != nil {
			return err
		}
		defer a.releaseAttempt()
		if !h.limits.allowConnection(context.WithValue(t.Context(), attemptKey{}, a), now) {
			return errAddressFull
		}
		return nil
	}
	for _, ip := range []string{"192.0.2.1", "127.0.0.2"} {
		for range addressHandshakeBurst {
			require.NoError(t, connect(ip, false))
		}
		require.ErrorIs(t, connect(ip, false), errTooFastHandshakes)
		require.ErrorIs(t, connect(ip, true), errTooFastHandshakes, "a Retry changes nothing")
	}
	now = now.Add(time.Second)
	for i := range addressHandshakesPerSecond {
		require.NoError(t, connect("192.0.2.1", i%2 == 0), "each is charged once")
	}
	require.ErrorIs(t, connect("192.0.2.1", false), errTooFastHandshakes)

	for range 3 * addressHandshakeBurst {
		a := &attempt{limits: h.limits, address: AddressPrefix(udp("192.0.2.2"))}
		require.NoError(t, h.limits.allowHandshake(a, false, now))
		a.releaseAttempt()
	}
	require.NoError(t, connect("192.0.2.2", true), "no handshake was finished from there")
}

// Trusted handshakes that begin together are each charged when they finish.
func TestConnectionLimitsChargesHandshakesUnderWay(t *testing.T) {
	h := newHarness(t, Limits{MaxSessionsPerAddress: 1 << 20})
	now, connected := time.Unix(1000, 0), 0
	var under []context.Context
	for range 2 * addressHandshakeBurst {
		a := &attempt{limits: h.limits, address: AddressPrefix(udp("192.0.2.1"))}
		require.NoError(t, h.limits.allowHandshake(a, false, now))
		under = append(under, context.WithValue(t.Context(), attemptKey{}, a))
	}
	for _, ctx := range under {
		if h.limits.allowConnection(ctx, now) {
			connected++
		}
	}
	require.Equal(t, addressHandshakeBurst, connected)
	require.EqualValues(t, addressHandshakeBurst, h.count.handshakesFast.Load())
}

// Of simultaneous handshakes a burst proceeds, and the others follow at a steady rate. No
// handshake waits longer than maxHandshakeWait, and an ended one is cancelled.
func TestConnectionLimitsPacesHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Limits{})
		perSecond := handshakesPaced * runtime.GOMAXPROCS(0)
		inTurn := pacedBurst + int(maxHandshakeWait.Seconds())*perSecond
		began := time.Now()
		var passed atomic.Int64
		for range inTurn + 100 {
			go func() {
				if h.limits.paceHandshake(t.Context()) == nil {
					passed.Add(1)
				}
			}()
		}
		synctest.Wait()
		require.InDelta(t, pacedBurst+100, passed.Load(), 1, "at once")
		ended, end := context.WithCancel(t.Context())
		end()
		time.Sleep(time.Second)
		require.ErrorIs(t, h.limits.paceHandshake(ended), context.Canceled)
		synctest.Wait()
		require.InDelta(t, pacedBurst+100+perSecond, passed.Load(), 1, "in a second")
		for passed.Load() < int64(inTurn+100) {
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(began), maxHandshakeWait+time.Millisecond)
		require.InDelta(t, inTurn-pacedBurst+1, h.limits.count.copyCounters().HandshakesPaced, 1)
	})
}

// The memory for addresses is bounded, and addresses with connections are kept.
func TestConnectionLimitsForgetsAddresses(t *testing.T) {
	h := newHarness(t, Limits{})
	now := time.Unix(1000, 0)
	stays := must.Get(h.begin("198.51.100.1", false))
	require.True(t, h.limits.allowConnection(stays.ctx, now))
	for i := range 3 * maxAddresses {
		ip := net.IPv4(10, byte(i>>16), byte(i>>8), byte(i))
		require.True(t, h.limits.chargeHandshake(&attempt{address: AddressPrefix(&net.UDPAddr{IP: ip})}, now))
		now = now.Add(time.Microsecond)
	}
	require.LessOrEqual(t, len(h.limits.addresses), maxAddresses+1)
	require.EqualValues(t, 3*maxAddresses+1-len(h.limits.addresses), h.limits.count.copyCounters().AddressesForgotten)
	require.Equal(t, 1, h.limits.addresses[AddressPrefix(udp("198.51.100.1"))].connections)
}

// A client may end its connection in the packet that completes the handshake. Such a connection
// does not count as connected.
func TestConnectionLimitsOfEndedConnection(t *testing.T) {
	h := newHarness(t, Limits{MaxSessionsPerAddress: 1})
	for range 3 {
		v := must.Get(h.begin("192.0.2.1", true))
		v.end()
		h.settle(0, 0)
		require.False(t, h.limits.allowConnection(v.ctx, time.Now()))
		h.settle(0, 0)
	}
}
