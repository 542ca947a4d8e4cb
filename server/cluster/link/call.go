package link

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	// smallConnections and streamConnections bound the connections to a node for each sort of requests: large ones delay no
	// small ones.
	smallConnections  = 4
	streamConnections = 2
	// dialTimeout bounds the handshake at one address. A node that is gone does not answer.
	dialTimeout = 2 * time.Second
	// idleTimeout ends a connection without requests.
	idleTimeout = 10 * time.Second
	// requestTimeout bounds a Call, whatever its context allows.
	requestTimeout = 10 * time.Second
)

// pool holds the connections of one sort to one node.
type pool struct {
	turns chan struct{} // holds a token for each request under way

	mu   sync.Mutex
	idle []*pooled
}

// pooled is a connection without a request.
type pooled struct {
	*quic.Conn
	fingerprint string
}

// Call sends a small request to a node, and returns the answer. The error wraps a *RefusedError if the node's handler has refused it.
func (l *Link) Call(ctx context.Context, node string, k Kind, body []byte) ([]byte, error) {
	if len(body) > MaxBody {
		return nil, fmt.Errorf("link: a request of %d bytes, at most %d", len(body), MaxBody)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var answer bytes.Buffer
	err := l.exchange(ctx, l.pool(node, "", smallConnections), node, k, bytes.NewReader(body), &answer, MaxBody)
	return answer.Bytes(), err
}

// Stream sends a large request to a node, and writes the answer to w, at most most bytes. After an error w has a part of it.
func (l *Link) Stream(ctx context.Context, node string, k Kind, body io.Reader, w io.Writer, most int64) error {
	return l.exchange(ctx, l.pool(node, "\x00streams", streamConnections), node, k, body, w, most)
}

// pool returns the pool of one sort for a node.
func (l *Link) pool(node, sort string, size int) *pool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pools[node+sort]
	if p == nil {
		p = &pool{turns: make(chan struct{}, size)}
		l.pools[node+sort] = p
	}
	return p
}

// exchange sends one request over a connection of the pool, and reads the answer.
func (l *Link) exchange(ctx context.Context, p *pool, node string, k Kind, body io.Reader, w io.Writer, most int64) error {
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return fmt.Errorf("link: node %s: %w", node, ctx.Err())
	}
	l.counters.sent.Add(1)
	conn, err := l.connect(ctx, p, node)
	if err == nil {
		err = exchangeOver(ctx, conn, k, body, w, most)
		if err == nil || isAnswer(err) {
			p.keep(conn)
			if err == nil {
				return nil
			}
			return fmt.Errorf("link: node %s: %w", node, err)
		}
		code := closeDone
		if errors.Is(err, errNonsense) {
			l.counters.nonsense.Add(1)
			code = closeNonsense
		}
		_ = conn.CloseWithError(code, "")
		p.closeIdle() // they may be to a process that has ended
	}
	l.counters.failed.Add(1)
	return fmt.Errorf("link: node %s: %w", node, err)
}

// connect returns a connection to the node's present process.
func (l *Link) connect(ctx context.Context, p *pool, node string) (*pooled, error) {
	n, ok := l.config.FindNode(node)
	switch {
	case !ok:
		return nil, ErrNoNode
	case n.Fingerprint == "":
		return nil, ErrOlder
	}
	if conn := p.take(n.Fingerprint); conn != nil {
		return conn, nil
	}
	err := ErrNoNode
	for _, address := range n.Addrs {
		var conn *quic.Conn
		if conn, err = l.dial(ctx, address, n.Fingerprint); err == nil {
			return &pooled{conn, n.Fingerprint}, nil
		}
	}
	return nil, err
}

func (l *Link) dial(ctx context.Context, address, fingerprint string) (*quic.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	return l.transport.Dial(ctx, to, &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{ALPN}, Certificates: []tls.Certificate{l.certificate},
		InsecureSkipVerify: true, // VerifyConnection pins
		VerifyConnection: func(s tls.ConnectionState) error {
			if presented(s) != fingerprint {
				return fmt.Errorf("link: %s has another certificate than its node's record says", address)
			}
			return nil
		},
	}, &quic.Config{HandshakeIdleTimeout: dialTimeout, MaxIdleTimeout: idleTimeout, MaxIncomingStreams: -1, MaxIncomingUniStreams: -1})
}

// exchangeOver sends a request, and reads the answer. After an error other than a refusal the connection is of no more use.
func exchangeOver(ctx context.Context, conn *pooled, k Kind, body io.Reader, w io.Writer, most int64) error {
	s, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		s.CancelRead(0)
		s.CancelWrite(0)
	})()
	sent := make(chan error, 1)
	go func() { sent <- sendRequest(s, k, body) }()
	err = readAnswer(s, w, most)
	if err != nil {
		s.CancelWrite(0) // no effect after the end of the request
	}
	sendErr := <-sent
	switch {
	case isAnswer(err): // perhaps before all was sent
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return errors.Join(err, sendErr)
}

// sendRequest sends a request, and ends it.
func sendRequest(s *quic.Stream, k Kind, body io.Reader) error {
	_, err := s.Write([]byte{byte(k)})
	if err == nil {
		_, err = io.Copy(s, body)
	}
	if err != nil {
		s.CancelWrite(0)
		return err
	}
	return s.Close()
}

// isAnswer reports whether err is a regular answer.
func isAnswer(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return refused || errors.Is(err, ErrOlder)
}

// take returns an idle connection to the process with the certificate, or nil.
func (p *pool) take(fingerprint string) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		conn := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if conn.Context().Err() == nil && conn.fingerprint == fingerprint {
			return conn
		}
		_ = conn.CloseWithError(closeDone, "")
	}
	return nil
}

func (p *pool) keep(conn *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, conn)
}

func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.idle {
		_ = conn.CloseWithError(closeDone, "")
	}
	p.idle = nil
}
