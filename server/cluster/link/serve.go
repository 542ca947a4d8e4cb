package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quic-go/quic-go"
	"go.uber.org/zap"
)

// maxServed bounds the connections of one node.
const maxServed = 16

// Codes of closed connections.
const (
	closeDone     quic.ApplicationErrorCode = 0
	closeNonsense quic.ApplicationErrorCode = 1
	closeStranger quic.ApplicationErrorCode = 2 // no living node has the certificate
	closeBusy     quic.ApplicationErrorCode = 3
)

// TLS returns the configuration for handshakes with the ALPN of the link.
func (l *Link) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{ALPN}, Certificates: []tls.Certificate{l.certificate},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if _, ok := l.config.FindHolder(presented(s)); !ok {
				return errors.New("link: no living node of the cluster has this certificate")
			}
			return nil
		},
	}
}

// Serve serves a connection of another node until the connection or ctx ends.
func (l *Link) Serve(ctx context.Context, conn *quic.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.CloseWithError(closeDone, "") })
	defer stop()
	fingerprint := presented(conn.ConnectionState().TLS)
	node, _ := l.config.FindHolder(fingerprint)
	if !l.beginServing(node) {
		_ = conn.CloseWithError(closeBusy, "")
		return
	}
	defer l.endServing(node)
	for {
		s, err := conn.AcceptStream(conn.Context())
		if err != nil {
			return
		}
		if now, ok := l.config.FindHolder(fingerprint); !ok || now != node {
			_ = conn.CloseWithError(closeStranger, "")
			return
		}
		if err := l.serveRequest(conn, s, node); errors.Is(err, errNonsense) {
			l.counters.nonsense.Add(1)
			l.config.Log.Warn("a node has broken the rules of the link, and its connection is closed", zap.String("node", node), zap.Error(err))
			_ = conn.CloseWithError(closeNonsense, "")
			return
		}
	}
}

func (l *Link) beginServing(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if node == "" || l.serving[node] >= maxServed {
		return false
	}
	l.serving[node]++
	return true
}

func (l *Link) endServing(node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serving[node]--
	if l.serving[node] == 0 {
		delete(l.serving, node)
	}
}

// serveRequest answers one request.
func (l *Link) serveRequest(conn *quic.Conn, s *quic.Stream, node string) error {
	l.counters.served.Add(1)
	defer s.CancelRead(0) // what the handler has not read
	_ = s.SetDeadline(time.Now().Add(smallRules.Within))
	kind, err := readKind(s)
	if err != nil {
		s.CancelWrite(0)
		return err
	}
	h, ok := l.handlers[kind]
	if !ok {
		_, _ = s.Write([]byte{statusUnknown})
		return s.Close()
	}
	ctx, cancel := context.WithTimeout(conn.Context(), h.rules.Within)
	defer cancel()
	_ = s.SetDeadline(time.Now().Add(h.rules.Within))
	body, answer := &boundedReader{s, h.rules.MaxBody}, &answerWriter{w: s}
	err = h.handler(ctx, node, body, answer)
	switch {
	case errors.Is(err, errNonsense):
		s.CancelWrite(0)
		return err
	case err != nil && answer.begun:
		l.config.Log.Warn("an answer to another node has failed", zap.String("node", node), zap.Uint8("kind", uint8(kind)), zap.Error(err))
		s.CancelWrite(0)
		return nil
	case err != nil:
		l.counters.refused.Add(1)
		refused := &RefusedError{Text: err.Error()}
		_ = errors.As(err, &refused)
		_, _ = s.Write(appendRefusal([]byte{statusRefused}, refused))
		return s.Close()
	}
	if _, err := io.Copy(io.Discard, body); errors.Is(err, errNonsense) {
		s.CancelWrite(0)
		return err
	}
	if _, err := answer.Write(nil); err != nil {
		return fmt.Errorf("link: the answer: %w", err)
	}
	return s.Close()
}

// answerWriter writes the status before the first byte of an answer.
type answerWriter struct {
	w     io.Writer
	begun bool
}

// Write implements io.Writer.
func (a *answerWriter) Write(b []byte) (int, error) {
	if !a.begun {
		a.begun = true
		if _, err := a.w.Write([]byte{statusDone}); err != nil {
			return 0, err
		}
	}
	return a.w.Write(b)
}
