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
)

// Access says who may use the admin port. The zero value is for loopback: every
// program of this machine may, and no web page.
//
// A client is authorized if it sends the Token as "Authorization: Bearer TOKEN", or
// shows a certificate signed by one of ClientCAs. Where both are configured, either
// will do. /healthz and /readyz ask for neither, since probes bring neither.
type Access struct {
	// Hosts are DNS names that requests may have as their Host, besides localhost and
	// the name or address that the port listens on. Any other name is refused: it may be
	// a web page's, rebound to this machine.
	Hosts []string
	// Token is of 16 to 512 printable bytes without spaces. Empty: none is asked for.
	Token string
	// Certificate makes the port HTTPS.
	Certificate *tls.Certificate
	// ClientCAs sign the certificates of clients. It needs Certificate.
	ClientCAs *x509.CertPool
}

// Bounds of Access.Token.
const (
	minToken = 16
	maxToken = 512
)

// ErrExposed: the admin address can be reached from other machines, and nothing
// says who may use it. The fault is the configuration's.
var ErrExposed = errors.New("server: the admin address is not on loopback: want a token or a CA for client certificates")

// Validate reports everything that is wrong with a.
func (a Access) Validate() error {
	var errs []error
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if n := len(a.Token); n > 0 && (n < minToken || n > maxToken || strings.ContainsFunc(a.Token, unprintable)) {
		errs = append(errs, fmt.Errorf("server: an admin token of %d bytes: want %d to %d, printable ASCII without spaces", n, minToken, maxToken))
	}
	if a.ClientCAs != nil && a.Certificate == nil {
		errs = append(errs, errors.New("server: a CA for the admin port's clients, and no certificate for the port"))
	}
	for _, name := range a.Hosts {
		if name == "" || strings.ContainsAny(name, ":/ ") {
			errs = append(errs, fmt.Errorf("server: admin host %q: want a name without scheme and port", name))
		}
	}
	return errors.Join(errs...)
}

// CheckListen returns ErrExposed if other machines may reach an address to listen on, as
// far as is known without resolving it, and a does not say who may use the port.
func (a Access) CheckListen(hostport string) error {
	if !a.authenticates() && !loopback(hostOf(hostport)) {
		return ErrExposed
	}
	return nil
}

func (a Access) authenticates() bool { return a.Token != "" || a.ClientCAs != nil }

// loopback reports whether only this machine can reach a host to listen on, as far as
// is known without resolving it.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// exposed reports whether other machines may reach a listener.
func exposed(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// guard stands in front of the admin port's handlers.
type guard struct {
	own    string // the host of Config.Listen
	access atomic.Pointer[Access]
	next   http.Handler
}

// SetAccess replaces Config.Access from the next request on, for new connections also the
// certificate. Whether the port is HTTPS cannot change. An error changes nothing.
func (p *Port) SetAccess(a Access) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if (a.Certificate == nil) != (p.guard.access.Load().Certificate == nil) {
		return errors.New("server: whether the admin port is HTTPS cannot change while it serves")
	}
	if !a.authenticates() && exposed(p.Addr()) {
		return ErrExposed
	}
	p.guard.access.Store(&a)
	return nil
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	access := g.access.Load()
	if !g.allowsHost(access, r) {
		http.Error(w, fmt.Sprintf("host %q is not this port's: add it to the admin hosts if it should be", r.Host), http.StatusForbidden)
		return
	}
	if err := checkOrigin(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
	if !probe && access.authenticates() && !access.authorizes(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "want the admin token, or a client certificate", http.StatusUnauthorized)
		return
	}
	g.next.ServeHTTP(w, r)
}

// allowsHost reports whether a request's Host is a name of this port. A page of
// another site that had its own name resolve to this machine is of the same origin to
// a browser, but the name gives it away.
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

// localIP returns the address that a request's connection came in on.
func localIP(r *http.Request) netip.Addr {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return local.AddrPort().Addr().Unmap().WithZone("")
}

// checkOrigin refuses what a page of another site has the operator's browser send.
// http.CrossOriginProtection lets such GETs pass; here they start profiles.
func checkOrigin(r *http.Request) error {
	as := *r
	as.Method = http.MethodPost
	return http.NewCrossOriginProtection().Check(&as)
}

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

// tlsConfig returns the configuration of HTTPS, which follows g.access.
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
