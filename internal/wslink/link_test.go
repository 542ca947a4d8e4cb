package wslink_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/wslink"
	"github.com/worldd/worldd/replication/wire"
)

// newPair returns a link and the WebSocket at its other side.
func newPair(t *testing.T) (*wslink.Link, *websocket.Conn) {
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		accepted <- must.Get(websocket.Accept(out, r, nil))
	}))
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(server.URL, "http", "ws", 1), nil)
	require.NoError(t, err)
	conn.SetReadLimit(wire.MaxWebSocketMessage)
	own := <-accepted
	l := wslink.New(own, func() {})
	done := make(chan struct{})
	go func() { l.Receive(); close(done) }()
	t.Cleanup(func() {
		_ = conn.CloseNow()
		_ = own.CloseNow()
		<-done
	})
	return l, conn
}

// Stream bytes go with the datagram that follows them, and long ones fill messages.
func TestMessages(t *testing.T) {
	l, conn := newPair(t)
	read := func() (stream, datagram []byte) {
		_, m, err := conn.Read(t.Context())
		require.NoError(t, err)
		stream, datagram, err = wire.ParseWebSocketMessage(m)
		require.NoError(t, err)
		return stream, datagram
	}
	must.Get(l.Write([]byte("struct")))
	must.Get(l.Write([]byte("ure")))
	require.NoError(t, l.SendDatagram([]byte("state")))
	stream, datagram := read()
	require.Equal(t, "structure/state", string(stream)+"/"+string(datagram))

	require.NoError(t, l.Flush(), "nothing is sent")
	must.Get(l.Write([]byte("alone")))
	require.NoError(t, l.Flush())
	stream, datagram = read()
	require.Equal(t, "alone/", string(stream)+"/"+string(datagram))

	require.NoError(t, l.SendProbe())
	stream, datagram = read()
	require.Equal(t, "/", string(stream)+"/"+string(datagram))

	long := bytes.Repeat([]byte("0123456789abcdef"), 2500)
	sent := make(chan error, 1)
	go func() {
		_, err := l.Write(long)
		sent <- errors.Join(err, l.SendDatagram([]byte("state")))
	}()
	var all []byte
	for len(datagram) == 0 {
		stream, datagram = read()
		all = append(all, stream...)
	}
	require.NoError(t, <-sent)
	require.Equal(t, long, all)
	var tooLarge *quic.DatagramTooLargeError
	require.ErrorAs(t, l.SendDatagram(make([]byte, wire.MaxDatagram+1)), &tooLarge)
	require.EqualValues(t, wire.MaxDatagram, tooLarge.MaxDatagramPayloadSize)
}

// Bytes come in their order; datagrams that nobody reads are dropped, and hold up no stream. Probes are ignored.
func TestReceive(t *testing.T) {
	l, conn := newPair(t)
	for range 100 {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, wire.AppendWebSocketMessage(nil, nil, nil)))
		require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, wire.AppendWebSocketMessage(nil, []byte("s"), []byte("d"))))
	}
	stream := make([]byte, 100)
	must.Get(io.ReadFull(l, stream))
	require.Equal(t, strings.Repeat("s", 100), string(stream))
	require.Equal(t, "d", string(must.Get(l.ReceiveDatagram(t.Context()))))
	_, received := l.Messages()
	require.EqualValues(t, 200, received)
}

// The cause of the end is the code of the side that closed, as over QUIC.
func TestCloseCodes(t *testing.T) {
	for _, remote := range []bool{false, true} {
		l, conn := newPair(t)
		if remote {
			go func() { _ = conn.Close(websocket.StatusCode(wire.WebSocketCloseBase+int(wire.Draining)), "tired") }()
		} else {
			require.NoError(t, l.CloseWithError(quic.ApplicationErrorCode(wire.Draining), strings.Repeat("tired", 100)))
			_, _, err := conn.Read(t.Context())
			require.EqualValues(t, wire.WebSocketCloseBase+int(wire.Draining), websocket.CloseStatus(err))
		}
		<-l.Context().Done()
		var app *quic.ApplicationError
		require.ErrorAs(t, context.Cause(l.Context()), &app)
		require.Equal(t, remote, app.Remote)
		require.EqualValues(t, wire.Draining, app.ErrorCode)
		require.ErrorAs(t, must.Fail(l.Read(make([]byte, 1))), &app)
		require.ErrorAs(t, must.Fail(l.ReceiveDatagram(t.Context())), &app)
	}
	l, conn := newPair(t)
	go func() { _ = conn.Close(websocket.StatusGoingAway, "") }() // a page that reloads
	<-l.Context().Done()
	var app *quic.ApplicationError
	require.NotErrorAs(t, context.Cause(l.Context()), &app)
}

// A message that breaks the format is an error of Read, and the link can still say why it ends.
func TestFault(t *testing.T) {
	l, conn := newPair(t)
	require.NoError(t, conn.Write(t.Context(), websocket.MessageBinary, []byte{9, 0, 1}))
	_, err := l.Read(make([]byte, 1))
	require.Equal(t, wire.BadMessage, wire.CodeOf(err))
	require.NoError(t, l.Context().Err())
	require.NoError(t, l.CloseWithError(quic.ApplicationErrorCode(wire.BadMessage), ""))
	_, _, err = conn.Read(t.Context())
	require.EqualValues(t, wire.WebSocketCloseBase+int(wire.BadMessage), websocket.CloseStatus(err))
}

// A side that does not answer pings is lost. One that does has a round trip.
func TestPing(t *testing.T) {
	l, conn := newPair(t)
	ended := make(chan struct{})
	answering, stop := context.WithCancel(t.Context())
	go func() {
		_, _, _ = conn.Read(answering) // answers pings
	}()
	go func() { l.Ping(time.Millisecond, time.Minute); close(ended) }()
	require.Eventually(t, func() bool { return l.RoundTrip() > 0 }, time.Minute, time.Millisecond)
	stop()
	<-ended
	require.Error(t, l.Context().Err())

	silent, _ := newPair(t)
	silent.Ping(time.Hour, 10*time.Millisecond)
	var idle *quic.IdleTimeoutError
	require.ErrorAs(t, context.Cause(silent.Context()), &idle)
}
