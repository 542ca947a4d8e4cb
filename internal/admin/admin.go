package admin

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// headerTimeout bounds the arrival of a request's header, and idleTimeout the time
	// between requests. Prometheus scrapes every 15 s by default, and can reconnect.
	headerTimeout = 5 * time.Second
	idleTimeout   = 5 * time.Second
	// answerTimeout bounds a response; a profile may take maxProfileSeconds more.
	answerTimeout     = 15 * time.Second
	maxProfileSeconds = 600
	// maxProfiles bounds concurrent profiles: a long one, and a goroutine dump.
	maxProfiles = 2
	// maxBody bounds the body of a request, a form or a game's; session.MaxSignalBytes bounds the body of a
	// signal, and of a request to the game's own routes. bodyTimeout bounds its arrival.
	maxBody     = 4 << 10
	bodyTimeout = 2 * time.Second
	// staleTick is the age of the last tick at which /healthz fails.
	staleTick = 2 * time.Second
	// stalledDisk is how long a tick waits for the journal until /readyz fails.
	stalledDisk = 5 * time.Second
)

// Config configures a Port.
type Config struct {
	// Listen is the TCP address, as "host:port".
	Listen string
	// Socket is a listening TCP socket that another process has bound: Port uses a duplicate of it in place of
	// Listen. nil: none.
	Socket *os.File
	// Game is the name of the game on the live page. Default: worldd.
	Game string
	// Version is the version of the game, for pages that play; empty: none.
	Version string
	Access  Access
	Log     *zap.Logger
	Audit   *zap.Logger // for requests that change something: not sampled

	// Certificate returns the certificate of this port; nil without HTTPS. Listen sets it.
	// GameCertificate returns the certificate that the game's clients see; nil if the server made it,
	// since clients that pin a certificate do not check its dates.
	Certificate, GameCertificate func() *tls.Certificate

	Schema  *schema.Schema // of the world; nil if the server has Kinds
	Quic    *quicserve.Listener
	Timings *Timings
	// Report and Ticks return the server's figures and the histogram of its tick
	// durations in µs. Any goroutine may call these functions and those below.
	Report func() Report
	Ticks  func() *hdrhistogram.Histogram
	// Rooms returns the rooms, by name. A server of one world has one room.
	Rooms func() []Room
	// Kinds returns the figures of each kind of rooms. Refused counts the connections that
	// reached no room. For a server of one world both are nil, and so are StoredImages,
	// CreateRoom and DrainRoom.
	Kinds   func() []KindReport
	Refused func() session.RouterStats
	// StoredImages returns the stored images of a kind of rooms, and their maximum; 0: its rooms are not saved.
	StoredImages func(kind string) (images, most int)
	// CreateRoom makes a room. DrainRoom ends a room when it is empty or after within.
	CreateRoom func(ctx context.Context, name string) error
	DrainRoom  func(name string, within time.Duration) error
	// Kick ends a session with the reason within a tick. found reports whether it exists.
	Kick func(ctx context.Context, id uint64, reason string) (found bool, err error)
	// Signal sends a signal to a room, and returns the answer in JSON.
	Signal func(ctx context.Context, room, name string, args []byte) (answer []byte, err error)
	// ReserveSeats reserves seats of users in a room, which it makes if need be. A time of 0 gives seats up.
	ReserveSeats func(ctx context.Context, room string, users []string, lasts time.Duration) error
	// Routes are the game's own below gamePath, and Collectors its own metrics; both may be nil.
	Routes     http.Handler
	Collectors []prometheus.Collector
	// Cluster returns the figures of the server's rooms in a cluster; nil: there is none.
	Cluster func() Cluster
	// MoveRoom moves a room to another node, and MoveRooms all to any, until ctx ends: left are those that are still here.
	MoveRoom  func(ctx context.Context, room, node string) error
	MoveRooms func(ctx context.Context) (left []string, err error)
	// Cordon refuses new sessions, and Uncordon admits them again.
	Cordon   func()
	Uncordon func()
	Cordoned func() bool
	// Drain ends all sessions with a reason, and refuses new ones.
	Drain func(ctx context.Context, why wire.Error) error
	// Draining reports whether new sessions are refused.
	Draining func() bool
	// MaxSessions returns the bound of sessions.
	MaxSessions func() int
}

// Port is the operator's port.
type Port struct {
	bound    net.Listener
	listener net.Listener // bound, with bounds on its connections
	server   *http.Server
	guard    *guard
	serving  sync.WaitGroup
}

// Listen binds the address. Start begins to answer requests.
func Listen(c Config) (*Port, error) {
	guard := &guard{own: hostOf(c.Listen), log: c.Log, audit: c.Audit, mayConnect: c.Quic.AllowsOrigin}
	guard.access.Store(&c.Access)
	if c.Access.Certificate != nil {
		c.Certificate = func() *tls.Certificate { return guard.access.Load().Certificate }
	}
	var err error
	if guard.next, err = Handler(c); err != nil {
		return nil, err
	}
	return guard.listen(c)
}

// listen binds the address of c.
func (g *guard) listen(c Config) (*Port, error) {
	listener, err := c.bind()
	if err != nil {
		return nil, fmt.Errorf("server: cannot listen on the admin address %s: %w", c.Listen, err)
	}
	if !g.access.Load().authenticates() && isExposed(listener.Addr()) {
		return nil, errors.Join(ErrExposed, listener.Close()) // localhost may resolve to any address
	}
	return &Port{bound: listener, listener: pacedListener{listener, &g.connections}, server: newServer(g, c.Log), guard: g}, nil
}

// bind returns the listener of the port.
func (c *Config) bind() (net.Listener, error) {
	if c.Socket != nil {
		return net.FileListener(c.Socket)
	}
	return net.Listen(networkOf(c.Listen), c.Listen)
}

// Socket returns a duplicate of the port's socket.
func (p *Port) Socket() (*os.File, error) {
	tcp, ok := p.bound.(*net.TCPListener)
	if !ok {
		return nil, errors.New("server: the admin port has no TCP socket")
	}
	return tcp.File()
}

// Addr returns the TCP address of the port.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Start answers requests until Close.
func (p *Port) Start() {
	p.serving.Go(func() {
		if p.guard.access.Load().Certificate != nil {
			_ = p.server.ServeTLS(p.listener, "", "")
			return
		}
		_ = p.server.Serve(p.listener)
	})
}

// Close closes the port. Requests under way get a second to finish.
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

// newServer returns a server with bounded connections and timeouts.
func newServer(guard *guard, log *zap.Logger) *http.Server {
	guard.connections.places = map[net.Conn]place{}
	// Shutdown cancels requests, so that a running profile ends early and does not delay it.
	requests, cancel := context.WithCancel(context.Background())
	server := &http.Server{
		Handler: boundTime(guard), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return requests },
		ConnState:   guard.connections.trackState,
		ConnContext: withConn,
		TLSConfig:   guard.tlsConfig(),
		Protocols:   new(http.Protocols), // HTTP/1 only: one request at a time per connection
	}
	server.Protocols.SetHTTP1(true)
	// Any client can cause handshake errors, so they must not fill the log.
	server.ErrorLog, _ = zap.NewStdLogAt(log, zap.DebugLevel)
	server.RegisterOnShutdown(cancel)
	return server
}

// Handler returns the port's handler, without authorization. The error is a Collector's that cannot be registered.
func Handler(c Config) (http.Handler, error) {
	metrics, err := c.newGatherer()
	if err != nil {
		return nil, err
	}
	p := pages{c, &drainPlan{}, &clusterDrain{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", index)
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, ErrorLog: metricsLog{c.Log}}))
	mux.Handle("/debug/pprof/", profiles())
	mux.HandleFunc("/healthz", p.healthz)
	mux.HandleFunc("/readyz", p.readyz)
	mux.HandleFunc("GET /ticks", p.ticks)
	mux.HandleFunc("GET /web", p.web)
	for path := range liveFiles {
		mux.HandleFunc("GET "+path, p.live)
	}
	mux.HandleFunc("GET /rooms", p.rooms)
	mux.HandleFunc("GET /cluster", p.cluster)
	mux.HandleFunc("POST /cluster/move", p.moveRoom)
	mux.HandleFunc("POST /cluster/drain", p.drainNode)
	mux.HandleFunc("POST /rooms/create", p.createRoom)
	mux.HandleFunc("POST /rooms/drain", p.drainRoom)
	mux.HandleFunc("POST /rooms/close", p.closeRoom)
	mux.HandleFunc("GET /sessions", p.sessions)
	mux.HandleFunc("POST /sessions/{id}/qlog", p.qlog)
	mux.HandleFunc("POST /sessions/{id}/kick", p.kick)
	mux.HandleFunc("POST /sessions/{id}/watch", p.watch)
	mux.HandleFunc("POST /cordon", func(http.ResponseWriter, *http.Request) { p.Cordon() })
	mux.HandleFunc("POST /uncordon", p.uncordon)
	mux.HandleFunc("GET /drain", p.whatIsLeft)
	mux.HandleFunc("POST /drain", p.drain)
	if c.Routes != nil {
		mux.Handle(gamePath, http.StripPrefix(gamePath[:len(gamePath)-1], c.Routes))
	}
	mux.HandleFunc("POST /seats", p.reserveSeats)
	mux.HandleFunc("POST "+signalsPath+"{name}", p.signal)
	return nameIndex(mux), nil
}

// nameIndex makes requests for unknown paths learn where the paths are listed. A pattern of mux for all other paths
// would hide which methods a known path has.
func nameIndex(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.WithContext(r.Context())
		for _, asked.Method = range []string{http.MethodGet, http.MethodPost} {
			if _, pattern := mux.Handler(asked); pattern != "" {
				mux.ServeHTTP(w, r)
				return
			}
		}
		http.Error(w, fmt.Sprintf("the admin port has no page %s: GET / lists its pages", printable.Text(r.URL.Path)), http.StatusNotFound)
	})
}

// pages holds the handlers that report on the server.
type pages struct {
	Config
	planned *drainPlan
	leaving *clusterDrain
}

// boundTime limits the time of a request and its response.
func boundTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		until := time.Now().Add(answerTimeout)
		c := http.NewResponseController(w)
		_, _ = c.SetReadDeadline(until), c.SetWriteDeadline(until) // net/http's connections support deadlines
		next.ServeHTTP(w, r)
	})
}

// profiles serves net/http/pprof, at most maxProfiles at a time.
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

func index(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `worldd admin port:

GET  /metrics                        Prometheus metrics
GET  /healthz                        200 while the world ticks
GET  /readyz                         200 while sessions are free and ticks are on time
GET  /ticks                          tick durations in µs, as an HdrHistogram (V2, compressed)
GET  /live                           the world in this browser, if the server serves browsers
GET  /operator                       sessions, rooms and figures in this browser, with kick, drain and profiles
GET  /web                            the UDP port and certificate hashes that pages connect with, as JSON
GET  /rooms                          rooms, as JSON
POST /rooms/create?room=NAME         make a room, or open one that was drained or closed
POST /rooms/drain?room=NAME          refuse new sessions, and end the room when it is empty, or after 600 s (&seconds=N)
POST /rooms/close?room=NAME          end a room and its sessions; as after drain, its name stays closed
GET  /cluster                        nodes and their rooms, as JSON; of a node of a cluster
POST /cluster/move?room=NAME&node=N  move a room of this node to another one
POST /cluster/drain?seconds=N        cordon, and move the rooms to other nodes, for 60 s at most; GET /drain has the progress
POST /seats?room=NAME&user=A&user=B  reserve seats of users, for 30 s (&seconds=N; 0 gives them up); makes the room if need be
GET  /sessions?room=NAME             sessions, as JSON; of one room, if named
POST /sessions/ID/kick?reason=TEXT   end a session; its player sees TEXT
POST /sessions/ID/watch?session=N    show session ID the world from the entity of session N; without N, from its own again
POST /cordon                         refuse new sessions; those that exist play on
POST /uncordon                       admit new sessions again
POST /drain?seconds=N&to=HOST:PORT   cordon, and end the sessions that are left after N seconds (without seconds: all at once); their clients go to another server, if named
GET  /drain                          what is left, with the rooms and the deadline
POST /signals/NAME?room=NAME         send a signal to the game, with arguments and answer in JSON
     /game/...                       the game's own pages
POST /sessions/ID/qlog?seconds=N     record a session's QUIC transport, if a qlog folder is configured
GET  /debug/pprof/                   profiles
`)
}

// healthz fails if the world has stopped ticking.
func (p pages) healthz(w http.ResponseWriter, _ *http.Request) {
	last := p.Report().LastTick
	if last.IsZero() {
		http.Error(w, "no tick yet: the server is starting", http.StatusServiceUnavailable)
		return
	}
	if age := time.Since(last); age > staleTick {
		http.Error(w, fmt.Sprintf("no tick for %v", age.Round(time.Millisecond)), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// readyz fails if the server would refuse another client, or is too slow for one.
func (p pages) readyz(w http.ResponseWriter, r *http.Request) {
	report := p.Report()
	if report.LastTick.IsZero() {
		http.Error(w, "not serving", http.StatusServiceUnavailable)
		return
	}
	if p.Draining() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	if p.Cordoned() {
		http.Error(w, "cordoned", http.StatusServiceUnavailable)
		return
	}
	if p.Cluster != nil {
		if trouble := p.Cluster().trouble(); trouble != "" {
			http.Error(w, trouble, http.StatusServiceUnavailable)
			return
		}
	}
	if report.Active >= p.MaxSessions() {
		http.Error(w, "full", http.StatusServiceUnavailable)
		return
	}
	if report.Tick.Behind {
		http.Error(w, "behind: ticks are late or missed", http.StatusServiceUnavailable)
		return
	}
	if wait := report.Journal.Waiting; wait > stalledDisk {
		http.Error(w, fmt.Sprintf("the disk is stalled: a tick waits for the journal since %v", wait.Round(time.Millisecond)), http.StatusServiceUnavailable)
		return
	}
	p.healthz(w, r)
}

// web answers with the data that a page needs to connect, in JSON. Pages of other origins may read it
// if they may connect.
func (p pages) web(w http.ResponseWriter, r *http.Request) {
	if !p.Quic.ServesWeb() {
		http.Error(w, "WebTransport is off", http.StatusNotFound)
		return
	}
	hashes, err := p.Quic.WebCertificates()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && p.Quic.AllowsOrigin(origin) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(webInfo{
		Game: cmp.Or(p.Game, "worldd"), Version: p.Version, Port: p.Quic.Addr().Port, Path: quicserve.WebPath, CertificateHashes: hashes, OriginAllowed: p.Quic.AllowsOrigin(scheme + "://" + r.Host),
	}) // fails only if the operator has disconnected
}

// writeJSON answers with a value as printable JSON: clients choose names, and operators read
// them in a terminal.
func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, printable.Text(string(text))+"\n") // fails only if the operator has disconnected
}

// webInfo is the JSON of /web.
type webInfo struct {
	Game string `json:"game"`
	// Version is the game's, which a page of this server plays.
	Version string `json:"version"`
	Port    int    `json:"port"` // UDP
	Path    string `json:"path"`
	// CertificateHashes are the SHA-256 in hex of the current and the next certificate;
	// empty if pages dial by name.
	CertificateHashes []string `json:"certificate_hashes"`
	// OriginAllowed reports whether pages of this port may connect.
	OriginAllowed bool `json:"origin_allowed"`
}

// ticks encodes the histogram of all tick durations since the start. Unlike quantiles, two such
// responses can be subtracted to cover an interval.
func (p pages) ticks(w http.ResponseWriter, _ *http.Request) {
	text, err := p.Ticks().Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}
