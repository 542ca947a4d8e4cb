package quicserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
)

// link is the connection of one client: raw QUIC, a WebTransport session alone on its
// QUIC connection, or a WebSocket. All carry the same bytes, on one stream that the client opens and in
// datagrams.
type link interface {
	// SendDatagram fails with a *quic.DatagramTooLargeError that has the size limit.
	SendDatagram(p []byte) error
	ReceiveDatagram(ctx context.Context) ([]byte, error)
	// Context ends with the link. If a side closed it with a code of package wire, its
	// cause is a *quic.ApplicationError, over WebTransport too.
	Context() context.Context
	CloseWithError(code quic.ApplicationErrorCode, text string) error
	ConnectionStats() quic.ConnectionStats
	RemoteAddr() net.Addr
	// violation returns a violation by the client that the transport itself does not refuse, or
	// nil: it opened another stream, or sent too much outside its stream.
	violation(now time.Time) *wire.Error
	// flush sends what the stream and SendDatagram have held back.
	flush() error
}

// stream is the client's stream.
type stream interface{ io.ReadWriteCloser }

// rawLink is raw QUIC.
type rawLink struct {
	*quic.Conn
	polled context.Context // a context that has ended; nil without WebTransport
}

func (l rawLink) violation(time.Time) *wire.Error {
	if l.polled == nil {
		return nil
	}
	if _, err := l.AcceptStream(l.polled); err == nil {
		return secondStream()
	}
	if _, err := l.AcceptUniStream(l.polled); err == nil {
		return secondStream()
	}
	return nil
}

func secondStream() *wire.Error { return &wire.Error{Code: wire.BadMessage, Detail: "a second stream"} }

func (l rawLink) flush() error { return nil }

// webLink is a WebTransport session. The QUIC connection ends with the session.
type webLink struct {
	*quic.Conn
	session *webtransport.Session
	polled  context.Context // a context that has ended
	returns bool            // a page that ends without a close capsule has not left: a later page may resume
	ctx     context.Context
	end     context.CancelCauseFunc // the first cause wins

	received *rate.Limiter // bytes of packets
	seen     uint64        // bytes that were charged to received
}

func newWebLink(conn *quic.Conn, session *webtransport.Session, polled context.Context, returns bool) *webLink {
	l := &webLink{Conn: conn, session: session, polled: polled, returns: returns, received: rate.NewLimiter(webBytesPerSecond, webBurst)}
	// Not a child of conn's context, whose cause may have an HTTP/3 code.
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(conn.Context()))
	context.AfterFunc(conn.Context(), func() {
		if session.Context().Err() == nil { // otherwise sessionEnded reports the cause
			l.end(l.fromH3(context.Cause(conn.Context())))
		}
	})
	context.AfterFunc(session.Context(), l.sessionEnded)
	return l
}

// sessionEnded closes the QUIC connection, and ends the link with the cause.
func (l *webLink) sessionEnded() {
	_, err := l.session.AcceptStream(l.polled) // fails with the reason
	if closed, ok := errors.AsType[*webtransport.SessionError](err); ok {
		l.end(&quic.ApplicationError{Remote: closed.Remote, ErrorCode: quic.ApplicationErrorCode(closed.ErrorCode), ErrorMessage: closed.Message})
	}
	_ = l.Conn.CloseWithError(quic.ApplicationErrorCode(wire.OK), "")
	<-l.Conn.Context().Done()
	cause := context.Cause(l.Conn.Context())
	if app, ok := errors.AsType[*quic.ApplicationError](cause); ok && !app.Remote && app.ErrorCode == quic.ApplicationErrorCode(wire.OK) {
		// The connection lived until here: the client has ended its request. Without a capsule, that
		// is a close with code 0 (draft-ietf-webtrans-http3, section 6). Firefox does so when it navigates.
		l.end(l.pageEnded(true))
	}
	l.end(l.fromH3(cause))
}

// minH3Code is the lowest of HTTP/3's codes. The codes of package wire are below.
const minH3Code = 0x100

// returnsParameter is the query parameter of the URL of a page that resumes its session after a reload. Firefox does not send
// what a page writes or closes while it is being left, so that a reload looks like leaving.
const returnsParameter = "returns"

var errPageEnded = errors.New("the page has ended, and another may resume the session")

// pageEnded returns the cause of the end of a page that did not say why: OK, or an error if the page may return.
func (l *webLink) pageEnded(remote bool) error {
	if remote && l.returns {
		return errPageEnded
	}
	return &quic.ApplicationError{Remote: remote, ErrorCode: quic.ApplicationErrorCode(wire.OK)}
}

// fromH3 returns cause without an HTTP/3 code. HTTP/3's code for no error becomes OK: browsers
// close the connection of an ended page with it.
func (l *webLink) fromH3(cause error) error {
	app, ok := errors.AsType[*quic.ApplicationError](cause)
	switch {
	case ok && app.ErrorCode == quic.ApplicationErrorCode(http3.ErrCodeNoError):
		return l.pageEnded(app.Remote)
	case ok && app.ErrorCode >= minH3Code:
		return errors.New(app.Error())
	}
	return cause
}

func (l *webLink) Context() context.Context { return l.ctx }

// webSessionBytes is the size of the session ID before a datagram. The ID is 0, since the
// session is alone on its connection.
const webSessionBytes = 1

func (l *webLink) SendDatagram(p []byte) error {
	err := l.session.SendDatagram(p)
	if tooLarge, ok := errors.AsType[*quic.DatagramTooLargeError](err); ok {
		return &quic.DatagramTooLargeError{MaxDatagramPayloadSize: tooLarge.MaxDatagramPayloadSize - webSessionBytes}
	}
	return err
}

func (l *webLink) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	return l.session.ReceiveDatagram(ctx)
}

// CloseWithError closes the QUIC connection. Pages do not see the code: they have read the
// Goodbye on the stream.
func (l *webLink) CloseWithError(code quic.ApplicationErrorCode, text string) error {
	l.end(&quic.ApplicationError{ErrorCode: code, ErrorMessage: text})
	return l.Conn.CloseWithError(code, text)
}

// violation is called by watch only. It bounds the bytes of all packets, since HTTP/3 reads its
// own streams at any rate.
func (l *webLink) violation(now time.Time) *wire.Error {
	if _, err := l.session.AcceptStream(l.polled); err == nil {
		return secondStream()
	}
	if _, err := l.session.AcceptUniStream(l.polled); err == nil {
		return secondStream()
	}
	before := l.seen
	l.seen = l.Conn.ConnectionStats().BytesReceived
	if !l.received.AllowN(now, int(min(l.seen-before, math.MaxInt32))) {
		return &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d KiB a second", webBytesPerSecond>>10)}
	}
	return nil
}

func (l *webLink) flush() error { return nil }
