//go:build !js

package client

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"

	"github.com/coder/websocket"

	"github.com/worldd/worldd/replication/wire"
)

// dialWebSocket opens a WebSocket. hangUp closes the connection below it.
func dialWebSocket(ctx context.Context, to string, t *tls.Config) (conn *websocket.Conn, hangUp func(), err error) {
	t = t.Clone()
	t.NextProtos = nil
	var tcp net.Conn // the newest, which the WebSocket uses
	web := &http.Transport{
		TLSClientConfig: t, DisableKeepAlives: true, TLSHandshakeTimeout: handshakeTimeout,
		DialContext: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			conn, err = new(net.Dialer).DialContext(ctx, network, addr)
			tcp = conn
			return conn, err
		},
	}
	conn, answer, err := websocket.Dial(ctx, to, &websocket.DialOptions{
		HTTPClient:   &http.Client{Transport: web, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		Subprotocols: []string{wire.WebSocketProtocol},
	})
	if err != nil && answer != nil && answer.Body != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10))
	}
	return conn, func() { _ = tcp.Close() }, err
}
