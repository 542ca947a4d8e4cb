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

// Port is a UDP socket that several clients of one process share, such as the bots of a load
// test: one goroutine reads it, and wakes less often than one per client would.
type Port struct{ socket *socket }

// OpenPort opens a UDP socket on a free port.
func OpenPort() (*Port, error) {
	s, err := openSocket(Config{})
	if err != nil {
		return nil, err
	}
	return &Port{s}, nil
}

// Close closes the socket. The clients must be closed first.
func (p *Port) Close() error { return p.socket.close() }

// socket is the UDP socket of one client or of a Port. quic-go would close its own socket some
// time after the connection; Client.Close must leave none open.
type socket struct {
	udp       net.PacketConn
	transport *quic.Transport
}

// openSocket opens a client's own socket.
func openSocket(c Config) (*socket, error) {
	open := c.Socket
	if open == nil {
		open = listen
	}
	udp, err := open()
	if err != nil {
		return nil, fmt.Errorf("client: cannot open a UDP socket: %w", err)
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

// close closes s, which may be nil.
func (s *socket) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.transport.Close(), s.udp.Close())
}

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
