package server_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// A client whose network has no UDP plays over WebSocket as others do: commands, resuming with the same handles, and goodbyes.
func TestWebSocketVisit(t *testing.T) {
	t.Parallel()
	h, logs := newLoggedTestServer(t, func(c *server.Config) { c.Web = &server.WebConfig{} })
	raw, to := h.dial(), h.server.Addr().String()
	relay := loopback.NewRelay(t, to)
	config := h.config()
	config.Addr, config.Fallback, config.GiveUp = relay.Addr, true, patience
	c := must.Get(client.Dial(h.ctx, config))
	h.visitBeside(raw, c)
	_, sessions := h.operate(http.MethodGet, "/sessions")
	require.Contains(t, sessions, `"transport":"websocket"`)
	require.True(t, c.Stats().OverTCP)
	require.False(t, raw.Stats().OverTCP)

	relay.Break(to)
	require.Eventually(t, func() bool { return len(endsOf(logs, "websocket")) == 1 }, patience, time.Millisecond, "before c replaces it")
	h.resumeBeside(raw, c)
	require.NoError(t, c.Close())
	config.GiveUp = -1
	staying := must.Get(client.Dial(h.ctx, config))
	h.drainBoth(raw, staying)
	require.NoError(t, staying.Close())
	require.Equal(t, map[string]string{"transport": "", "client": "ok", "server": "draining"}, endsOf(logs, "websocket"))
}

// A client that reaches the server over both has one session, over QUIC.
func TestFallbackUnused(t *testing.T) {
	h := newWebTestServer(t)
	config := h.config()
	config.Fallback = true
	c := must.Get(client.Dial(h.ctx, config))
	var sessions []struct{ Transport string }
	_, text := h.operate(http.MethodGet, "/sessions")
	require.NoError(t, json.Unmarshal([]byte(text), &sessions))
	require.Equal(t, []struct{ Transport string }{{"quic"}}, sessions)
	require.NoError(t, c.Close())
}

// An error about both transports says first what UDP answered: a server always has it.
func TestFallbackFails(t *testing.T) {
	h := newTestServer(t)
	config := h.config()
	config.Fallback, config.Fingerprint = true, strings.Repeat("00", 32)
	_, err := client.Dial(h.ctx, config)
	require.ErrorContains(t, err, "the server's certificate has another fingerprint")
	require.True(t, strings.HasSuffix(err.Error(), "; over TCP too: the port is closed"), err.Error())
}

// webSocket opens a WebSocket as a page does.
func (h *testServer) webSocket(scheme, path, origin string) (*websocket.Conn, *http.Response, error) {
	headers := http.Header{}
	if origin != "" {
		headers.Set("Origin", origin)
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	conn, answer, err := websocket.Dial(h.ctx, scheme+"://"+h.server.Addr().String()+path, &websocket.DialOptions{
		HTTPClient: web, HTTPHeader: headers, Subprotocols: []string{wire.WebSocketProtocol},
	})
	if err == nil {
		h.t.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, answer, err
}

// Pages of foreign sites, foreign requests and programs that speak something else are refused, and the port stays good.
func TestWebSocketForeign(t *testing.T) {
	h := newTestServerWith(t, func(c *server.Config) { c.Web = &server.WebConfig{Origins: []string{"https://game.example"}} })
	stays := h.bystander()
	for origin, status := range map[string]int{"https://game.example": http.StatusSwitchingProtocols, "": http.StatusSwitchingProtocols, "https://evil.example": http.StatusForbidden, "null": http.StatusForbidden} {
		for _, scheme := range []string{"ws", "wss"} {
			_, answer, _ := h.webSocket(scheme, server.WebPath, origin)
			require.Equal(t, status, answer.StatusCode, origin)
		}
	}
	require.EqualValues(t, 4, h.server.Report().Traffic.WebOrigins)
	_, answer, err := h.webSocket("ws", "/other", "")
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
	plain := must.Get(http.Get("http://" + h.server.Addr().String() + server.WebPath)) // as somebody who opens the URL
	require.Equal(t, http.StatusUpgradeRequired, plain.StatusCode)
	require.NoError(t, plain.Body.Close())
	require.EqualValues(t, 2, h.server.Report().Traffic.WebRequests)

	other, _, err := websocket.Dial(h.ctx, "ws://"+h.server.Addr().String()+server.WebPath, &websocket.DialOptions{Subprotocols: []string{"chat"}})
	require.NoError(t, err)
	_, _, err = other.Read(h.ctx)
	require.EqualValues(t, wire.WebSocketCloseBase+int(wire.BadMessage), websocket.CloseStatus(err))

	noise := must.Get(net.Dial("tcp", h.server.Addr().String()))
	must.Get(noise.Write([]byte("SSH-2.0-OpenSSH\r\n\r\n")))
	text := must.Get(io.ReadAll(noise))
	require.True(t, strings.HasPrefix(string(text), "HTTP/1.1 400"), "%q", text)
	stays()
}

// Messages that break the format end the session with bad-message.
func TestWebSocketBrokenMessages(t *testing.T) {
	h := newWebTestServer(t)
	stays := h.bystander()
	for name, broken := range map[string][]byte{
		"empty":           {},
		"half a header":   {0},
		"short":           {0, 2, 1},
		"long stream":     wire.AppendWebSocketMessage(nil, make([]byte, wire.MaxWebSocketStream+1), nil),
		"long datagram":   wire.AppendWebSocketMessage(nil, nil, make([]byte, wire.MaxDatagram+1)),
		"broken datagram": wire.AppendWebSocketMessage(nil, nil, []byte("garbage")),
	} {
		conn, _, err := h.webSocket("ws", server.WebPath, "")
		require.NoError(t, err)
		require.NoError(t, conn.Write(h.ctx, websocket.MessageBinary, wire.AppendWebSocketMessage(nil, wire.AppendMessage(nil, stage.Hello(nil)), nil)))
		require.NoError(t, conn.Write(h.ctx, websocket.MessageBinary, broken))
		require.Equal(t, wire.BadMessage, h.socketEnd(conn), name)
	}
	conn, _, err := h.webSocket("ws", server.WebPath, "")
	require.NoError(t, err)
	require.NoError(t, conn.Write(h.ctx, websocket.MessageText, []byte("hello")))
	require.Equal(t, wire.BadMessage, h.socketEnd(conn))
	stays()
}

// socketEnd returns the code with which the server closes a WebSocket.
func (h *testServer) socketEnd(conn *websocket.Conn) wire.Code {
	for {
		_, _, err := conn.Read(h.ctx)
		closed, ok := errors.AsType[websocket.CloseError](err)
		if ok {
			return wire.Code(int(closed.Code) - wire.WebSocketCloseBase)
		}
		require.NoError(h.t, err)
	}
}
