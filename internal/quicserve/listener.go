package quicserve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// handshakeTimeout bounds how long a half-open connection holds its 95 KiB.
	handshakeTimeout = 3 * time.Second
	// idleTimeout ends a connection that receives no packets.
	idleTimeout = 10 * time.Second
	// The receive windows bound what the server buffers for a client; the library's
	// defaults allow 15 MB each.
	streamWindow     = 64 << 10
	connectionWindow = 256 << 10
	// packetSize is the initial packet size, QUIC's least: 1,228 bytes over IPv4 and 1,248 over
	// IPv6. Path MTU discovery raises it.
	packetSize = 1200
	// connectionIDBytes is the length of connection IDs. The library draws them at random and
	// does not check for IDs in use. With its default of 4 bytes, one of 5,000 connections
	// would lose its packets to another every two hours.
	connectionIDBytes = 8
	// acceptors is the number of goroutines that accept connections, 1 MB in total.
	// The library queues 32 connections and refuses the next. A single goroutine falls
	// behind whenever it is preempted while many clients join.
	acceptors = 256
)

// Config configures a Listener.
type Config struct {
	// Listen is the UDP address, as "host:port".
	Listen string
	// Socket is a UDP socket that another process has bound: Listener uses a duplicate of it in place of Listen.
	// nil: none.
	Socket *os.File
	// Opener makes the Peers of connections.
	Opener Opener
	// Draining reports that no further tick may close new connections.
	Draining func() bool
	// Certificate is for new handshakes. If nil, the Listener makes one, valid for 13 days.
	Certificate *tls.Certificate
	// StatelessResetKey enables stateless resets if not nil.
	StatelessResetKey *[32]byte
	Limits            Limits
	// Web enables WebTransport and WebSocket if not nil.
	Web *WebConfig
	// Peers serves connections of other servers if not nil.
	Peers *Peers
	// QlogDir is the folder for recordings. If empty, recording is off.
	QlogDir   string
	Observers Observers
	Log       *zap.Logger
	Audit     *zap.Logger // for refused tokens: not sampled
}

// Peers serves the connections of other servers on the port. They are bounded as connections from clients are. It has the fields of
// server.PeerPort, which documents them.
type Peers struct {
	ALPN  string
	TLS   *tls.Config
	Serve func(ctx context.Context, conn *quic.Conn)
}

// Opener is a session.Core or a session.Router.
type Opener interface {
	Reserve() uint64
	OpenReserved(ctx context.Context, id uint64, address string, conn session.Conn) *session.Peer
}

// Observers receive measurements of the senders. Many goroutines call them.
type Observers struct {
	SnapshotAge func(seconds float64) // from encoding a snapshot to handing it to the transport
	Unsent      func(bytes float64)   // stream bytes queued when the sender takes them
}

// Listener serves the connections of one UDP port, and of the TCP port with its number.
type Listener struct {
	config      Config
	udp         *net.UDPConn
	transport   *quic.Transport
	listener    *quic.Listener
	certificate atomic.Pointer[tls.Certificate] // for new handshakes
	web         *web                            // nil without WebTransport
	webSockets  *webSockets                     // nil without WebSocket

	limits        *connectionLimits
	connections   sync.WaitGroup // their goroutines
	refusing      sync.WaitGroup
	stopAccepting context.CancelFunc // nil before Start or StartPeers
	serves        chan struct{}      // closed by Start
	traffic       traffic
	connStats     connectionStats
	qlogs         qlogs
}

// Listen binds the address. Start begins to accept.
func Listen(c Config) (*Listener, error) {
	if c.Certificate == nil {
		own, err := selfSigned(time.Now(), certificateLife)
		if err != nil {
			return nil, err
		}
		c.Certificate = &own
	}
	l := &Listener{config: c, serves: make(chan struct{}), qlogs: qlogs{folder: c.QlogDir}, connStats: connectionStats{live: map[*Conn]struct{}{}}}
	l.certificate.Store(c.Certificate)
	l.limits = newConnectionLimits(c.Limits, &l.traffic)
	if c.Web != nil {
		l.web = newWeb(*c.Web, &l.traffic, c.Log)
		if _, err := l.WebCertificates(); err != nil { // makes them now, since a failure during a handshake would be too late
			return nil, err
		}
	}
	if err := l.bindSockets(); err != nil {
		return nil, err
	}
	l.transport = &quic.Transport{
		Conn: l.udp, VerifySourceAddress: l.limits.requireRetry, ConnContext: l.beginHandshake,
		ConnectionIDLength: connectionIDBytes,
		StatelessResetKey:  (*quic.StatelessResetKey)(c.StatelessResetKey),
	}
	var err error
	l.listener, err = l.transport.Listen(l.tlsConfig(), l.quicConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server: cannot serve QUIC on %s: %w", c.Listen, err), l.closeSockets())
	}
	return l, nil
}

// portTries bounds the search for a port that is free for UDP and TCP, if the address names none.
const portTries = 20

// bindSockets binds the UDP port, and the TCP port with the same number if the server has both.
func (l *Listener) bindSockets() (err error) {
	c := &l.config
	for try := 1; ; try++ {
		if l.udp, err = c.bind(); err != nil || l.web == nil || c.Web.NoWebSocket {
			return err
		}
		tcp, err := listenWebSockets(l.Addr())
		if err == nil {
			l.webSockets = newWebSockets(tcp, l)
			return nil
		}
		err = errors.Join(err, l.udp.Close())
		if _, port, _ := net.SplitHostPort(c.Listen); port != "0" || c.Socket != nil || try == portTries {
			return err
		}
	}
}

func (l *Listener) closeSockets() error {
	var errs []error
	if err := l.udp.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		errs = append(errs, err)
	}
	if l.webSockets != nil {
		errs = append(errs, l.webSockets.close())
	}
	return errors.Join(errs...)
}

// bind returns the socket for clients.
func (c *Config) bind() (*net.UDPConn, error) {
	if c.Socket != nil {
		packets, err := net.FilePacketConn(c.Socket)
		if err != nil {
			return nil, fmt.Errorf("server: the socket for clients cannot be used: %w", err)
		}
		udp, ok := packets.(*net.UDPConn)
		if !ok {
			return nil, errors.Join(errors.New("server: the socket for clients is no UDP socket"), packets.Close())
		}
		return udp, nil
	}
	addr, err := net.ResolveUDPAddr("udp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("server: listen address %q: %w", c.Listen, err)
	}
	network := "udp"
	if addr.IP.To4() != nil { // else 0.0.0.0 would accept IPv6 too
		network = "udp4"
	}
	udp, err := net.ListenUDP(network, addr)
	if err != nil {
		return nil, fmt.Errorf("server: cannot listen on %s: %w", c.Listen, err)
	}
	return udp, nil
}

// Socket returns a duplicate of the socket for clients.
func (l *Listener) Socket() (*os.File, error) { return l.udp.File() }

// beginHandshake admits the attempt and gives it an id. Ids order connections by their first
// packets, even if their streams open late.
func (l *Listener) beginHandshake(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	ctx, err := l.limits.beginHandshake(ctx, info)
	if err == nil {
		attemptOf(ctx).id = l.config.Opener.Reserve()
	}
	return ctx, err
}

func (l *Listener) tlsConfig() *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{wire.ALPN},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return l.certificate.Load(), nil },
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if err := l.limits.paceHandshake(hello.Context()); err != nil || l.config.Peers == nil || !slices.Contains(hello.SupportedProtos, l.config.Peers.ALPN) {
				return nil, err
			}
			return l.config.Peers.TLS, nil
		},
	}
	if l.web != nil {
		c.NextProtos = append(c.NextProtos, http3.NextProtoH3)
		c.GetCertificate = l.certificateFor
	}
	return c
}

// certificateFor returns the certificate for a handshake. Browsers refuse the certificate for
// raw clients, which may be valid for ten years.
func (l *Listener) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if l.web.certificates == nil || !speaksWeb(hello) {
		return l.certificate.Load(), nil
	}
	current, _, err := l.web.certificates.certificatesAt(time.Now())
	return current, err
}

// WebCertificates returns the SHA-256 in hex of the certificates that pages pin, the current
// and the next one. It returns none without WebTransport, or with WebConfig.ByName.
func (l *Listener) WebCertificates() ([]string, error) {
	if l.web == nil || l.web.certificates == nil {
		return []string{}, nil
	}
	current, next, err := l.web.certificates.certificatesAt(time.Now())
	if err != nil {
		return nil, err
	}
	return []string{fingerprintOf(*current), fingerprintOf(*next)}, nil
}

// ServesWeb reports whether WebTransport is enabled.
func (l *Listener) ServesWeb() bool { return l.web != nil }

func (l *Listener) quicConfig() *quic.Config {
	c := &quic.Config{
		Tracer:               l.qlogs.tracer(),
		HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: idleTimeout,
		InitialStreamReceiveWindow: streamWindow, MaxStreamReceiveWindow: streamWindow,
		InitialConnectionReceiveWindow: connectionWindow, MaxConnectionReceiveWindow: connectionWindow,
		MaxIncomingStreams: 1, MaxIncomingUniStreams: -1, EnableDatagrams: true,
		InitialPacketSize: packetSize,
	}
	if l.web != nil {
		// HTTP/3 needs the request's stream and three for control. The limits apply to all
		// ALPNs; link.violation finds additional streams of raw clients.
		c.MaxIncomingStreams, c.MaxIncomingUniStreams = 2, 3
		c.EnableStreamResetPartialDelivery = true // WebTransport requires it
	}
	return c
}

// Addr returns the UDP address that clients connect to.
func (l *Listener) Addr() *net.UDPAddr { return l.udp.LocalAddr().(*net.UDPAddr) }

// Fingerprint returns the SHA-256 of the current certificate in hex.
func (l *Listener) Fingerprint() string { return fingerprintOf(*l.certificate.Load()) }

// Certificate returns the certificate of the next handshake.
func (l *Listener) Certificate() *tls.Certificate { return l.certificate.Load() }

// ExpiryOf returns when a certificate expires, or the zero time if it cannot be read.
func ExpiryOf(c *tls.Certificate) time.Time {
	leaf := c.Leaf
	if leaf == nil && len(c.Certificate) > 0 {
		leaf, _ = x509.ParseCertificate(c.Certificate[0])
	}
	if leaf == nil {
		return time.Time{}
	}
	return leaf.NotAfter
}

// SetCertificate replaces the certificate from the next handshake on.
func (l *Listener) SetCertificate(c *tls.Certificate) error {
	if err := ValidateCertificate(c); err != nil {
		return err
	}
	l.certificate.Store(c)
	return nil
}

// SetLimits replaces the limits, which must be valid. Existing connections stay.
func (l *Listener) SetLimits(limits Limits) { l.limits.setLimits(limits) }

// Start accepts connections until Refuse or Close.
func (l *Listener) Start() {
	if l.stopAccepting == nil {
		l.StartPeers()
	}
	close(l.serves)
	if l.webSockets != nil {
		l.webSockets.start()
	}
}

// StartPeers accepts the connections of other servers. Clients wait for Start.
func (l *Listener) StartPeers() {
	accepting, stop := context.WithCancel(context.Background())
	l.stopAccepting = stop
	for range acceptors {
		l.connections.Go(func() { l.acceptUntil(accepting) })
	}
}

// StopAccepting stops accepting. Another process that has the sockets answers the clients that connect after Close.
func (l *Listener) StopAccepting() {
	l.stopAccepting()
	if l.webSockets != nil {
		l.webSockets.refuse()
		_ = l.webSockets.stopAccepting()
	}
}

// Refuse stops accepting: until Close, new connections are closed with Draining.
func (l *Listener) Refuse() {
	l.stopAccepting()
	if l.webSockets != nil {
		l.webSockets.refuse()
	}
	l.refusing.Go(l.refuseConnections)
}

// Await waits until every connection has ended, or for timeout. Call it after Refuse.
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

// Close ends the remaining connections, closes the port, and waits for all goroutines.
func (l *Listener) Close() error {
	err := errors.Join(l.listener.Close(), l.transport.Close(), l.closeSockets())
	l.connections.Wait()
	l.refusing.Wait()
	return err
}
