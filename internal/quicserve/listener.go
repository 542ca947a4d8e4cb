package quicserve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// handshakeTimeout bounds what a half-open connection can hold: 95 KiB.
	handshakeTimeout = 3 * time.Second
	// idleTimeout ends a connection from which nothing comes.
	idleTimeout = 10 * time.Second
	// The receive windows bound what a client can make the server buffer; the
	// library's defaults let each claim 15 MB.
	streamWindow     = 64 << 10
	connectionWindow = 256 << 10
	// packetSize is the least size of our packets: a datagram of
	// wire.MaxDatagram fits at once. The library's own default falls back to
	// packets in which it does not.
	packetSize = 1280
	// acceptors are how many goroutines wait for connections whose handshake is done.
	// The library keeps 32 of them for who is late, and refuses the next: one goroutine
	// is late whenever the processor is taken from it in the middle of a storm of
	// joins. These take 1 MB.
	acceptors = 256
)

// Config is what a Listener is made of.
type Config struct {
	// Listen is the UDP address, as "host:port".
	Listen string
	// Core takes in the connections. It is ticked by another goroutine.
	Core *session.Core
	// Certificate is of new handshakes. nil: the Listener makes its own, good for 13 days.
	Certificate *tls.Certificate
	// StatelessResetKey may be nil: none.
	StatelessResetKey *[32]byte
	Limits            Limits
	// QlogDir is the folder of recordings; empty: none can be made.
	QlogDir   string
	Observers Observers
	Log       *zap.Logger
}

// Observers receive what senders measure. They are called by many goroutines.
type Observers struct {
	SnapshotAge func(seconds float64) // from making a snapshot to handing it to the transport
	Unsent      func(bytes float64)   // of the stream, that waited when a sender took them
}

// Listener serves the connections of one UDP port.
type Listener struct {
	config      Config
	udp         *net.UDPConn
	transport   *quic.Transport
	listener    *quic.Listener
	certificate atomic.Pointer[tls.Certificate] // of new handshakes

	door          *door
	connections   sync.WaitGroup // their goroutines
	refusing      sync.WaitGroup
	stopAccepting context.CancelFunc // nil before Start
	traffic       traffic
	carried       carried
	qlogs         qlogs
}

// Listen takes the address, and serves nobody before Start.
func Listen(c Config) (*Listener, error) {
	if c.Certificate == nil {
		own, err := selfMade(time.Now(), certificateLife)
		if err != nil {
			return nil, err
		}
		c.Certificate = &own
	}
	l := &Listener{config: c, qlogs: qlogs{folder: c.QlogDir}, carried: carried{live: map[*Conn]struct{}{}}}
	l.certificate.Store(c.Certificate)
	l.door = newDoor(c.Limits, &l.traffic)
	addr, err := net.ResolveUDPAddr("udp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("server: listen address %q: %w", c.Listen, err)
	}
	if l.udp, err = net.ListenUDP("udp", addr); err != nil {
		return nil, fmt.Errorf("server: can't listen on %s: %w", c.Listen, err)
	}
	l.transport = &quic.Transport{
		Conn: l.udp, VerifySourceAddress: l.door.distrusts, ConnContext: l.door.knock,
		StatelessResetKey: (*quic.StatelessResetKey)(c.StatelessResetKey),
	}
	l.listener, err = l.transport.Listen(&tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{wire.ALPN},
		GetCertificate:     func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return l.certificate.Load(), nil },
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return nil, l.door.pace(hello.Context()) },
	}, l.quicConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server: can't serve QUIC on %s: %w", c.Listen, err), l.udp.Close())
	}
	return l, nil
}

func (l *Listener) quicConfig() *quic.Config {
	return &quic.Config{
		Tracer:               l.qlogs.tracer(),
		HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: idleTimeout,
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
		MaxIncomingStreams: 1, MaxIncomingUniStreams: -1, EnableDatagrams: true,
		InitialPacketSize: packetSize,
	}
}

// Addr is the UDP address that clients connect to.
func (l *Listener) Addr() *net.UDPAddr { return l.udp.LocalAddr().(*net.UDPAddr) }

// Fingerprint returns the SHA-256 of the present certificate in hex.
func (l *Listener) Fingerprint() string { return fingerprint(*l.certificate.Load()) }

// SetCertificate replaces the certificate from the next handshake on.
func (l *Listener) SetCertificate(c *tls.Certificate) error {
	if err := ValidateCertificate(c); err != nil {
		return err
	}
	l.certificate.Store(c)
	return nil
}

// SetLimits replaces valid limits. Connections that exist stay.
func (l *Listener) SetLimits(limits Limits) { l.door.set(limits) }

// Start accepts connections, until Refuse or Close.
func (l *Listener) Start() {
	accepting, stop := context.WithCancel(context.Background())
	l.stopAccepting = stop
	for range acceptors {
		l.connections.Go(func() { l.accept(accepting) })
	}
}

// Refuse ends what Start began: until Close, new connections are closed with Draining.
func (l *Listener) Refuse() {
	l.stopAccepting()
	l.refusing.Go(l.turnAway)
}

// Await waits until every connection has ended by itself, or timeout is over. It comes
// after Refuse.
func (l *Listener) Await(timeout time.Duration) {
	ended := make(chan struct{})
	go func() {
		l.connections.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(timeout):
	}
}

// Close ends every connection that is left, frees the port, and waits for the
// goroutines of both.
func (l *Listener) Close() error {
	errs := []error{l.listener.Close(), l.transport.Close()}
	if err := l.udp.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		errs = append(errs, err)
	}
	l.connections.Wait()
	l.refusing.Wait()
	return errors.Join(errs...)
}
