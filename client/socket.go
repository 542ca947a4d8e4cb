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

	"github.com/worldd/worldd/replication/wire"
)

// Port is a UDP socket that several clients of one process share, such as the bots of a load
// test. One goroutine reads it, and wakes less often than one goroutine per client would.
type Port struct{ socket *socket }

// portIDBytes is the length of the connection IDs of a Port. It must be long enough for
// thousands of connections: quic-go does not check its random IDs for collisions.
const portIDBytes = 8

// OpenPort opens a UDP socket on a free port.
func OpenPort() (*Port, error) {
	udp, err := listenUDP()
	if err != nil {
		return nil, fmt.Errorf("client: cannot open a UDP socket: %w", err)
	}
	return &Port{&socket{udp, &quic.Transport{Conn: udp, ConnectionIDLength: portIDBytes}}}, nil
}

// Close closes the socket. The clients must be closed first.
func (p *Port) Close() error { return p.socket.closeSocket() }

// socket is the UDP socket of one connection or of a Port. quic-go would close its own socket
// some time after the connection; Client.Close must leave none open.
type socket struct {
	udp       net.PacketConn
	transport *quic.Transport
}

// noIDs makes the connection IDs of a single-connection socket empty. Otherwise quic-go spends
// one of a client's four IDs on each change of its address, and the connection does not survive
// the third change.
type noIDs struct{}

func (noIDs) GenerateConnectionID() (quic.ConnectionID, error) { return quic.ConnectionID{}, nil }
func (noIDs) ConnectionIDLen() int                             { return 0 }

// openSocket opens the socket of one connection.
func openSocket(c Config) (*socket, error) {
	open := c.Socket
	if open == nil {
		open = listenUDP
	}
	udp, err := open()
	if err != nil {
		return nil, fmt.Errorf("client: cannot open a UDP socket: %w", err)
	}
	return &socket{udp, &quic.Transport{Conn: udp, ConnectionIDGenerator: noIDs{}}}, nil
}

// packetSize is the initial packet size. It gives QUIC's least, 1,228 bytes over IPv4 and 1,248
// over IPv6; path MTU discovery raises it.
const packetSize = 1200

// dialled is a connection and its own socket, which is nil if it uses a Port.
type dialled struct {
	conn *quic.Conn
	own  *socket
}

// dialServer connects to the first of c.Addr's IP addresses that completes a handshake, and
// closes the other connections: they have no stream, so servers make no session for them.
func dialServer(ctx context.Context, c Config, t *tls.Config) (dialled, error) {
	host, service, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return dialled{}, err
	}
	port, err := net.LookupPort("udp", service)
	if err != nil {
		return dialled{}, err
	}
	t = t.Clone()
	if t.ServerName == "" { // another address may have another name
		t.ServerName = host
	}
	r := race[netip.Addr, dialled]{
		delay: attemptDelay,
		dial: func(ctx context.Context, ip netip.Addr) (dialled, error) {
			d, err := dialAddress(ctx, c, t, netip.AddrPortFrom(ip, uint16(port)))
			if err != nil {
				err = fmt.Errorf("%v: %w", ip, err)
			}
			return d, err
		},
		close: func(d dialled) {
			_ = d.conn.CloseWithError(quic.ApplicationErrorCode(wire.OK), "")
			_ = d.own.closeSocket()
		},
	}
	answers, lookups := lookUp(ctx, net.DefaultResolver.LookupNetIP, host)
	return r.connectFirst(ctx, answers, lookups)
}

// dialAddress connects to one address.
func dialAddress(ctx context.Context, c Config, t *tls.Config, to netip.AddrPort) (d dialled, err error) {
	if c.Port == nil {
		d.own, err = openSocket(c)
		if err != nil {
			return d, err
		}
	}
	socket := d.own
	if socket == nil {
		socket = c.Port.socket
	}
	d.conn, err = socket.transport.Dial(ctx, net.UDPAddrFromAddrPort(to), t, &quic.Config{
		HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: idleTimeout, KeepAlivePeriod: idleTimeout / 3,
		EnableDatagrams: true, MaxIncomingStreams: -1, MaxIncomingUniStreams: -1,
		InitialPacketSize: packetSize,
	})
	if err != nil {
		return d, errors.Join(err, d.own.closeSocket())
	}
	return d, nil
}

// closeSocket closes s, which may be nil.
func (s *socket) closeSocket() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.transport.Close(), s.udp.Close())
}

// plainUDP is a UDP socket without the control messages that quic-go would read and write with
// each packet of a *net.UDPConn: RATIONALE.md.
type plainUDP struct {
	udp
	from   netip.AddrPort // sender of the newest packet
	sender *net.UDPAddr   // from, as quic-go takes it
}

// udp embeds a UDP connection but hides the methods that make it a quic.OOBCapablePacketConn.
type udp interface {
	net.PacketConn
	syscall.Conn
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
}

// listenUDP opens a UDP socket on a free port.
func listenUDP() (net.PacketConn, error) {
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return &plainUDP{udp: c}, nil
}

// ReadFrom implements net.PacketConn without an allocation per packet.
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
