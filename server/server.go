package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/quicserve"
)

// Server hosts one world, or rooms, with sockets and a clock: a UDP port for clients, and
// optionally a TCP port for the operator.
type Server struct {
	config  Config
	log     *zap.Logger
	quic    *quicserve.Listener
	admin   *admin.Port
	timings *admin.Timings
	room    *Room  // the only one; nil with Config.Rooms
	rooms   *rooms // nil without

	descriptors *descriptorReserve
	used        atomic.Bool // Serve or Close was called
	serving     atomic.Bool // clients are accepted, after all pinned rooms were made
}

// Listen binds the addresses, and so detects invalid or occupied ones before the server starts.
// Serve then runs the server.
func Listen(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.DrainTimeout = cmp.Or(c.DrainTimeout, defaultDrainTimeout)
	c.Log = sampledLogger(cmp.Or(c.Log, zap.NewNop()))
	s := &Server{config: c, log: c.Log}
	if c.Rooms != nil {
		s.timings = admin.NewTimings(admin.KindLabel)
		var err error
		if s.rooms, err = newRooms(c, s.timings); err != nil {
			return nil, err
		}
		s.descriptors = s.rooms.descriptors
	} else {
		s.timings = admin.NewTimings()
		if c.Image.Store != nil {
			s.descriptors = newDescriptorReserve()
		}
		only, err := newRun(c.sessionConfig(), c.Image, c.Log, s.timings.Ticks(), s.descriptors, newTracer(c.Trace, newDepartures(), c.sessionConfig()))
		if err != nil {
			return nil, err
		}
		s.room = &Room{name: c.Room, state: roomOpen, opened: time.Now()}
		s.room.run.Store(only)
	}
	if err := s.bindPorts(); err != nil {
		s.discardRun()
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: end the program that listens there, or choose another port", err)
		}
		return nil, err
	}
	return s, nil
}

const (
	// In each second, logBurst lines of the same text are logged, then every logEvery-th: a
	// client that connects in a loop must not fill the disk. The audit trail is not sampled.
	logBurst = 50
	logEvery = 100
)

func sampledLogger(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		whole := printableCore{core}
		return auditCore{zapcore.NewSamplerWithOptions(whole, time.Second, logBurst, logEvery), whole}
	}))
}

func (s *Server) bindPorts() (err error) {
	c := s.config
	opener, draining := s.connectionOpener()
	s.quic, err = quicserve.Listen(quicserve.Config{
		Listen: c.Listen, Socket: c.Sockets.clients(), Opener: opener, Draining: draining, Certificate: c.Certificate, StatelessResetKey: s.resetKey(),
		Web: (*quicserve.WebConfig)(c.Web), Peers: (*quicserve.Peers)(c.Peers),
		Limits:  quicserve.Limits{MaxSessions: c.maxSessions(), MaxSessionsPerAddress: c.MaxSessionsPerAddress},
		QlogDir: c.QlogDir, Log: c.Log, Audit: auditLogger(c.Log),
		Observers: quicserve.Observers{SnapshotAge: s.timings.Snapshots.Observe, Unsent: s.timings.Unsent.Observe},
	})
	if err != nil {
		return err
	}
	if c.QlogDir != "" {
		if info, err := os.Stat(c.QlogDir); err != nil || !info.IsDir() {
			c.Log.Warn("the qlog folder is missing: transports cannot be recorded until it exists", zap.String("folder", c.QlogDir))
		}
	}
	if s.config.AdminListen != "" {
		if s.admin, err = admin.Listen(s.adminConfig()); err != nil {
			return errors.Join(err, s.closeSockets())
		}
	}
	return nil
}

// Room returns the only room of a server of one world, and nil with Config.Rooms.
func (s *Server) Room() *Room { return s.room }

// Addr returns the UDP address to which clients connect.
func (s *Server) Addr() *net.UDPAddr { return s.quic.Addr() }

// AdminAddr returns the TCP address of the admin port, or nil without one.
func (s *Server) AdminAddr() net.Addr {
	if s.admin == nil {
		return nil
	}
	return s.admin.Addr()
}

// Fingerprint returns the SHA-256 of the server's current certificate in hex, for clients
// to pin.
func (s *Server) Fingerprint() string { return s.quic.Fingerprint() }

// WebCertificates returns the SHA-256 in hex of the certificates that pages pin (the option
// serverCertificateHashes of WebTransport): the current and the next one. A page that knows
// both can connect for five days. It returns none without Config.Web, or with WebConfig.ByName.
// Any goroutine may call it.
func (s *Server) WebCertificates() ([]string, error) { return s.quic.WebCertificates() }

// Serve runs the server until ctx is done. Then it refuses new clients, sends a last snapshot
// and a Bye to the others, and closes everything. With a journal and Hooks.SaveSession the
// sessions of the only world do not end, and Leave is not called: they wait for the next start
// (Config.Restore). If the cause of ctx is ErrHandOver, another process continues on the same sockets: Serve
// leaves new clients to that process, except those that are connecting at this moment, and ends as soon as the others have received their Bye. The error is nil after an orderly end, and wraps
// ErrTicksSpent if the run has exhausted its ticks. Serve may be called once, and not after Close.
func (s *Server) Serve(ctx context.Context) error {
	if s.used.Swap(true) {
		return errors.New("server: Serve called after Serve or Close: use Listen to make another server")
	}
	if s.config.Peers != nil { // nodes that start together give each other copies of the first images
		s.quic.StartPeers()
	}
	if err := s.beginServing(ctx); err != nil {
		s.discardRun()
		return errors.Join(err, s.closeSockets())
	}
	if s.admin != nil {
		s.admin.Start()
	}
	s.quic.Start()
	s.serving.Store(true)
	s.log.Info("serving", s.describe()...)
	ended := s.runRooms(ctx)
	s.quic.Await(s.goodbyeTimeout(ctx))
	err := errors.Join(ended, s.closeSockets())
	s.log.Info("ended")
	return err
}

// describe returns what the line "serving" says: the address, the versions, and of a single world its run
// and the tick at which it continues, 0 if it is new.
func (s *Server) describe() []zap.Field {
	fields := []zap.Field{
		zap.Stringer("addr", s.Addr()), zap.String("fingerprint", s.Fingerprint()),
		zap.String("version", admin.ModuleVersion()), zap.String("game", s.config.GameName), zap.String("game_version", s.config.Versions.Game),
	}
	if s.rooms == nil {
		core := s.room.run.Load().core
		fields = append(fields, epochField(core.Config().Epoch), zap.Uint64("tick", core.World().Tick()))
	}
	return fields
}

// epochField is the form of a run in each log line.
func epochField(epoch uint64) zap.Field { return zap.String("epoch", fmt.Sprintf("%016x", epoch)) }

// beginServing makes the first image, or the pinned rooms.
func (s *Server) beginServing(ctx context.Context) error {
	if s.rooms == nil {
		return s.room.run.Load().begin()
	}
	err := s.rooms.startPinned(ctx)
	if err != nil {
		err = errors.Join(err, s.rooms.endRooms())
	}
	return err
}

// runRooms runs the rooms until ctx is done, and ends them.
func (s *Server) runRooms(ctx context.Context) error {
	if s.rooms == nil {
		return s.room.run.Load().serveUntil(ctx, func() runEnd {
			s.stopAccepting(ctx)
			if isHandOver(ctx) {
				return endHandOver
			}
			return endServer
		})
	}
	expire := time.NewTicker(helloCheck)
	defer expire.Stop()
	for {
		select {
		case now := <-expire.C:
			s.rooms.router.Expire(now)
		case <-ctx.Done():
			s.stopAccepting(ctx)
			return s.rooms.endRooms()
		}
	}
}

// helloCheck is the interval at which connections without a Hello are checked for the timeout.
const helloCheck = 250 * time.Millisecond

// lastSnapshotWait is the time between the last snapshot and the Bye, after which clients apply
// nothing: a usual network delay and several frames.
const lastSnapshotWait = 100 * time.Millisecond

// Close closes a server that was not served. Serve closes its server by itself.
func (s *Server) Close() error {
	var ended error
	if !s.used.Swap(true) {
		s.discardRun()
		if s.rooms != nil { // rooms that were created before Serve
			ended = s.rooms.endRooms()
		}
	}
	return errors.Join(ended, s.closeSockets())
}

// discardRun releases the only world of a server, which will not tick.
func (s *Server) discardRun() {
	if s.room != nil {
		s.room.run.Load().discard()
	}
}

// closeSockets ends the remaining connections and closes the ports.
func (s *Server) closeSockets() error {
	var errs []error
	if s.admin != nil {
		errs = append(errs, s.admin.Close())
	}
	s.descriptors.close()
	return errors.Join(append(errs, s.quic.Close())...)
}

// Limits are the limits that an operator can change while a server runs. A zero field sets the
// default of Config; it does not keep the current limit.
type Limits struct {
	MaxSessions           int
	MaxSessionsPerAddress int
	// BudgetBytesPerSecond replaces Config.Replication.BudgetBytesPerSecond.
	BudgetBytesPerSecond int
}

// SetLimits changes the limits from the next tick on. Existing sessions stay, even beyond a new
// limit. With Config.Rooms, MaxSessions bounds the sessions of all rooms, and the budget
// applies to each room. An error changes nothing. Any goroutine may call it.
func (s *Server) SetLimits(l Limits) error {
	connections := quicserve.Limits{MaxSessions: l.MaxSessions, MaxSessionsPerAddress: l.MaxSessionsPerAddress}
	if err := connections.Validate(); err != nil {
		return err
	}
	set := func() error { return s.room.run.Load().core.SetLimits(l.MaxSessions, l.BudgetBytesPerSecond) }
	if s.rooms != nil {
		set = func() error { return s.rooms.setLimits(l) }
	}
	if err := set(); err != nil {
		return err
	}
	s.quic.SetLimits(connections)
	return nil
}

// SetBans replaces the set of banned users: see session.Core.SetBans. Any goroutine may
// call it.
func (s *Server) SetBans(users []string) {
	if s.rooms != nil {
		s.rooms.setBans(users)
		return
	}
	s.room.run.Load().core.SetBans(users)
}

// SetCertificate replaces the certificate from the next handshake on. Existing connections
// stay. Any goroutine may call it.
func (s *Server) SetCertificate(c *tls.Certificate) error { return s.quic.SetCertificate(c) }

// SetAdminAccess replaces Config.AdminAccess from the next request on, and the certificate
// for new connections. It cannot turn HTTPS on or off. An error changes nothing. Any
// goroutine may call it.
func (s *Server) SetAdminAccess(a AdminAccess) error {
	if s.admin == nil {
		return errors.New("server: no admin port is configured")
	}
	return s.admin.SetAccess(admin.Access(a))
}

// Kick ends the session with the given ID within a tick, and sends the client the reason.
// It does nothing if there is no such session. Any goroutine may call it.
func (s *Server) Kick(id uint64, reason string) {
	if s.rooms != nil {
		s.rooms.router.Kick(id, reason)
		return
	}
	s.room.run.Load().core.Kick(id, reason)
}

// Report returns the server's figures, at most one second old. With Config.Rooms they are sums
// over all rooms, including ended ones. Any goroutine may call it.
func (s *Server) Report() Report { return reportOf(s.report()) }

func (s *Server) report() admin.Report {
	var r admin.Report
	if s.rooms == nil {
		r = s.room.run.Load().loop.report()
	} else {
		r = s.rooms.report()
	}
	if !s.serving.Load() { // pinned rooms may tick while others are made, or fail
		r.LastTick = time.Time{}
	}
	r.Traffic = s.quic.Traffic()
	r.Web = min(s.quic.WebClients(), r.Active)
	return r
}
