package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/quic-go/quic-go"
)

// socket is the UDP socket of one connection. It is the client's own, and not
// the transport library's, which closes one some time after its connection:
// after Close none may be left.
type socket struct {
	udp       net.PacketConn
	transport *quic.Transport
}

func openSocket(open func() (net.PacketConn, error)) (*socket, error) {
	if open == nil {
		open = func() (net.PacketConn, error) { return net.ListenUDP("udp", nil) }
	}
	udp, err := open()
	if err != nil {
		return nil, fmt.Errorf("client: can't open a UDP socket: %w", err)
	}
	return &socket{udp, &quic.Transport{Conn: udp}}, nil
}

func (s *socket) dial(ctx context.Context, address string, t *tls.Config) (*quic.Conn, error) {
	addr, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	if t.ServerName == "" {
		t.ServerName, _, _ = net.SplitHostPort(address) // Validate has checked it
	}
	return s.transport.Dial(ctx, addr, t, &quic.Config{
		HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: idleTimeout, KeepAlivePeriod: idleTimeout / 3,
		EnableDatagrams: true, MaxIncomingStreams: -1, MaxIncomingUniStreams: -1,
	})
}

func (s *socket) close() error { return errors.Join(s.transport.Close(), s.udp.Close()) }
