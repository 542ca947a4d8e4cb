package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"
)

// Access controls access to the admin port. It has the fields of server.AdminAccess, which
// documents them. /healthz and /readyz require no credentials, since probes have none. The live
// page's files require none: the page asks for the token.
type Access struct {
	Hosts       []string
	Token       string
	Certificate *tls.Certificate
	ClientCAs   *x509.CertPool
}

// Bounds of Access.Token.
const (
	minToken = 16
	maxToken = 512
)

// ErrExposed reports an admin address that other machines can reach, without a Token or
// ClientCAs: a configuration error.
var ErrExposed = errors.New("server: the admin address is not on loopback: want a token or a CA for client certificates")

// Validate reports everything that is wrong with a.
func (a Access) Validate() error {
	var errs []error
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if n := len(a.Token); n > 0 && (n < minToken || n > maxToken || strings.ContainsFunc(a.Token, unprintable)) {
		errs = append(errs, fmt.Errorf("server: admin token of %d bytes: want %d to %d, printable ASCII without spaces", n, minToken, maxToken))
	}
	if a.ClientCAs != nil && a.Certificate == nil {
		errs = append(errs, errors.New("server: the admin port has a client CA but no certificate: want both"))
	}
	for _, name := range a.Hosts {
		if name == "" || strings.ContainsAny(name, ":/ ") {
			errs = append(errs, fmt.Errorf("server: admin host %q: want a name without scheme and port", name))
		}
	}
	return errors.Join(errs...)
}

// CheckListen returns ErrExposed if a requires no credentials and other machines may reach
// hostport, as far as can be known without resolving it.
func (a Access) CheckListen(hostport string) error {
	if !a.authenticates() && !isLoopbackHost(hostOf(hostport)) {
		return ErrExposed
	}
	return nil
}

func (a Access) authenticates() bool { return a.Token != "" || a.ClientCAs != nil }

// isLoopbackHost reports whether only this machine can reach host, as far as can be known
// without resolving it.
func isLoopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// isExposed reports whether other machines may reach a listener at a.
func isExposed(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// guard authorizes requests before the admin port's handlers.
type guard struct {
	own         string // host of Config.Listen
	log, audit  *zap.Logger
	access      atomic.Pointer[Access]
	connections connections
	next        http.Handler
	mayConnect  func(origin string) bool // whether a page may connect to the game; nil: none may
}

// SetAccess replaces Config.Access from the next request on, and the certificate for new
// connections. It cannot turn HTTPS on or off. An error changes nothing.
func (p *Port) SetAccess(a Access) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if (a.Certificate == nil) != (p.guard.access.Load().Certificate == nil) {
		return errors.New("server: cannot turn HTTPS of the admin port on or off while it serves")
	}
	if !a.authenticates() && isExposed(p.Addr()) {
		return ErrExposed
	}
	p.guard.access.Store(&a)
	return nil
}

// ServeHTTP implements http.Handler. It logs requests that change something, and refused ones.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noted := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	g.serve(noted, r)
	const maxLogged = 256
	request := r.URL.RequestURI()
	fields := []zap.Field{
		zap.String("method", r.Method), zap.String("request", request[:min(len(request), maxLogged)]), zap.String("address", r.RemoteAddr),
		zap.String("certificate", certificateName(r)), zap.Int("status", noted.status),
	}
	switch {
	case noted.status == http.StatusUnauthorized || noted.status == http.StatusForbidden:
		g.log.Warn("a request to the admin port was refused", fields...)
	case r.Method != http.MethodGet && r.Method != http.MethodHead && !isPublic(r):
		g.audit.Info("an operator's request", fields...)
	}
}

// statusWriter notes the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// certificateName returns the name in a client certificate, or "".
func certificateName(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return ""
	}
	return r.TLS.VerifiedChains[0][0].Subject.CommonName
}

// isPublic reports whether a request needs no credentials.
func isPublic(r *http.Request) bool {
	return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || liveFiles[r.URL.Path] != ""
}

// serve waits for the body only of an authorized request.
func (g *guard) serve(w http.ResponseWriter, r *http.Request) {
	access := g.access.Load()
	crossOrigin := checkOrigin(r)
	switch {
	case !g.allowsHost(access, r):
		ignoreBody(w, r)
		http.Error(w, fmt.Sprintf("host %q is not allowed: add it to the admin hosts if it is this port's", r.Host), http.StatusForbidden)
	case crossOrigin != nil && !g.readsWeb(r):
		ignoreBody(w, r)
		http.Error(w, crossOrigin.Error(), http.StatusForbidden)
	case isPublic(r):
		ignoreBody(w, r)
		g.next.ServeHTTP(w, r)
	case access.authenticates() && !access.authorizes(r):
		ignoreBody(w, r)
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "unauthorized: want the admin token or a client certificate", http.StatusUnauthorized)
	case g.connections.admitRequest(w, r):
		g.next.ServeHTTP(w, r)
	}
}

// readsWeb reports whether r asks for the data to connect with, for a page that may connect. The answer
// has nothing secret: a browser learns the certificate from the server too.
func (g *guard) readsWeb(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return r.Method == http.MethodGet && r.URL.Path == "/web" && origin != "" && g.mayConnect != nil && g.mayConnect(origin)
}

// allowsHost reports whether a request's Host is a name of this port. If another site's
// name is rebound to this machine, the browser treats its page as same-origin, but Host
// still has the site's name.
func (g *guard) allowsHost(access *Access, r *http.Request) bool {
	if r.Host == "" {
		return true // HTTP/1.0, which no browser speaks
	}
	host := hostOf(r.Host)
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.Unmap() == localIP(r)
	}
	is := func(name string) bool { return strings.EqualFold(host, name) }
	return is("localhost") || is(g.own) || slices.ContainsFunc(access.Hosts, is)
}

// hostOf returns a Host header without its port.
func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.Trim(host, "[]")
}

// networkOf returns the network to listen on. With "tcp", net.Listen would treat 0.0.0.0 as all
// IPv6 addresses too.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(hostOf(address))
	if err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}

// localIP returns the local address of a request's connection.
func localIP(r *http.Request) netip.Addr {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return local.AddrPort().Addr().Unmap().WithZone("")
}

// checkOrigin refuses cross-origin requests of the operator's browser, GETs included:
// http.CrossOriginProtection allows those, but here they start profiles.
func checkOrigin(r *http.Request) error {
	post := *r
	post.Method = http.MethodPost
	return http.NewCrossOriginProtection().Check(&post)
}

// authorizes reports whether a request has one of the required credentials.
func (a *Access) authorizes(r *http.Request) bool {
	if a.ClientCAs != nil && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if a.Token == "" || !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	want, got := sha256.Sum256([]byte(a.Token)), sha256.Sum256([]byte(strings.TrimSpace(token)))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// tlsConfig returns the HTTPS configuration, which follows changes of g.access.
func (g *guard) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			access := g.access.Load()
			return &tls.Config{
				MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*access.Certificate},
				ClientCAs: access.ClientCAs, ClientAuth: tls.VerifyClientCertIfGiven, // probes have none
			}, nil
		},
	}
}
