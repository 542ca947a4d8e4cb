package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

const (
	// adminHeaderTimeout bounds how long a request may take to arrive, and
	// adminIdleTimeout how long a connection may be without one: Prometheus asks every
	// 15 s by default, and does not mind to connect again.
	adminHeaderTimeout = 5 * time.Second
	adminIdleTimeout   = 5 * time.Second
	// adminAnswerTimeout bounds an answer, maxProfileSeconds a profile besides.
	adminAnswerTimeout = 15 * time.Second
	maxProfileSeconds  = 600
	// maxProfiles may be under way at once: a long one, and a look at goroutines.
	maxProfiles = 2
	// maxAdminBody bounds the body of a request, of which none is needed.
	maxAdminBody = 4 << 10
	// staleTick is the age of the last tick at which the server is not well.
	staleTick = 2 * time.Second
)

// admin is the operator's port: metrics, health and profiles.
type admin struct {
	listener net.Listener
	server   *http.Server
	guard    *adminGuard
}

func listenAdmin(s *Server) (*admin, error) {
	listener, err := net.Listen("tcp", s.config.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("server: can't listen on the admin address %s: %w", s.config.AdminListen, err)
	}
	access := s.config.AdminAccess
	if !access.authenticates() && exposed(listener.Addr()) {
		return nil, errors.Join(ErrAdminExposed, listener.Close()) // localhost is what the system says that it is
	}
	guard := &adminGuard{own: hostOf(s.config.AdminListen), next: s.adminHandler()}
	guard.access.Store(&access)
	return &admin{listener, newAdminServer(guard, s.log), guard}, nil
}

// newAdminServer bounds how many connections there are, and for how long.
func newAdminServer(guard *adminGuard, log *zap.Logger) *http.Server {
	connections := adminConnections{idle: map[net.Conn]uint64{}}
	// A profile that is under way when the server ends is of the time until then, and
	// holds nobody up.
	asking, over := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: bounded(guard), ReadHeaderTimeout: adminHeaderTimeout, IdleTimeout: adminIdleTimeout,
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

func (s *Server) adminHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{s}, s.timings)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", index)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/pprof/", profiles())
	mux.HandleFunc("/healthz", s.healthz)
	mux.HandleFunc("/readyz", s.readyz)
	mux.HandleFunc("GET /ticks", s.ticks)
	mux.HandleFunc("GET /sessions", s.sessions)
	mux.HandleFunc("POST /sessions/{id}/qlog", s.qlog)
	mux.HandleFunc("POST /sessions/{id}/kick", s.kick)
	return mux
}

// bounded bounds what a request may send, and how slowly it and its answer may pass.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		until := time.Now().Add(adminAnswerTimeout)
		c := http.NewResponseController(w)
		_, _ = c.SetReadDeadline(until), c.SetWriteDeadline(until) // a connection of net/http has them
		r.Body = http.MaxBytesReader(w, r.Body, maxAdminBody)
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
		c, until := http.NewResponseController(w), time.Now().Add(maxProfileSeconds*time.Second+adminAnswerTimeout)
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
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	if age := time.Since(s.Report().LastTick); age > staleTick {
		http.Error(w, fmt.Sprintf("no tick for %v", age.Round(time.Millisecond)), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// readyz fails when no client would be admitted, or one more had better go elsewhere.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	report := s.Report()
	if report.LastTick.IsZero() || s.core.Draining() {
		http.Error(w, "not serving", http.StatusServiceUnavailable)
		return
	}
	if report.Active >= s.core.MaxSessions() {
		http.Error(w, "full", http.StatusServiceUnavailable)
		return
	}
	if report.Tick.Behind {
		http.Error(w, "behind: ticks are late or missed", http.StatusServiceUnavailable)
		return
	}
	s.healthz(w, r)
}

// ticks tells how long all ticks since the start took: the difference of two answers
// is of those between, which quantiles alone do not tell.
func (s *Server) ticks(w http.ResponseWriter, _ *http.Request) {
	text, err := s.loop.durations().Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

func (a *admin) serve() {
	if a.guard.access.Load().Certificate != nil {
		_ = a.server.ServeTLS(a.listener, "", "")
		return
	}
	_ = a.server.Serve(a.listener)
}

func (a *admin) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := a.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		return a.server.Close()
	} else if err != nil {
		return err
	}
	if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
