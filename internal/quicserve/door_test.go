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
)

// hall is a door and those who come to it.
type hall struct {
	t     *testing.T
	door  *door
	count traffic
}

func newHall(t *testing.T, l Limits) *hall {
	h := &hall{t: t}
	h.door = newDoor(l, &h.count)
	return h
}

func udp(ip string) net.Addr { return &net.UDPAddr{IP: net.ParseIP(ip), Port: 1} }

// visitor is one connection.
type visitor struct {
	ctx   context.Context
	leave func()
}

func (h *hall) knock(ip string, proven bool) (*visitor, error) {
	below, cancel := context.WithCancel(context.Background())
	h.t.Cleanup(cancel)
	ctx, err := h.door.knock(below, &quic.ClientInfo{RemoteAddr: udp(ip), AddrVerified: proven})
	return &visitor{ctx, cancel}, err
}

// settle waits until that many handshakes and connections are left.
func (h *hall) settle(shaking, inside int) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		h.door.mu.Lock()
		defer h.door.mu.Unlock()
		return h.door.shaking == shaking && h.door.inside == inside
	}, time.Minute, time.Millisecond)
}

func TestDoorCountsAddresses(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		ips    [2]string // two that count as one
		other  string
		most   int
	}{
		{"IPv4", Limits{}, [2]string{"192.0.2.1", "192.0.2.1"}, "192.0.2.2", DefaultMaxSessionsPerAddress},
		{"IPv4 in IPv6", Limits{}, [2]string{"192.0.2.1", "::ffff:192.0.2.1"}, "::ffff:192.0.2.2", DefaultMaxSessionsPerAddress},
		{"IPv6 by its /64", Limits{MaxSessionsPerAddress: 3}, [2]string{"2001:db8::1", "2001:db8::ff:2"}, "2001:db8:0:1::1", 3},
		{"this machine, if it was asked for", Limits{MaxSessionsPerAddress: 3}, [2]string{"127.0.0.1", "127.0.0.1"}, "192.0.2.2", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHall(t, c.limits)
			var inside []*visitor
			for i := range c.most {
				v, err := h.knock(c.ips[i%2], i%3 == 0)
				require.NoError(t, err)
				require.True(t, h.door.enter(v.ctx, time.Now()))
				inside = append(inside, v)
			}
			_, err := h.knock(c.ips[1], true)
			require.ErrorIs(t, err, errAddressFull)
			other, err := h.knock(c.other, true)
			require.NoError(t, err)
			require.True(t, h.door.enter(other.ctx, time.Now()))
			inside[0].leave()
			h.settle(0, c.most)
			again, err := h.knock(c.ips[0], true)
			require.NoError(t, err)
			require.True(t, h.door.enter(again.ctx, time.Now()))
			require.EqualValues(t, 1, h.count.handshakesAddress.Load())
		})
	}
}

// Addresses that were not proved count for nobody: who forges a victim's takes
// none of its places, until the handshake is done.
func TestDoorBelievesNoAddress(t *testing.T) {
	h := newHall(t, Limits{MaxSessionsPerAddress: 1})
	for range 50 {
		_, err := h.knock("192.0.2.1", false)
		require.NoError(t, err)
	}
	victim, err := h.knock("192.0.2.1", true)
	require.NoError(t, err)
	require.True(t, h.door.enter(victim.ctx, time.Now()))
	second, err := h.knock("192.0.2.2", false)
	require.NoError(t, err)
	third, err := h.knock("192.0.2.2", false)
	require.NoError(t, err)
	require.True(t, h.door.enter(second.ctx, time.Now()))
	require.False(t, h.door.enter(third.ctx, time.Now()), "both were let in to shake hands")
}

func TestDoorThisMachine(t *testing.T) {
	h := newHall(t, Limits{})
	for _, ip := range []string{"127.0.0.1", "::1"} {
		for range 2 * DefaultMaxSessionsPerAddress {
			v, err := h.knock(ip, true)
			require.NoError(t, err)
			require.True(t, h.door.enter(v.ctx, time.Now()))
		}
	}
}

func TestDoorPlaces(t *testing.T) {
	h := newHall(t, Limits{MaxSessions: 2})
	for range 2 + spareConnections {
		v, err := h.knock("127.0.0.1", true)
		require.NoError(t, err)
		require.True(t, h.door.enter(v.ctx, time.Now()))
	}
	v, err := h.knock("127.0.0.1", true)
	require.NoError(t, err)
	require.False(t, h.door.enter(v.ctx, time.Now()))
	require.EqualValues(t, 1, h.count.handshakesRefused.Load())
	v.leave()
	h.settle(0, 2+spareConnections)
	require.False(t, h.door.enter(context.Background(), time.Now()), "it did not come through the door")
}

// Attempts under way are bounded, and from some number on nobody is taken at his
// word; what ends makes room.
func TestDoorHandshakesUnderWay(t *testing.T) {
	h := newHall(t, Limits{})
	require.False(t, h.door.distrusts(udp("192.0.2.1")))
	var under []*visitor
	for i := range maxHandshakes {
		if i == trustedHandshakes {
			require.True(t, h.door.distrusts(udp("192.0.2.1")))
		}
		v, err := h.knock("127.0.0.1", true)
		require.NoError(t, err)
		under = append(under, v)
	}
	_, err := h.knock("127.0.0.1", true)
	require.ErrorIs(t, err, errTooManyHandshakes)
	for _, v := range under {
		v.leave()
	}
	h.settle(0, 0)
	require.False(t, h.door.distrusts(udp("192.0.2.1")))
	_, err = h.knock("127.0.0.1", true)
	require.NoError(t, err)
	require.EqualValues(t, 1, h.count.handshakesCrowded.Load())
}

// Rates, in a time of the test's own: all handshakes together, and those of one
// proven address.
func TestDoorRates(t *testing.T) {
	h := newHall(t, Limits{})
	now := time.Unix(1000, 0)
	admit := func(ip string) error {
		g := &guest{door: h.door, address: neighbourhood(udp(ip))}
		err := h.door.admit(g, true, now)
		if err == nil {
			g.leave()
		}
		return err
	}
	for range addressHandshakeBurst {
		require.NoError(t, admit("192.0.2.1"))
	}
	require.ErrorIs(t, admit("192.0.2.1"), errTooFastHandshakes)
	require.NoError(t, admit("192.0.2.2"), "another address")
	for range handshakeBurst - addressHandshakeBurst - 1 {
		require.NoError(t, admit("127.0.0.1"))
	}
	require.ErrorIs(t, admit("127.0.0.1"), errTooFastHandshakes)
	now = now.Add(time.Second)
	for range addressHandshakesPerSecond {
		require.NoError(t, admit("192.0.2.1"))
	}
	require.ErrorIs(t, admit("192.0.2.1"), errTooFastHandshakes)
	unproven := 0
	for !h.door.distrusts(udp("192.0.2.9")) {
		unproven++
	}
	require.GreaterOrEqual(t, unproven, initialBurst)
	require.EqualValues(t, 3, h.count.handshakesFast.Load())
	require.EqualValues(t, 1, h.count.retries.Load())
}

// An attempt that is trusted without a Retry costs its address a handshake as soon as it
// has proved it. Attempts with a forged address cost the victim none.
func TestDoorChargesTrustedHandshakes(t *testing.T) {
	h := newHall(t, Limits{MaxSessionsPerAddress: 1 << 20})
	now := time.Unix(1000, 0)
	attempt := func(ip string, proven bool) error {
		g := &guest{door: h.door, address: neighbourhood(udp(ip))}
		if err := h.door.admit(g, proven, now); err != nil {
			return err
		}
		defer g.leave()
		if !h.door.enter(context.WithValue(t.Context(), guestKey{}, g), now) {
			return errAddressFull
		}
		return nil
	}
	for _, ip := range []string{"192.0.2.1", "127.0.0.2"} {
		for range addressHandshakeBurst {
			require.NoError(t, attempt(ip, false))
		}
		require.ErrorIs(t, attempt(ip, false), errTooFastHandshakes)
		require.ErrorIs(t, attempt(ip, true), errTooFastHandshakes, "a Retry changes nothing")
	}
	now = now.Add(time.Second)
	for i := range addressHandshakesPerSecond {
		require.NoError(t, attempt("192.0.2.1", i%2 == 0), "each is charged once")
	}
	require.ErrorIs(t, attempt("192.0.2.1", false), errTooFastHandshakes)

	for range 3 * addressHandshakeBurst {
		g := &guest{door: h.door, address: neighbourhood(udp("192.0.2.2"))}
		require.NoError(t, h.door.admit(g, false, now))
		g.leave()
	}
	require.NoError(t, attempt("192.0.2.2", true), "nobody there has finished a handshake")
}

// Of handshakes that begin together on trust, each finished one is charged.
func TestDoorChargesHandshakesUnderWay(t *testing.T) {
	h := newHall(t, Limits{MaxSessionsPerAddress: 1 << 20})
	now, entered := time.Unix(1000, 0), 0
	var under []context.Context
	for range 2 * addressHandshakeBurst {
		g := &guest{door: h.door, address: neighbourhood(udp("192.0.2.1"))}
		require.NoError(t, h.door.admit(g, false, now))
		under = append(under, context.WithValue(t.Context(), guestKey{}, g))
	}
	for _, ctx := range under {
		if h.door.enter(ctx, now) {
			entered++
		}
	}
	require.Equal(t, addressHandshakeBurst, entered)
	require.EqualValues(t, addressHandshakeBurst, h.count.handshakesFast.Load())
}

// Of handshakes that come at once some go on, and the others follow in turn. Nobody waits
// for longer than a client does, nor for one that has left.
func TestDoorPaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, Limits{})
		perSecond := handshakesPaced * runtime.GOMAXPROCS(0)
		inTurn := pacedBurst + int(maxHandshakeWait.Seconds())*perSecond
		began := time.Now()
		var passed atomic.Int64
		for range inTurn + 100 {
			go func() {
				if h.door.pace(t.Context()) == nil {
					passed.Add(1)
				}
			}()
		}
		synctest.Wait()
		require.InDelta(t, pacedBurst+100, passed.Load(), 1, "at once")
		gone, leave := context.WithCancel(t.Context())
		leave()
		time.Sleep(time.Second)
		require.ErrorIs(t, h.door.pace(gone), context.Canceled)
		synctest.Wait()
		require.InDelta(t, pacedBurst+100+perSecond, passed.Load(), 1, "in a second")
		for passed.Load() < int64(inTurn+100) {
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(began), maxHandshakeWait+time.Millisecond)
		require.InDelta(t, inTurn-pacedBurst+1, h.door.count.load().HandshakesPaced, 1)
	})
}

// A flood of addresses is not remembered without end.
func TestDoorForgetsAddresses(t *testing.T) {
	h := newHall(t, Limits{})
	now := time.Unix(1000, 0)
	stays, err := h.knock("198.51.100.1", false)
	require.NoError(t, err)
	require.True(t, h.door.enter(stays.ctx, now))
	for i := range 3 * maxAddresses {
		ip := net.IPv4(10, byte(i>>16), byte(i>>8), byte(i))
		require.True(t, h.door.charge(&guest{address: neighbourhood(&net.UDPAddr{IP: ip})}, now))
		now = now.Add(time.Microsecond)
	}
	require.LessOrEqual(t, len(h.door.addresses), maxAddresses+1)
	require.EqualValues(t, 3*maxAddresses+1-len(h.door.addresses), h.door.count.load().AddressesForgotten)
	require.Equal(t, 1, h.door.addresses[neighbourhood(udp("198.51.100.1"))].inside)
}

// A client may end its connection in the very packet that completes the handshake.
// It is gone before it was let in then, and takes no place.
func TestDoorGoneBeforeItCameIn(t *testing.T) {
	h := newHall(t, Limits{MaxSessionsPerAddress: 1})
	for range 3 {
		v, err := h.knock("192.0.2.1", true)
		require.NoError(t, err)
		v.leave()
		h.settle(0, 0)
		require.False(t, h.door.enter(v.ctx, time.Now()))
		h.settle(0, 0)
	}
}
