package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/worldd/worldd/internal/wslink"
	"github.com/worldd/worldd/replication/wire"
)

// fallbackDelay is how long the client waits for an answer over QUIC before it also tries WebSocket. A client whose last
// connection was a WebSocket tries both at once.
const fallbackDelay = 1200 * time.Millisecond

// webSocketPath is the path of WebSocket and WebTransport on every server.
const webSocketPath = "/worldd"

// raceFallback connects by QUIC, and also by WebSocket after wait or the failure of QUIC. The other connection is closed:
// it has sent nothing, so that no session begins on it.
func raceFallback(ctx context.Context, c Config, t *tls.Config, clock func() time.Duration, wait time.Duration) (*connection, error) {
	type result struct {
		link *connection
		err  error
		tcp  bool
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed, results := make(chan struct{}), make(chan result, 2)
	go func() {
		link, err := openQUIC(ctx, c, t, clock)
		if err != nil {
			close(failed)
		}
		results <- result{link, err, false}
	}()
	go func() {
		select {
		case <-failed:
		case <-time.After(wait):
		case <-ctx.Done():
			results <- result{err: ctx.Err(), tcp: true}
			return
		}
		link, err := openWebSocket(ctx, c, t, clock)
		results <- result{link, err, true}
	}()
	var overUDP, overTCP error
	var winner *connection
	for range cap(results) {
		r := <-results
		switch {
		case r.err != nil && r.tcp:
			overTCP = r.err
		case r.err != nil:
			overUDP = r.err
		case winner == nil:
			winner = r.link
			cancel()
		default:
			_ = r.link.Close(wire.OK, nil)
		}
	}
	if winner == nil {
		return nil, fmt.Errorf("%w; %w", overUDP, overTCP)
	}
	return winner, nil
}

// openWebSocket connects over TCP.
func openWebSocket(ctx context.Context, c Config, t *tls.Config, clock func() time.Duration) (*connection, error) {
	to := url.URL{Scheme: "wss", Host: c.Addr, Path: webSocketPath}
	conn, hangUp, err := dialWebSocket(ctx, to.String(), t)
	if err == nil && conn.Subprotocol() != wire.WebSocketProtocol {
		err = errors.Join(errors.New("something else answers there"), conn.CloseNow())
	}
	if err != nil {
		return nil, fmt.Errorf("over TCP too: %w", explainDial(err))
	}
	link := wslink.New(conn, hangUp)
	p := newPump(link, clock)
	p.done.Go(link.Receive)
	return &connection{overTCP: true, pump: p}, nil
}

// overTCP reports whether a connection, which may be nil, is a WebSocket.
func overTCP(link Conn) bool {
	c, ok := link.(*connection)
	return ok && c.overTCP
}
