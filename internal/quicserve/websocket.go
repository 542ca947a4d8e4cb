package quicserve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// acceptPause is how long accepting pauses after an error, such as too many open files.
	acceptPause = 50 * time.Millisecond
	// tlsRecord is the first byte of a TLS connection.
	tlsRecord = 22
)

// webSockets serves WebSocket on WebPath, over the TCP port with the number of the UDP port: for clients whose network blocks UDP.
// Connections from loopback may do without TLS: a proxy ends it, or a page is in development.
type webSockets struct {
	listener *net.TCPListener
	owner    *Listener
	server   *http.Server
	tls      *tls.Config
	accepted chan net.Conn // for server
	ended    chan struct{} // closed with it
	running  sync.WaitGroup

	mu       sync.Mutex
	open     map[*tcpConn]struct{}
	refusing bool // sessions, with Draining
	closed   bool
}

// listenWebSockets binds the TCP port with the number of the UDP port.
func listenWebSockets(udp *net.UDPAddr) (*net.TCPListener, error) {
	network := "tcp"
	if udp.IP.To4() != nil {
		network = "tcp4"
	}
	tcp, err := net.ListenTCP(network, &net.TCPAddr{IP: udp.IP, Port: udp.Port, Zone: udp.Zone})
	if err != nil {
		return nil, fmt.Errorf("server: cannot listen on TCP port %d, to which browsers connect whose network blocks UDP (--web-udp-only and WebConfig.NoWebSocket do without): %w", udp.Port, err)
	}
	return tcp, nil
}

func newWebSockets(listener *net.TCPListener, owner *Listener) *webSockets {
	s := &webSockets{listener: listener, owner: owner, accepted: make(chan net.Conn), ended: make(chan struct{}), open: map[*tcpConn]struct{}{}}
	s.tls = &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return owner.certificate.Load(), nil },
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return nil, owner.limits.paceHandshake(hello.Context())
		},
	}
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: handshakeTimeout, IdleTimeout: handshakeTimeout, MaxHeaderBytes: maxWebHeader,
		ErrorLog:     zap.NewStdLog(zap.NewNop()), // strangers cause its lines
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if over, ok := conn.(*tls.Conn); ok {
				conn = over.NetConn()
			}
			return context.WithValue(ctx, attemptKey{}, conn.(*tcpConn).attempt)
		},
	}
	return s
}

// start accepts connections until close.
func (s *webSockets) start() {
	s.running.Go(func() { _ = s.server.Serve((*webSocketListener)(s)) })
	s.running.Go(s.accept)
}

// refuse makes new connections close with Draining.
func (s *webSockets) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = true
}

func (s *webSockets) accept() {
	for {
		conn, err := s.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		c := &tcpConn{TCPConn: conn, attempt: &attempt{limits: s.owner.limits, address: AddressPrefix(conn.RemoteAddr())}, closed: make(chan struct{})}
		c.attempt.tcp = c
		if !s.admit(c) {
			_ = conn.SetLinger(0) // costs the server nothing more
			_ = conn.Close()
			continue
		}
		s.running.Go(func() { s.prepare(c) })
	}
}

// admit counts a connection as an attempt. Its address is proven.
func (s *webSockets) admit(c *tcpConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.owner.limits.allowHandshake(c.attempt, true, time.Now()) != nil {
		return false
	}
	c.attempt.id = s.owner.config.Opener.Reserve()
	s.open[c] = struct{}{}
	return true
}

// prepare passes a connection to the HTTP server, and returns at its end.
func (s *webSockets) prepare(c *tcpConn) {
	defer func() {
		<-c.closed
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
		c.attempt.releaseAttempt()
	}()
	limitUnsent(c.TCPConn)
	conn := net.Conn(c)
	if !c.isPlain() {
		conn = tls.Server(c, s.tls)
	}
	select {
	case s.accepted <- conn:
	case <-s.ended:
	case <-c.closed:
	}
}

// close ends all connections, and waits for its goroutines.
func (s *webSockets) close() error {
	err := s.stopAccepting()
	s.mu.Lock()
	s.refusing, s.closed = true, true
	close(s.ended)
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	err = errors.Join(err, s.server.Close())
	s.running.Wait()
	return err
}

// stopAccepting closes the port. The next process of a hand-over opens it again.
func (s *webSockets) stopAccepting() error {
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// ServeHTTP implements http.Handler. It begins a session, or refuses the request.
func (s *webSockets) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	l, a := s.owner, attemptOf(r.Context())
	if status := s.refusalStatus(a, r); status != http.StatusOK {
		out.Header().Set("Connection", "close")
		out.WriteHeader(status)
		return
	}
	conn, err := websocket.Accept(out, r, &websocket.AcceptOptions{Subprotocols: []string{wire.WebSocketProtocol}, InsecureSkipVerify: true})
	if err != nil { // it has answered
		l.traffic.webRequests.Add(1)
		return
	}
	link := newWebSocketLink(conn, a.tcp)
	if conn.Subprotocol() != wire.WebSocketProtocol {
		_ = link.CloseWithError(quic.ApplicationErrorCode(wire.BadMessage), "want the subprotocol "+wire.WebSocketProtocol)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.refusing:
		_ = link.CloseWithError(quic.ApplicationErrorCode(wire.Draining), "")
	case !l.limits.allowConnection(r.Context(), time.Now()):
		_ = link.CloseWithError(quic.ApplicationErrorCode(wire.ServerFull), "")
	default:
		l.connections.Go(link.Receive)
		l.connections.Go(func() { link.Ping(pingInterval, idleTimeout) })
		l.connections.Go(func() { l.serveLink(link, link, a.id) })
	}
}

// refusalStatus returns the status to refuse r with, or StatusOK if r may begin a session.
func (s *webSockets) refusalStatus(a *attempt, r *http.Request) int {
	switch {
	case r.URL.Path != WebPath:
		s.owner.traffic.webRequests.Add(1)
		return http.StatusNotFound
	case r.Method != http.MethodGet:
		s.owner.traffic.webRequests.Add(1)
		return http.StatusMethodNotAllowed
	case !s.owner.web.mayConnect(r):
		return http.StatusForbidden
	}
	return http.StatusOK
}

// webSocketListener is the net.Listener of the HTTP server.
type webSocketListener webSockets

func (l *webSocketListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *webSocketListener) Addr() net.Addr { return l.listener.Addr() }

// Close is called by the end of the server, which is webSockets' own.
func (l *webSocketListener) Close() error { return nil }

// tcpConn is a connection of webSockets, before its TLS.
type tcpConn struct {
	*net.TCPConn
	attempt *attempt
	first   []byte // read by isPlain
	read    atomic.Uint64
	written atomic.Uint64
	end     sync.Once
	closed  chan struct{}
}

// isPlain reports whether the client does without TLS, as it may on loopback.
func (c *tcpConn) isPlain() bool {
	if !c.attempt.address.Addr().IsLoopback() {
		return false
	}
	first := make([]byte, 1)
	_ = c.SetReadDeadline(time.Now().Add(handshakeTimeout))
	n, _ := c.TCPConn.Read(first)
	_ = c.SetReadDeadline(time.Time{})
	c.first = first[:n]
	return n == 1 && first[0] != tlsRecord
}

func (c *tcpConn) Read(p []byte) (int, error) {
	if len(c.first) > 0 && len(p) > 0 {
		n := copy(p, c.first)
		c.first = nil
		return n, nil
	}
	n, err := c.TCPConn.Read(p)
	c.read.Add(uint64(n))
	return n, err
}

func (c *tcpConn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.written.Add(uint64(n))
	return n, err
}

func (c *tcpConn) Close() error {
	err := c.TCPConn.Close()
	c.end.Do(func() { close(c.closed) })
	return err
}
