//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

// The peer quic is quic-go alone: worldd's settings, sizes and rates, with meaningless bytes.
// No server on quic-go costs less.
const (
	bareProtocol = "worldd-bench/1"
	bareUpdate   = 180 // bytes of a datagram to a client
	bareAnswer   = 40  // bytes of a datagram to the server
)

// barePad is written to the stream before each datagram, so that acknowledgements share its
// packet.
var barePad = []byte{1, 0}

// bareServer sends datagrams, and drops what it receives.
type bareServer struct {
	transport *quic.Transport
	listener  *quic.Listener
	clients   sync.WaitGroup

	mu    sync.Mutex
	wakes []chan uint32 // mailboxes for ticks, of each client's sender
}

func listenBare(l load) (*bareServer, error) {
	certificate, err := certificate()
	if err != nil {
		return nil, err
	}
	addr, err := net.ResolveUDPAddr("udp", l.listen())
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, err
	}
	disableGSO()
	s := &bareServer{transport: &quic.Transport{Conn: udp}}
	s.listener, err = s.transport.Listen(
		&tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, NextProtos: []string{bareProtocol}},
		&quic.Config{MaxIdleTimeout: 10 * time.Second, EnableDatagrams: true, InitialPacketSize: 1280, MaxIncomingUniStreams: -1},
	)
	if err != nil {
		_ = udp.Close()
	}
	return s, err
}

// disableGSO sets what package server recommends: packets of different clients cannot share a
// system call.
func disableGSO() {
	if _, set := os.LookupEnv("QUIC_GO_DISABLE_GSO"); !set {
		_ = os.Setenv("QUIC_GO_DISABLE_GSO", "true")
	}
}

// serve serves until ctx is done.
func (s *bareServer) serve(ctx context.Context, clock *tickClock) {
	s.clients.Go(func() {
		for {
			conn, err := s.listener.Accept(ctx)
			if err != nil {
				return
			}
			s.clients.Go(func() { s.serveClient(ctx, conn) })
		}
	})
	ticks := time.NewTicker(time.Second / updateHz)
	defer ticks.Stop()
	for tick := uint32(1); ctx.Err() == nil; tick++ {
		select {
		case <-ticks.C:
			clock.begin(tick)
			s.wake(tick)
		case <-ctx.Done():
		}
	}
	_ = s.listener.Close()
	_ = s.transport.Close()
	s.clients.Wait()
	_ = s.transport.Conn.Close()
}

// wake wakes all senders that have sent the previous tick's update.
func (s *bareServer) wake(tick uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wakes {
		select {
		case w <- tick:
		default:
		}
	}
}

// serveClient serves a connection until it ends.
func (s *bareServer) serveClient(ctx context.Context, conn *quic.Conn) {
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		return
	}
	wake := make(chan uint32, 1)
	s.mu.Lock()
	s.wakes = append(s.wakes, wake)
	s.mu.Unlock()
	s.clients.Go(func() { _, _ = io.Copy(io.Discard, stream) })
	s.clients.Go(func() {
		for {
			if _, err := conn.ReceiveDatagram(ctx); err != nil {
				return
			}
		}
	})
	update := make([]byte, bareUpdate)
	for {
		select {
		case tick := <-wake:
			binary.LittleEndian.PutUint32(update, tick)
		case <-conn.Context().Done():
			return
		}
		if sendBare(conn, stream, update) != nil {
			return
		}
	}
}

func sendBare(conn *quic.Conn, stream *quic.Stream, datagram []byte) error {
	if _, err := stream.Write(barePad); err != nil {
		return err
	}
	return conn.SendDatagram(datagram)
}

// playBare connects a client, and answers updates until ctx is done. It delays answers as
// package client does for a round trip of rtt (client/RATIONALE.md).
func playBare(ctx context.Context, to address, rtt time.Duration, m *meter) error {
	socket, err := net.ListenUDP("udp", nil)
	if err != nil {
		return err
	}
	defer socket.Close()
	transport := &quic.Transport{Conn: plainSocket{socket}}
	defer transport.Close()
	addr, err := net.ResolveUDPAddr("udp", to.Address)
	if err != nil {
		return err
	}
	conn, err := transport.Dial(ctx, addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{bareProtocol}},
		&quic.Config{MaxIdleTimeout: 10 * time.Second, EnableDatagrams: true, MaxIncomingStreams: -1, MaxIncomingUniStreams: -1})
	if err != nil {
		return ignoreAfter(ctx, err)
	}
	defer conn.CloseWithError(0, "")
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return ignoreAfter(ctx, err)
	}
	if _, err := stream.Write(barePad); err != nil {
		return ignoreAfter(ctx, err)
	}
	m.joined()
	go func() { _, _ = io.Copy(io.Discard, stream) }()
	delay, answer := bareDelay(rtt), make([]byte, bareAnswer)
	for all := (total{}); ; {
		update, err := conn.ReceiveDatagram(ctx)
		if err != nil {
			return ignoreAfter(ctx, err)
		}
		all.updates++
		all.payload += uint64(len(update))
		m.update(binary.LittleEndian.Uint32(update), 0, all)
		time.Sleep(delay)
		if err := sendBare(conn, stream, answer); err != nil {
			return ignoreAfter(ctx, err)
		}
	}
}

// bareDelay returns the delay of an answer that saves most acknowledgements a packet.
func bareDelay(rtt time.Duration) time.Duration {
	const ackDelay, lateness, margin = 25 * time.Millisecond, 4 * time.Millisecond, 3 * time.Millisecond
	early := time.Second/updateHz - rtt%(time.Second/updateHz) - ackDelay
	if early > ackDelay {
		return 0
	}
	return max(min(early+lateness, ackDelay-margin), 0)
}

// plainSocket hides the methods that quic-go would use for control messages, as package client
// does.
type plainSocket struct{ udp }

type udp interface {
	net.PacketConn
	syscall.Conn
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}
