package quicserve

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// newListener returns a Listener of an empty world on an address.
func newListener(address string, change ...func(*Config)) *Listener {
	w := must.Get(world.New(world.Config{}))
	core := must.Get(session.NewCore(session.Config{WorldConfig: session.WorldConfig{World: w, Schema: schema.NewWithBody(), Epoch: 1}, Random: rand.NewChaCha8([32]byte{1})}))
	ignore := func(float64) {}
	c := Config{Listen: address, Opener: core, Draining: core.Draining, Observers: Observers{SnapshotAge: ignore, Unsent: ignore}, Log: zap.NewNop()}
	for _, f := range change {
		f(&c)
	}
	return must.Get(Listen(c))
}

// Other servers are served while the first rooms are made, and clients only from Start on.
func TestPeersAreServedBeforeClients(t *testing.T) {
	served, own := make(chan struct{}), must.Get(selfSigned(time.Now(), certificateLife))
	l := newListener("127.0.0.1:0", func(c *Config) {
		c.Peers = &Peers{
			ALPN: "peers", TLS: &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"peers"}},
			Serve: func(context.Context, *quic.Conn) { close(served) },
		}
	})
	dial := func(alpn string) *quic.Conn {
		return must.Get(quic.DialAddr(t.Context(), l.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}}, &quic.Config{EnableDatagrams: true}))
	}
	l.StartPeers()
	stream := must.Get(dial(wire.ALPN).OpenStreamSync(t.Context()))
	must.Get(stream.Write([]byte{0}))
	dial("peers")
	<-served
	require.EqualValues(t, 1, l.traffic.handshakes.Load(), "the client waits")
	l.Start()
	for l.traffic.handshakes.Load() < 2 {
		runtime.Gosched()
	}
	l.Refuse()
	require.NoError(t, l.Close())
}

// 0.0.0.0 is IPv4 only; [::] and an empty host are both families.
func TestListenFamilies(t *testing.T) {
	probe, err := net.ListenPacket("udp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6")
	}
	require.NoError(t, probe.Close())
	for host, both := range map[string]bool{"0.0.0.0": false, "127.0.0.1": false, "[::]": true, "": true} {
		l := newListener(host + ":0")
		for network, free := range map[string]bool{"udp4": false, "udp6": !both} {
			ip := map[string]net.IP{"udp4": net.IPv4(127, 0, 0, 1), "udp6": net.IPv6loopback}[network]
			c, err := net.ListenUDP(network, &net.UDPAddr{IP: ip, Port: l.Addr().Port})
			require.Equal(t, free, err == nil, "%q, %s: %v", host, network, err)
			if err == nil {
				require.NoError(t, c.Close())
			}
		}
		l.Start()
		l.Refuse()
		require.NoError(t, l.Close())
	}
}
