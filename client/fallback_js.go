package client

import (
	"context"
	"crypto/tls"

	"github.com/coder/websocket"

	"github.com/worldd/worldd/replication/wire"
)

// dialWebSocket opens a WebSocket of the browser, which decides about certificates.
func dialWebSocket(ctx context.Context, to string, _ *tls.Config) (conn *websocket.Conn, hangUp func(), err error) {
	conn, _, err = websocket.Dial(ctx, to, &websocket.DialOptions{Subprotocols: []string{wire.WebSocketProtocol}})
	return conn, func() {}, err
}
