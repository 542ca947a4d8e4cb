package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Config says where the engine is. All but Endpoints may be left out.
type Config struct {
	Endpoints []string    // client URLs of the engine's members, at most 16: http://127.0.0.1:2379
	TLS       *tls.Config // see ReadTLS; required, with a certificate, for all but loopback

	Prefix       string        // of all keys; "worldd"
	Timeout      time.Duration // of a request to one endpoint; 1 s
	Silence      time.Duration // after which a watch without messages begins again; 10 s
	CompactEvery time.Duration // 5 minutes; negative: leave it to the engine
	Log          *zap.Logger   // failed compactions; nil: not logged
}

const (
	maxEndpoints = 16
	maxPrefix    = 256
	// oldest version that has the gateway below /v3 and hasleader.
	oldestMajor, oldestMinor = 3, 4
)

// Store is a cluster.Store in etcd.
type Store struct {
	endpoints []*endpoint
	present   atomic.Uint32 // index of the endpoint that is asked
	prefix    string
	timeout   time.Duration
	silence   time.Duration
	requests  *http.Client
	watches   *http.Client // without a bound on connections: each watch keeps one
	clusterID atomic.Uint64
	log       *zap.Logger

	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// endpoint is one member of the engine.
type endpoint struct {
	url     string
	checked atomic.Bool // it has answered, with a good version, since it last failed
}

// Open connects to the engine. It fails if no endpoint answers, and if one that answers is too old, has no gateway or
// belongs to another cluster: an error that says what to change. Close ends the store's compaction and connections.
func Open(ctx context.Context, c Config) (*Store, error) {
	s := &Store{prefix: c.Prefix, timeout: c.Timeout, silence: c.Silence, log: c.Log}
	if s.prefix == "" {
		s.prefix = "worldd"
	}
	if s.timeout <= 0 {
		s.timeout = time.Second
	}
	if s.silence <= 0 {
		s.silence = 10 * time.Second
	}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	every := c.CompactEvery
	if every == 0 {
		every = 5 * time.Minute
	}
	if len(c.Endpoints) == 0 || len(c.Endpoints) > maxEndpoints {
		return nil, fmt.Errorf("etcd: %d endpoints: there must be 1 to %d", len(c.Endpoints), maxEndpoints)
	}
	if len(s.prefix) > maxPrefix {
		return nil, fmt.Errorf("etcd: a prefix of %d bytes: at most %d", len(s.prefix), maxPrefix)
	}
	for _, u := range c.Endpoints {
		e, err := parseEndpoint(u, c.TLS)
		if err != nil {
			return nil, err
		}
		s.endpoints = append(s.endpoints, e)
	}
	s.requests = newClient(c.TLS, s.timeout, maxRequests)
	s.watches = newClient(c.TLS, s.timeout, 0)
	if err := s.checkAll(ctx); err != nil {
		s.closeConnections()
		return nil, err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if every > 0 {
		s.stopped.Go(func() { s.compactRegularly(background, every) })
	}
	return s, nil
}

// checkAll checks every endpoint, and wants one that answers.
func (s *Store) checkAll(ctx context.Context) error {
	var failed []error
	for _, e := range s.endpoints {
		err := s.check(ctx, e)
		if err != nil && !kindOf(err).mayPass() {
			return err
		}
		failed = append(failed, err)
	}
	for i, err := range failed {
		if err == nil {
			s.present.Store(uint32(i))
			return nil
		}
	}
	return fmt.Errorf("etcd: no endpoint answers: %w", errors.Join(failed...))
}

// Close ends the store's own work. Requests that still run end with their contexts.
func (s *Store) Close() {
	s.stop()
	s.stopped.Wait()
	s.closeConnections()
}

func (s *Store) closeConnections() {
	s.requests.CloseIdleConnections()
	s.watches.CloseIdleConnections()
}

// parseEndpoint checks a client URL, and that it may be used without encryption (E5).
func parseEndpoint(text string, config *tls.Config) (*endpoint, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("etcd: endpoint %q: want a URL like http://127.0.0.1:2379 or https://host:2379", text)
	case u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("etcd: endpoint %q: want a scheme, a host and a port alone", u.Redacted())
	}
	if !isLoopback(u.Hostname()) {
		switch {
		case u.Scheme != "https":
			return nil, fmt.Errorf("etcd: endpoint %s is on another machine: want https and a client certificate, since anybody who reaches it can take every room", text)
		case config == nil || len(config.Certificates) == 0 && config.GetClientCertificate == nil:
			return nil, fmt.Errorf("etcd: endpoint %s is on another machine: it needs a client certificate and its key", text)
		}
	}
	return &endpoint{url: u.Scheme + "://" + u.Host}, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// newClient returns a client that follows nothing, uses no proxy and unpacks nothing (E3, E5).
func newClient(config *tls.Config, timeout time.Duration, connections int) *http.Client {
	dialer := net.Dialer{Timeout: timeout, KeepAlive: 15 * time.Second}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        config.Clone(),
			TLSHandshakeTimeout:    timeout,
			DisableCompression:     true,
			MaxConnsPerHost:        connections,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: maxHeader,
		},
	}
}

// check asks an endpoint for its version and its cluster, unless it has been asked since it failed.
func (s *Store) check(ctx context.Context, e *endpoint) error {
	if e.checked.Load() {
		return nil
	}
	body, err := s.post(ctx, e, "/v3/maintenance/status", []byte("{}"))
	if err != nil {
		return err
	}
	var status statusAnswer
	if err := parse(body, &status); err != nil {
		return &Error{e.url, Malformed, err.Error()}
	}
	if !isRecent(status.Version) {
		return &Error{e.url, TooOld, fmt.Sprintf("version %.20q: want %d.%d or later", status.Version, oldestMajor, oldestMinor)}
	}
	if err := s.checkHeader(e, status.Header); err != nil {
		return err
	}
	e.checked.Store(true)
	return nil
}

// isRecent reports whether a version is one that this package speaks to.
func isRecent(version string) bool {
	first, rest, ok := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	major, err1 := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(second)
	return ok && err1 == nil && err2 == nil && (major > oldestMajor || major == oldestMajor && minor >= oldestMinor)
}

// checkHeader wants the header of the cluster that answered first (E4).
func (s *Store) checkHeader(e *endpoint, h header) error {
	if h.ClusterID == 0 || h.Revision == 0 {
		return &Error{e.url, Malformed, "an answer without cluster and revision"}
	}
	return s.checkCluster(e, h.ClusterID)
}

func (s *Store) checkCluster(e *endpoint, id uint64) error {
	if s.clusterID.CompareAndSwap(0, id) || s.clusterID.Load() == id {
		return nil
	}
	return &Error{e.url, OtherCluster, fmt.Sprintf("cluster %x, the other endpoints are of %x", id, s.clusterID.Load())}
}
