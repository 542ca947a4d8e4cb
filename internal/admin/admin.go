package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/session"
)

const (
	// headerTimeout bounds how long a request may take to arrive, and
	// idleTimeout how long a connection may be without one: Prometheus asks every
	// 15 s by default, and does not mind to connect again.
	headerTimeout = 5 * time.Second
	idleTimeout   = 5 * time.Second
	// answerTimeout bounds an answer, maxProfileSeconds a profile besides.
	answerTimeout     = 15 * time.Second
	maxProfileSeconds = 600
	// maxProfiles may be under way at once: a long one, and a look at goroutines.
	maxProfiles = 2
	// maxBody bounds the body of a request, of which none is needed.
	maxBody = 4 << 10
	// staleTick is the age of the last tick at which the server is not well.
	staleTick = 2 * time.Second
)

// Config is what a Port is made of.
type Config struct {
	// Listen is the TCP address, as "host:port".
	Listen string
	Access Access
	Log    *zap.Logger

	Core    *session.Core
	Schema  *schema.Schema // of the core
	Quic    *quicserve.Listener
	Timings *Timings
	// Report and Ticks return the figures of the server, and how long each of its ticks
	// took in µs. Any goroutine calls them.
	Report func() Report
	Ticks  func() *hdrhistogram.Histogram
	// Ask runs f between two ticks, on the goroutine that owns the world. An error says
	// that f has not run.
	Ask func(ctx context.Context, f func()) error
}

// Port is the operator's port.
type Port struct {
	listener net.Listener
	server   *http.Server
	guard    *guard
	serving  sync.WaitGroup
}

// Listen takes the address, and answers nobody before Start.
func Listen(c Config) (*Port, error) {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("server: can't listen on the admin address %s: %w", c.Listen, err)
	}
	access := c.Access
	if !access.authenticates() && exposed(listener.Addr()) {
		return nil, errors.Join(ErrExposed, listener.Close()) // localhost is what the system says that it is
	}
	guard := &guard{own: hostOf(c.Listen), next: Handler(c)}
	guard.access.Store(&access)
	return &Port{listener: listener, server: newServer(guard, c.Log), guard: guard}, nil
}

// Addr is the TCP address of the port.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Start answers requests, until Close.
func (p *Port) Start() {
	p.serving.Go(func() {
		if p.guard.access.Load().Certificate != nil {
			_ = p.server.ServeTLS(p.listener, "", "")
			return
		}
		_ = p.server.Serve(p.listener)
	})
}

// Close ends the port. Requests under way are given a second.
func (p *Port) Close() error {
	defer p.serving.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := p.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		return p.server.Close()
	} else if err != nil {
		return err
	}
	if err := p.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// newServer bounds how many connections there are, and for how long.
func newServer(guard *guard, log *zap.Logger) *http.Server {
	connections := connections{idle: map[net.Conn]uint64{}}
	// A profile that is under way when the server ends is of the time until then, and
	// holds nobody up.
	asking, over := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: bounded(guard), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return asking },
		ConnState:   connections.track,
		TLSConfig:   guard.tlsConfig(),
		Protocols:   new(http.Protocols), // HTTP/1 alone: a connection is one request at a time
	}
	server.Protocols.SetHTTP1(true)
	// Anybody who can connect can make handshakes fail: that fills no log.
	server.ErrorLog, _ = zap.NewStdLogAt(log, zap.DebugLevel)
	server.RegisterOnShutdown(over)
	return server
}

// Handler answers the requests of the port, whoever sends them.
func Handler(c Config) http.Handler {
	p := pages{c}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{c}, c.Timings)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", index)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/pprof/", profiles())
	mux.HandleFunc("/healthz", p.healthz)
	mux.HandleFunc("/readyz", p.readyz)
	mux.HandleFunc("GET /ticks", p.ticks)
	mux.HandleFunc("GET /sessions", p.sessions)
	mux.HandleFunc("POST /sessions/{id}/qlog", p.qlog)
	mux.HandleFunc("POST /sessions/{id}/kick", p.kick)
	return mux
}

// pages are the handlers of what the server tells of itself.
type pages struct{ Config }

// bounded bounds what a request may send, and how slowly it and its answer may pass.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		until := time.Now().Add(answerTimeout)
		c := http.NewResponseController(w)
		_, _ = c.SetReadDeadline(until), c.SetWriteDeadline(until) // a connection of net/http has them
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// profiles serves net/http/pprof, a few at a time.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	underWay := make(chan struct{}, maxProfiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seconds, err := strconv.ParseFloat(r.FormValue("seconds"), 64); err == nil && !(seconds <= maxProfileSeconds) {
			http.Error(w, fmt.Sprintf("seconds: want at most %d", maxProfileSeconds), http.StatusBadRequest)
			return
		}
		select {
		case underWay <- struct{}{}:
			defer func() { <-underWay }()
		default:
			http.Error(w, fmt.Sprintf("%d profiles are under way", maxProfiles), http.StatusTooManyRequests)
			return
		}
		c, until := http.NewResponseController(w), time.Now().Add(maxProfileSeconds*time.Second+answerTimeout)
		_, _ = c.SetReadDeadline(until), c.SetWriteDeadline(until)
		mux.ServeHTTP(w, r)
	})
}

// index says what there is to ask for: it is where the address alone leads.
func index(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `worldd, for its operator:

GET  /metrics                        for Prometheus
GET  /healthz                        200 while the world ticks
GET  /readyz                         200 while there is room, and ticks are in time
GET  /ticks                          how long ticks took, µs, as an HdrHistogram (V2, compressed)
GET  /sessions                       who is here, as JSON
POST /sessions/ID/kick?reason=TEXT   end a session; TEXT is for its player
POST /sessions/ID/qlog?seconds=N     record a session's QUIC, if there is a folder for that
GET  /debug/pprof/                   profiles
`)
}

// healthz fails when the world stands still.
func (p pages) healthz(w http.ResponseWriter, _ *http.Request) {
	if age := time.Since(p.Report().LastTick); age > staleTick {
		http.Error(w, fmt.Sprintf("no tick for %v", age.Round(time.Millisecond)), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// readyz fails when no client would be admitted, or one more had better go elsewhere.
func (p pages) readyz(w http.ResponseWriter, r *http.Request) {
	report := p.Report()
	if report.LastTick.IsZero() || p.Core.Draining() {
		http.Error(w, "not serving", http.StatusServiceUnavailable)
		return
	}
	if report.Active >= p.Core.MaxSessions() {
		http.Error(w, "full", http.StatusServiceUnavailable)
		return
	}
	if report.Tick.Behind {
		http.Error(w, "behind: ticks are late or missed", http.StatusServiceUnavailable)
		return
	}
	p.healthz(w, r)
}

// ticks tells how long all ticks since the start took: the difference of two answers
// is of those between, which quantiles alone do not tell.
func (p pages) ticks(w http.ResponseWriter, _ *http.Request) {
	text, err := p.Ticks().Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}
