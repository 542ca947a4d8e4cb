package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/quic-go/quic-go"
)

// socket is the UDP socket of one connection. quic-go would close a socket of its own
// some time after the connection; Close must leave none open.
type socket struct {
	udp       net.PacketConn
	transport *quic.Transport
}

func openSocket(open func() (net.PacketConn, error)) (*socket, error) {
	if open == nil {
		open = listen
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
	if t = t.Clone(); t.ServerName == "" { // another address may have another name
		t.ServerName, _, _ = net.SplitHostPort(address) // Validate has checked it
	}
	return s.transport.Dial(ctx, addr, t, &quic.Config{
		HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: idleTimeout, KeepAlivePeriod: idleTimeout / 3,
		EnableDatagrams: true, MaxIncomingStreams: -1, MaxIncomingUniStreams: -1,
	})
}

func (s *socket) close() error { return errors.Join(s.transport.Close(), s.udp.Close()) }

// plainUDP is a UDP socket without the control messages that quic-go would read and write
// with each packet of a *net.UDPConn: RATIONALE.md.
type plainUDP struct {
	udp
	from   netip.AddrPort // of the newest packet
	sender *net.UDPAddr   // the same
}

// udp hides the methods that make a quic.OOBCapablePacketConn.
type udp interface {
	net.PacketConn
	syscall.Conn
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
}

// listen opens a UDP socket on a free port.
func listen() (net.PacketConn, error) {
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return &plainUDP{udp: c}, nil
}

// ReadFrom implements net.PacketConn without an allocation a packet.
func (c *plainUDP) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUDPAddrPort(b)
	if err != nil {
		return n, nil, err
	}
	if c.sender == nil || from != c.from {
		c.from, c.sender = from, net.UDPAddrFromAddrPort(from)
	}
	return n, c.sender, nil
}
