// Package wslink carries a session's stream and datagrams over a WebSocket, on either side: WEB.md of package wire, section 2.
//
// A message has bytes of the stream, and then at most one datagram. A writer waits for the socket, so its caller makes the next
// snapshot or input only after the one before has left: a slow or lossy network delays them, but does not queue them.
package wslink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/quic-go/quic-go"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxUnread bounds the received datagrams that wait for ReceiveDatagram. More are dropped, as a network would.
	maxUnread = 32
	// maxIdleBuffer is the largest buffer for messages that is kept.
	maxIdleBuffer = 4 << 10
	// closeGrace bounds how long a closing waits for the other side's close frame.
	closeGrace = 300 * time.Millisecond
)

// Link is one side of a WebSocket. One goroutine writes: Write, SendDatagram and Flush.
type Link struct {
	conn      *websocket.Conn
	hangUp    func() // closes what is below the WebSocket
	ctx       context.Context
	end       context.CancelCauseFunc // the first cause wins
	datagrams chan []byte
	in        *io.PipeReader
	arrived   *io.PipeWriter
	stream    []byte // to be sent
	message   []byte // is reused

	sent, received atomic.Uint64 // messages
	roundTrip      atomic.Int64  // of the newest ping, ns
}

// New returns the link of a WebSocket. Run Receive on a goroutine of its own. hangUp closes the connection below it.
func New(conn *websocket.Conn, hangUp func()) *Link {
	conn.SetReadLimit(wire.MaxWebSocketMessage)
	l := &Link{conn: conn, hangUp: hangUp, datagrams: make(chan []byte, maxUnread)}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	l.in, l.arrived = io.Pipe()
	return l
}

// Receive passes what arrives to Read and ReceiveDatagram until the connection ends. If the other side breaks the format of
// messages, Read returns a *wire.Error, and the link stays open so that its owner can say why it closes it.
func (l *Link) Receive() {
	err := l.receiveMessages()
	if fault, ok := errors.AsType[*wire.Error](err); ok {
		_ = l.arrived.CloseWithError(fault)
		return
	}
	l.end(causeOf(err))
	_ = l.arrived.CloseWithError(context.Cause(l.ctx))
	l.closeNow()
}

func (l *Link) receiveMessages() error {
	message := make([]byte, 0, wire.MaxWebSocketMessage)
	for {
		var err error
		message, err = l.readMessage(message[:0])
		if err != nil {
			return err
		}
		l.received.Add(1)
		stream, datagram, err := wire.ParseWebSocketMessage(message)
		if err != nil {
			return err
		}
		if len(datagram) > 0 { // first: Write may wait
			select {
			case l.datagrams <- append([]byte(nil), datagram...):
			default:
			}
		}
		if len(stream) > 0 {
			if _, err := l.arrived.Write(stream); err != nil {
				return err
			}
		}
	}
}

// readMessage appends a message to b. A text has no bytes: ParseWebSocketMessage refuses it.
func (l *Link) readMessage(b []byte) ([]byte, error) {
	kind, r, err := l.conn.Reader(context.Background())
	if err != nil || kind != websocket.MessageBinary {
		return b, err
	}
	for len(b) < cap(b) {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		return b, errors.Join(errors.New("wslink: message too long"), err)
	}
	return b, nil
}

// causeOf returns why a connection has ended whose reading failed. A close with a code of the protocol becomes a
// *quic.ApplicationError, as over QUIC.
func causeOf(err error) error {
	closed, ok := errors.AsType[websocket.CloseError](err)
	switch code := int(closed.Code) - wire.WebSocketCloseBase; {
	case ok && code >= 0:
		return &quic.ApplicationError{Remote: true, ErrorCode: quic.ApplicationErrorCode(code), ErrorMessage: closed.Reason}
	case ok: // by a browser whose page reloads, or by a proxy
		return fmt.Errorf("wslink: closed with code %d", closed.Code)
	}
	return err
}

// Read reads the stream.
func (l *Link) Read(p []byte) (int, error) { return l.in.Read(p) }

// Write holds bytes of the stream back, for SendDatagram or Flush, unless they fill a message.
func (l *Link) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(l.stream) == wire.MaxWebSocketStream {
			if err := l.send(nil); err != nil {
				return n, err
			}
		}
		part := p[:min(len(p), wire.MaxWebSocketStream-len(l.stream))]
		l.stream = append(l.stream, part...)
		p, n = p[len(part):], n+len(part)
	}
	return n, nil
}

// Close sends what is held back. The stream ends with the link.
func (l *Link) Close() error { return l.Flush() }

// Flush sends the bytes that Write holds back.
func (l *Link) Flush() error {
	if len(l.stream) == 0 {
		return nil
	}
	return l.send(nil)
}

// SendDatagram sends a datagram, after the bytes that Write holds back. Over TCP it arrives unless the link ends.
func (l *Link) SendDatagram(p []byte) error {
	if len(p) > wire.MaxDatagram {
		return &quic.DatagramTooLargeError{MaxDatagramPayloadSize: wire.MaxDatagram}
	}
	return l.send(p)
}

// SendProbe sends an empty message, which the other side ignores. Its acknowledgement shows TCP within a round trip that the segment
// before it was lost. Without a probe TCP learns it from the next snapshot, or by a timeout.
func (l *Link) SendProbe() error { return l.send(nil) }

func (l *Link) send(datagram []byte) error {
	m := wire.AppendWebSocketMessage(l.message[:0], l.stream, datagram)
	l.stream, l.message = l.stream[:0], m
	if cap(m) > maxIdleBuffer { // of a joining client, once
		l.stream, l.message = nil, nil
	}
	l.sent.Add(1)
	return l.conn.Write(context.Background(), websocket.MessageBinary, m)
}

// ReceiveDatagram waits for a datagram.
func (l *Link) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	select {
	case d := <-l.datagrams:
		return d, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.ctx.Done():
		return nil, context.Cause(l.ctx)
	}
}

// Context ends with the link. If a side closed it with a code of package wire, its cause is a *quic.ApplicationError.
func (l *Link) Context() context.Context { return l.ctx }

// CloseWithError ends the link. The other side reads the code, if the socket takes it within closeGrace.
func (l *Link) CloseWithError(code quic.ApplicationErrorCode, text string) error {
	l.end(&quic.ApplicationError{ErrorCode: code, ErrorMessage: text})
	time.AfterFunc(closeGrace, l.closeNow)
	go func() {
		_ = l.conn.Close(websocket.StatusCode(wire.WebSocketCloseBase+int(code)), text[:min(len(text), wire.MaxWebSocketReason)])
		l.closeNow()
	}()
	return nil
}

// closeNow closes the connection; blocked reads and writes return.
func (l *Link) closeNow() {
	l.hangUp()
	_ = l.conn.CloseNow()
}

// Ping pings the other side each interval, until the link ends or an answer takes longer than patience: then it ends the link.
func (l *Link) Ping(interval, patience time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // not l.ctx: its end must not cut off the close frame
		began := time.Now()
		err := l.conn.Ping(ctx)
		cancel()
		if err != nil {
			l.end(&quic.IdleTimeoutError{}) // unless it has ended
			l.closeNow()
			return
		}
		l.roundTrip.Store(int64(time.Since(began)))
		select {
		case <-ticker.C:
		case <-l.ctx.Done():
			return
		}
	}
}

// RoundTrip returns the round trip of the newest ping.
func (l *Link) RoundTrip() time.Duration { return time.Duration(l.roundTrip.Load()) }

// Messages returns how many messages were sent and received.
func (l *Link) Messages() (sent, received uint64) { return l.sent.Load(), l.received.Load() }
