//go:build unix

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const alpn = "worldd-bench/1"

// quicConfig returns worldd's configuration without its limits on handshakes.
func quicConfig() *quic.Config {
	return &quic.Config{
		MaxIdleTimeout: 10 * time.Second, EnableDatagrams: true, InitialPacketSize: 1280,
		InitialStreamReceiveWindow: 64 << 10, MaxStreamReceiveWindow: 64 << 10,
		InitialConnectionReceiveWindow: 256 << 10, MaxConnectionReceiveWindow: 256 << 10,
		MaxIncomingStreams: 1, MaxIncomingUniStreams: -1,
	}
}

func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), DNSNames: []string{"worldd-bench"}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// bareServer sends snapshots and discards inputs.
type bareServer struct {
	load      load
	udp       *net.UDPConn
	transport *quic.Transport
	listener  *quic.Listener
	ended     sync.WaitGroup

	mu    sync.Mutex
	peers []*peer
}

// peer is the server's side of a client.
type peer struct {
	conn   *quic.Conn
	stream *quic.Stream
	due    chan struct{} // mailbox: a snapshot is due; all are alike
}

func listenBare(l load) (*bareServer, error) {
	cert, err := certificate()
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	b := &bareServer{load: l, udp: udp, transport: &quic.Transport{Conn: udp}}
	b.listener, err = b.transport.Listen(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, NextProtos: []string{alpn},
	}, quicConfig())
	if err != nil {
		_ = udp.Close()
		return nil, err
	}
	return b, nil
}

// serve accepts clients and sends snapshots until ctx is done.
func (b *bareServer) serve(ctx context.Context) {
	b.ended.Go(func() {
		for {
			conn, err := b.listener.Accept(ctx)
			if err != nil {
				return
			}
			b.ended.Go(func() { b.serveConn(ctx, conn) })
		}
	})
	b.tick(ctx)
	_ = b.listener.Close()
	_ = b.transport.Close()
	b.ended.Wait()
	_ = b.udp.Close()
}

// serveConn serves a connection until it ends.
func (b *bareServer) serveConn(ctx context.Context, conn *quic.Conn) {
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		return
	}
	p := &peer{conn, stream, make(chan struct{}, 1)}
	b.mu.Lock()
	b.peers = append(b.peers, p)
	b.mu.Unlock()
	b.ended.Go(func() { _, _ = io.Copy(io.Discard, stream) })
	b.ended.Go(func() {
		for {
			if _, err := conn.ReceiveDatagram(ctx); err != nil {
				return
			}
		}
	})
	b.send(p)
}

// send sends p's snapshots as they fall due, like worldd's quicConn.send.
func (b *bareServer) send(p *peer) {
	sizes, pad := b.load.sizes(), b.load.serverPads()
	snapshot := make([]byte, maxDatagram)
	for {
		select {
		case <-p.due:
		case <-p.conn.Context().Done():
			return
		}
		for _, n := range sizes {
			if pad {
				if _, err := p.stream.Write(snapshot[:1]); err != nil {
					return
				}
			}
			if err := p.conn.SendDatagram(snapshot[:n]); err != nil {
				return
			}
		}
	}
}

// tick fills the mailboxes: each client's in hz of ticks ticks, evenly spread.
func (b *bareServer) tick(ctx context.Context) {
	hz, ticks := b.load.hz, b.load.ticks
	clock := time.NewTicker(time.Second / time.Duration(b.load.ticks))
	defer clock.Stop()
	for n := 0; ; n++ {
		select {
		case <-clock.C:
		case <-ctx.Done():
			return
		}
		b.mu.Lock()
		peers := b.peers
		b.mu.Unlock()
		for i := range peers {
			if (n+i+1)*hz/ticks == (n+i)*hz/ticks {
				continue
			}
			select {
			case peers[i].due <- struct{}{}:
			default:
			}
		}
	}
}

// packets returns the number of UDP packets sent and received on all connections.
func (b *bareServer) packets() (n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.peers {
		s := p.conn.ConnectionStats()
		n += s.PacketsSent + s.PacketsReceived
	}
	return n
}
