package quicserve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/webtransport-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// WebPath is the path of the WebTransport URL, "https://HOST:PORT" + WebPath.
	WebPath = "/worldd"
	// maxWebHeader bounds a request's header, in bytes. Browsers send less than 1 KB.
	maxWebHeader = 8 << 10
	// maxWebRequests bounds the requests of one connection. A page needs one.
	maxWebRequests = 4
	// maxWebOrigins bounds WebConfig.Origins.
	maxWebOrigins = 64
	// maxLoggedOrigin bounds the quotation of an origin in the log.
	maxLoggedOrigin = 128
)

// WebConfig configures WebTransport and WebSocket. It has the fields of server.WebConfig, which documents them.
type WebConfig struct {
	Origins     []string
	ByName      bool
	NoWebSocket bool
}

// Validate reports invalid origins.
func (c WebConfig) Validate() error {
	var errs []error
	if n := len(c.Origins); n > maxWebOrigins {
		errs = append(errs, fmt.Errorf("server: %d web origins: want at most %d", n, maxWebOrigins))
	}
	for _, o := range c.Origins {
		if _, err := parseOrigin(o); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// parseOrigin returns text in the form that browsers send: in lower case, without a default
// port.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("server: web origin %q: want https://HOST or https://HOST:PORT", text)
	}
	if port := map[string]string{"https": "443", "http": "80"}[u.Scheme]; u.Port() == port {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + u.Host, nil
}

// web serves HTTP/3 to connections with the ALPN "h3": WebTransport sessions on WebPath,
// and refusals.
type web struct {
	server       *webtransport.Server
	origins      []string         // in the form of parseOrigin; empty for loopback
	certificates *webCertificates // nil if ByName
	polled       context.Context  // a context that has ended, so that only arrived streams are accepted
	count        *traffic
	log          *zap.Logger
}

func newWeb(c WebConfig, count *traffic, log *zap.Logger) *web {
	polled, cancel := context.WithCancel(context.Background())
	cancel()
	w := &web{polled: polled, count: count, log: log}
	for _, o := range c.Origins {
		origin, _ := parseOrigin(o) // Validate has checked it
		w.origins = append(w.origins, origin)
	}
	if !c.ByName {
		w.certificates = &webCertificates{}
	}
	w.server = &webtransport.Server{
		H3:                   &http3.Server{Handler: w, MaxHeaderBytes: maxWebHeader},
		CheckOrigin:          func(*http.Request) bool { return true }, // ServeHTTP checks it
		ApplicationProtocols: []string{wire.ALPN},
		// Safari needs all three. QUIC's own windows and stream limits bound the client.
		Config: &webtransport.Config{MaxIncomingStreams: 1, MaxIncomingUniStreams: 1, MaxIncomingData: 1 << 60},
	}
	webtransport.ConfigureHTTP3Server(w.server.H3)
	return w
}

// page is the state of one connection's HTTP/3 requests.
type page struct {
	conn     *quic.Conn
	requests atomic.Int32
	opened   atomic.Bool                // a session was requested
	sessions chan *webtransport.Session // receives it
	returns  bool                       // the URL says that a later page may resume; set before the session is sent
}

// ServeHTTP implements http.Handler. It begins the connection's session, or refuses the
// request.
func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	p := attemptOf(r.Context()).page // open has set it
	if status := w.refusalStatus(p, r); status != http.StatusOK {
		out.WriteHeader(status)
		return
	}
	session, err := w.server.Upgrade(out, r)
	if err != nil {
		w.count.webRequests.Add(1)
		w.log.Debug("no WebTransport session", zap.Error(err), zap.String("from", r.RemoteAddr))
		out.WriteHeader(http.StatusBadRequest)
		return
	}
	p.returns = r.URL.Query().Get(returnsParameter) == "1"
	p.sessions <- session // has room: refuse allows one
}

// refusalStatus returns the status to refuse r with, or StatusOK if r may begin p's session.
func (w *web) refusalStatus(p *page, r *http.Request) int {
	switch {
	case p.requests.Add(1) > maxWebRequests:
		w.count.webRequests.Add(1)
		_ = p.conn.CloseWithError(quic.ApplicationErrorCode(wire.TooFast), "")
		return http.StatusTooManyRequests
	case r.URL.Path != WebPath:
		w.count.webRequests.Add(1)
		return http.StatusNotFound
	case r.Method != http.MethodConnect:
		w.count.webRequests.Add(1)
		return http.StatusMethodNotAllowed
	case !w.mayConnect(r):
		return http.StatusForbidden
	case p.opened.Swap(true):
		w.count.webSessions.Add(1)
		return http.StatusConflict
	}
	return http.StatusOK
}

// mayConnect reports whether the page that sends r may connect.
func (w *web) mayConnect(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if w.allowsOrigin(origin) {
		return true
	}
	w.count.webOrigins.Add(1)
	w.log.Warn("page refused: its origin is not allowed", zap.Stringer("code", wire.Unauthorized),
		zap.String("origin", origin[:min(len(origin), maxLoggedOrigin)]), zap.String("from", r.RemoteAddr))
	return false
}

// AllowsOrigin reports whether pages of origin may connect.
func (l *Listener) AllowsOrigin(origin string) bool {
	return l.web != nil && l.web.allowsOrigin(origin)
}

// allowsOrigin reports whether a page of origin may connect. Only browsers send origins, and
// they always do.
func (w *web) allowsOrigin(origin string) bool {
	if origin == "" || len(w.origins) > 0 {
		return origin == "" || slices.Contains(w.origins, origin)
	}
	_, err := parseOrigin(origin)
	if err != nil {
		return false // or has another scheme, as a browser extension has
	}
	u, _ := url.Parse(origin) // as parseOrigin did
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// speaksWeb reports whether the client speaks HTTP/3 and not the raw protocol.
func speaksWeb(hello *tls.ClientHelloInfo) bool {
	return slices.Contains(hello.SupportedProtos, http3.NextProtoH3) && !slices.Contains(hello.SupportedProtos, wire.ALPN)
}

// awaitStream serves HTTP/3 on conn until a client begins a session and opens its stream, or ctx
// is done.
func (w *web) awaitStream(ctx context.Context, conn *quic.Conn, connections *sync.WaitGroup) (link, stream, error) {
	a := attemptOf(conn.Context())
	if a == nil {
		return nil, nil, errors.New("server: the connection was not admitted")
	}
	p := &page{conn: conn, sessions: make(chan *webtransport.Session, 1)}
	a.page = p
	connections.Go(func() {
		if err := w.server.ServeQUICConn(conn); err != nil { // the client grants no stream
			_ = conn.CloseWithError(quic.ApplicationErrorCode(wire.BadMessage), "")
		}
	})
	select {
	case session := <-p.sessions:
		s, err := session.AcceptStream(ctx)
		if err != nil {
			return nil, nil, err
		}
		return newWebLink(conn, session, w.polled, p.returns), s, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}
