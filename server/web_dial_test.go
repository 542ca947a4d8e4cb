package server_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// webURL returns the URL that pages of a server dial.
func webURL(s *server.Server) string { return "https://" + s.Addr().String() + server.WebPath }

// dialH3 opens a QUIC connection for HTTP/3. The server must present a certificate whose hash
// is in accepted.
func (h *testServer) dialH3(accepted []string) (*quic.Conn, error) {
	conn, err := quic.DialAddr(h.ctx, h.server.Addr().String(), &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3},
		VerifyConnection: func(s tls.ConnectionState) error {
			sum := sha256.Sum256(s.PeerCertificates[0].Raw)
			for _, hash := range accepted {
				if hash == hex.EncodeToString(sum[:]) {
					return nil
				}
			}
			return errors.New("unknown certificate")
		},
	}, &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true})
	if err == nil {
		h.t.Cleanup(func() { _ = conn.CloseWithError(0, "") })
	}
	return conn, err
}

// h3 opens a QUIC connection for HTTP/3.
func (h *testServer) h3() *quic.Conn {
	hashes := must.Get(h.server.WebCertificates())
	return must.Get(h.dialH3(hashes))
}

// webtransport serves a QUIC connection for sessions.
func (h *testServer) webtransport(conn *quic.Conn) *webtransport.ClientConn {
	return must.Get((&webtransport.Transport{}).NewClientConn(conn))
}

// webSession opens a WebTransport session.
func (h *testServer) webSession(headers http.Header) (*quic.Conn, *webtransport.Session, *http.Response, error) {
	conn := h.h3()
	response, session, err := h.webtransport(conn).Dial(h.ctx, webURL(h.server), headers)
	return conn, session, response, err
}

// webNetwork connects clients by WebTransport, in real time.
type webNetwork struct {
	h       *testServer
	start   time.Time
	arrived chan struct{}
	conn    *webConn // the newest
}

func (h *testServer) webNetwork() *webNetwork {
	return &webNetwork{h: h, start: time.Now(), arrived: make(chan struct{}, 1)}
}

// dial joins by WebTransport. giveUp is client.Config's.
func (n *webNetwork) dial(giveUp time.Duration) *client.Client {
	config := n.h.config()
	config.Addr, config.Fingerprint, config.Simulation = "", "", n
	config.GiveUp = giveUp
	c := must.Get(client.Dial(n.h.ctx, config))
	n.h.t.Cleanup(func() { require.NoError(n.h.t, c.Close()) })
	return c
}

func (n *webNetwork) Now() time.Duration { return time.Since(n.start) }

// Wait gives the network time. Time also passes for the client.
func (n *webNetwork) Wait() error {
	select {
	case <-n.arrived:
	case <-time.After(time.Millisecond):
	case <-n.h.ctx.Done():
	}
	return n.h.ctx.Err()
}

func (n *webNetwork) Connect(string) (client.Conn, error) {
	conn, session, _, err := n.h.webSession(http.Header{"Origin": {"http://localhost"}})
	if err != nil {
		return nil, err
	}
	stream, err := session.OpenStream()
	if err != nil {
		return nil, err
	}
	c := &webConn{network: n, conn: conn, session: session, stream: stream}
	n.conn = c
	c.done.Go(c.readStream)
	c.done.Go(c.readDatagrams)
	return c, nil
}

// webConn is a client.Conn over WebTransport.
type webConn struct {
	network *webNetwork
	conn    *quic.Conn
	session *webtransport.Session
	stream  *webtransport.Stream
	done    sync.WaitGroup

	mu      sync.Mutex
	in      client.Arrivals
	traffic client.Traffic
}

// arrive adds to the result of Receive.
func (c *webConn) arrive(add func()) {
	c.mu.Lock()
	add()
	c.mu.Unlock()
	select {
	case c.network.arrived <- struct{}{}:
	default:
	}
}

func (c *webConn) readStream() {
	buf := make([]byte, 4<<10)
	for {
		n, err := c.stream.Read(buf)
		c.arrive(func() {
			c.in.Stream = append(c.in.Stream, buf[:n]...)
			c.traffic.BytesReceived += uint64(n)
			if err != nil {
				c.in.Err = errors.New(err.Error()) // its code is an HTTP/3 code
			}
		})
		if err != nil {
			return
		}
	}
}

func (c *webConn) readDatagrams() {
	for {
		d, err := c.session.ReceiveDatagram(context.Background())
		if err != nil {
			return
		}
		c.arrive(func() {
			c.in.Datagrams = append(c.in.Datagrams, client.Datagram{Bytes: d, At: c.network.Now()})
			c.traffic.BytesReceived += uint64(len(d))
			c.traffic.Datagrams++
		})
	}
}

func (c *webConn) Receive(client.Arrivals) client.Arrivals {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.in
	c.in = client.Arrivals{Err: in.Err}
	return in
}

func (c *webConn) SendStream(b []byte) error {
	_, _ = c.stream.Write(b) // the readers report that the connection ended
	return nil
}

func (c *webConn) SendDatagram(d []byte) { _ = c.session.SendDatagram(d) }

func (c *webConn) Traffic() client.Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traffic
}

// Close sends last and lets the server close the session, as pages should.
func (c *webConn) Close(_ wire.Code, last []byte) error {
	if len(last) > 0 {
		_, _ = c.stream.Write(last)
		select {
		case <-c.session.Context().Done():
		case <-c.network.h.ctx.Done():
		}
	}
	_ = c.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	c.done.Wait()
	return nil
}
