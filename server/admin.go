package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// adminHeaderTimeout bounds a slow request on the operator's port.
	adminHeaderTimeout = 5 * time.Second
	// staleTick is the age of the last tick at which the server is not well.
	staleTick = 2 * time.Second
)

// admin is the operator's port: metrics, health and profiles.
type admin struct {
	listener net.Listener
	server   *http.Server
}

func listenAdmin(s *Server) (*admin, error) {
	listener, err := net.Listen("tcp", s.config.AdminListen)
	if err != nil {
		return nil, fmt.Errorf("server: can't listen on the admin address %s: %w", s.config.AdminListen, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{s}, s.timings)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", index)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/healthz", s.healthz)
	mux.HandleFunc("/readyz", s.readyz)
	mux.HandleFunc("GET /ticks", s.ticks)
	mux.HandleFunc("GET /sessions", s.sessions)
	mux.HandleFunc("POST /sessions/{id}/qlog", s.qlog)
	mux.HandleFunc("POST /sessions/{id}/kick", s.kick)
	// A page that the operator happens to look at may not end sessions: his browser
	// reaches loopback, too.
	guarded := http.NewCrossOriginProtection().Handler(mux)
	// A profile that is under way when the server ends is of the time until then, and
	// holds nobody up.
	asking, over := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: guarded, ReadHeaderTimeout: adminHeaderTimeout,
		BaseContext: func(net.Listener) context.Context { return asking },
	}
	server.RegisterOnShutdown(over)
	return &admin{listener, server}, nil
}

// index says what there is to ask for: it is where the address alone leads.
func index(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `worldd, for its operator:

GET  /metrics                        for Prometheus
GET  /healthz                        200 while the world ticks
GET  /readyz                         200 while somebody may join
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

// readyz fails when no client would be admitted.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	report := s.Report()
	if report.LastTick.IsZero() || s.core.isDraining() {
		http.Error(w, "not serving", http.StatusServiceUnavailable)
		return
	}
	if report.Active >= s.core.places() {
		http.Error(w, "full", http.StatusServiceUnavailable)
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

func (a *admin) serve() { _ = a.server.Serve(a.listener) }

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
