package server_test

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
)

// nat passes packets between one client and a server, as a network address translator does:
// the server sees its outer port, which rebind changes.
type nat struct {
	t      *testing.T
	inner  *net.UDPConn
	outer  atomic.Pointer[net.UDPConn]
	server *net.UDPAddr
	client atomic.Pointer[net.UDPAddr]
}

func newNAT(t *testing.T, server *net.UDPAddr) *nat {
	n := &nat{t: t, server: server}
	var err error
	n.inner, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	n.rebind()
	go func() {
		for buf := make([]byte, 2<<10); ; {
			size, from, err := n.inner.ReadFromUDP(buf)
			if err != nil {
				return
			}
			n.client.Store(from)
			_, _ = n.outer.Load().WriteToUDP(buf[:size], n.server)
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, n.inner.Close())
		require.NoError(t, n.outer.Load().Close())
	})
	return n
}

// rebind gives the client another port, and drops what still arrives at the one before.
func (n *nat) rebind() {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(n.t, err)
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
			_, _ = n.inner.WriteToUDP(buf[:size], n.client.Load())
		}
	}()
}

// A client whose NAT gives it another port plays on over the same connection: the server
// validates the new path. The path's datagrams begin at QUIC's least size again.
func TestNATRebinds(t *testing.T) {
	h := newFixture(t)
	n := newNAT(t, h.server.Addr())
	var states []client.State
	config := h.config()
	config.Addr = n.inner.LocalAddr().String()
	config.State = func(s client.StateChange) { states = append(states, s.State) }
	c, err := client.Dial(h.ctx, config)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for range 5 { // a client has four connection IDs
		n.rebind()
		tick := c.Replica().Tick()
		h.until(c, "snapshots arrive over the new path", func() bool { return c.Replica().Tick() > tick+30 })
		f, err := c.Command("poke", 0, nil)
		require.NoError(t, err)
		h.until(c, "a command is answered", func() bool {
			_, answered := f.Poll()
			return answered
		})
	}
	require.Equal(t, []client.State{client.Joined}, states)
	require.EqualValues(t, 1, h.server.Report().Sessions.Joined)
	require.Zero(t, h.server.Report().Sessions.Resumed)
}
