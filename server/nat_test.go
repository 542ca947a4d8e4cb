package server_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// nat passes packets between one client and a server, as a network address translator does. The
// server sees its outer port, which rebind changes.
type nat struct {
	t      *testing.T
	inner  *net.UDPConn
	outer  atomic.Pointer[net.UDPConn]
	server *net.UDPAddr
	client atomic.Pointer[net.UDPAddr]
	most   atomic.Int64 // largest packet in bytes; larger ones are dropped
	sent   atomic.Int64 // largest packet to the server until now, in bytes
	got    atomic.Int64 // the same to the client
}

func newNAT(t *testing.T, server *net.UDPAddr) *nat {
	n := &nat{t: t, server: server}
	n.most.Store(1500)
	n.inner = must.Get(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	n.rebind()
	go func() {
		for buf := make([]byte, 2<<10); ; {
			size, from, err := n.inner.ReadFromUDP(buf)
			if err != nil {
				return
			}
			n.client.Store(from)
			if size > int(n.most.Load()) {
				continue
			}
			n.sent.Store(max(n.sent.Load(), int64(size)))
			_, _ = n.outer.Load().WriteToUDP(buf[:size], n.server)
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, n.inner.Close())
		require.NoError(t, n.outer.Load().Close())
	})
	return n
}

// rebind gives the client another outer port, and drops packets that still arrive at the old
// port.
func (n *nat) rebind() {
	c := must.Get(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	before := n.outer.Swap(c)
	if before != nil {
		require.NoError(n.t, before.Close())
	}
	go func() {
		for buf := make([]byte, 2<<10); ; {
			size, err := c.Read(buf)
			if err != nil {
				return
			}
			if size > int(n.most.Load()) {
				continue
			}
			n.got.Store(max(n.got.Load(), int64(size)))
			_, _ = n.inner.WriteToUDP(buf[:size], n.client.Load())
		}
	}()
}

// A client whose NAT gives it another port continues over the same connection: the server
// validates the new path. Datagrams on the new path begin again at QUIC's least size.
func TestNATRebinds(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	n := newNAT(t, h.server.Addr())
	var states []client.State
	config := h.config()
	config.Addr = n.inner.LocalAddr().String()
	config.State = func(s client.StateChange) { states = append(states, s.State) }
	c := must.Get(client.Dial(h.ctx, config))
	defer func() { require.NoError(t, c.Close()) }()
	for range 5 { // a client has four connection IDs
		n.rebind()
		tick := c.Replica().Tick()
		h.until(c, "snapshots arrive over the new path", func() bool { return c.Replica().Tick() > tick+30 })
		f := must.Get(c.DoRaw("poke", 0, nil))
		h.until(c, "a command is answered", func() bool {
			_, answered := f.Poll()
			return answered
		})
	}
	require.Equal(t, []client.State{client.Joined}, states)
	require.EqualValues(t, 1, h.server.Report().Sessions.Joined)
	require.Zero(t, h.server.Report().Sessions.Resumed)
}

// A path whose packet size shrinks holds up full packets for ever, because path MTU discovery
// does not notice. The client reconnects, begins with small packets, and resumes its session,
// whichever direction has much to send.
func TestPathShrinks(t *testing.T) {
	t.Parallel()
	shorttest.Skip(t, "waits for both sides' patience")
	long := append([]byte{0xc5, 1000 >> 8, 1000 & 0xff}, make([]byte, 1000)...) // msgpack
	for name, c := range map[string]struct {
		crowd int // that enters then
		args  []byte
	}{"to the client": {300, nil}, "to the client, one packet": {30, nil}, "to the server": {0, long}} {
		h := newTestServerWith(t, func(sc *server.Config) {
			sc.Hooks.Commands = []server.Command{server.OnRawCommand("poke", func(*server.Session, world.Entity, []byte) error {
				for i := range c.crowd {
					_, err := sc.World.Spawn(0, world.Vec3{X: float32(i%20) - 10, Y: 0.5, Z: float32(i/20) - 7}, world.Vec3{})
					if err != nil {
						return err
					}
				}
				return nil
			})}
		})
		n := newNAT(t, h.server.Addr())
		var resumed []bool
		config := h.config()
		config.Addr, config.GiveUp = n.inner.LocalAddr().String(), 0
		config.State = func(s client.StateChange) {
			if s.State == client.Joined {
				resumed = append(resumed, s.Resumed)
			}
		}
		player := must.Get(client.Dial(h.ctx, config))
		h.until(player, "both sides send more than 1,240 bytes: each tries a size after the one before was acknowledged", func() bool {
			return min(n.sent.Load(), n.got.Load()) > 1380
		})
		n.most.Store(1240)
		for range 5 {
			must.Get(player.DoRaw("poke", 0, c.args))
		}
		h.until(player, "it resumes", func() bool { return len(resumed) == 2 && player.Replica().Len() > c.crowd })
		f := must.Get(player.DoRaw("poke", 0, c.args))
		h.until(player, "it plays on", func() bool {
			_, answered := f.Poll()
			return answered
		})
		require.Equal(t, []bool{false, true}, resumed, name)
		require.NoError(t, player.Close())
	}
}
