package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Server is a session.Core with sockets and a clock: a UDP port for clients, and optionally a TCP
// port for the operator.
type Server struct {
	config  Config
	core    *session.Core
	log     *zap.Logger
	quic    *quicserve.Listener
	admin   *admin.Port
	timings *admin.Timings
	loop    *loop
	used    atomic.Bool // Serve or Close was called
}

// Listen binds the addresses, which detects invalid or occupied ones before anything is
// started. Serve then runs the server.
func Listen(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.DrainTimeout = cmp.Or(c.DrainTimeout, defaultDrainTimeout)
	c.Log = sampledLogger(cmp.Or(c.Log, zap.NewNop()))
	c.Game = loggedGame(c.Log, c.Game)
	core, err := session.NewCore(c.session())
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, core: core, log: c.Log, timings: admin.NewTimings()}
	core.OnPanic(s.logPanic)
	core.OnDiverge(s.logResync)
	s.loop = newLoop(core, s.timings, newSaver(c.Image, core.World(), c.Log), c.Log)
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

const (
	// logBurst lines of the same text are logged each second, then every logEvery-th: a
	// client that connects in a loop must not fill the disk.
	logBurst = 50
	logEvery = 100
)

func sampledLogger(log *zap.Logger) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, logBurst, logEvery)
	}))
}

// loggedGame returns g with a log line for each session that joins, is away, is back, or
// leaves. A session that is away leaves long after the last line of its connection.
func loggedGame(log *zap.Logger, g Game) Game {
	line := func(text string, s *Session, entity world.Entity) {
		fields := []zap.Field{zap.Uint64("session", s.ID()), zap.String("name", s.Name()), zap.Stringer("entity", entity)}
		if user := s.User(); user != "" {
			fields = append(fields, zap.String("user", user))
		}
		if e := s.Ending(); e != nil {
			fields = append(fields, zap.Stringer("code", e.Code))
			if e.Detail != "" {
				fields = append(fields, zap.String("why", e.Detail))
			}
		}
		log.Info(text, fields...)
	}
	after := func(text string, f func(*Session)) func(*Session) {
		return func(s *Session) {
			line(text, s, s.Entity())
			if f != nil {
				f(s)
			}
		}
	}
	join := g.Join
	g.Join = func(s *Session) (entity world.Entity, err error) {
		if join != nil {
			entity, err = join(s)
		}
		if err == nil {
			line("joined", s, entity)
		}
		return entity, err
	}
	g.Away, g.Back, g.Leave = after("away", g.Away), after("back", g.Back), after("left", g.Leave)
	return g
}

func (s *Server) logPanic(p session.HookPanic) {
	s.log.Error("the game panicked: its session ends", zap.Stringer("hook", p.Hook), zap.Uint64("session", p.Session),
		zap.String("panic", fmt.Sprint(p.Value)), zap.ByteString("stack", p.Stack))
}

// logResync logs that a client asked for all states again.
func (s *Server) logResync(of *session.Session) {
	s.log.Warn("a client computed bodies otherwise than the server, or not in time: it is sent all states again",
		zap.Uint64("session", of.ID()), zap.String("user", of.User()), zap.String("name", of.Name()))
}

func (s *Server) listen() (err error) {
	c := s.config
	s.quic, err = quicserve.Listen(quicserve.Config{
		Listen: c.Listen, Core: s.core, Certificate: c.Certificate, StatelessResetKey: c.StatelessResetKey,
		Web:     c.Web,
		Limits:  quicserve.Limits{MaxSessions: c.MaxSessions, MaxSessionsPerAddress: c.MaxSessionsPerAddress},
		QlogDir: c.QlogDir, Log: c.Log,
		Observers: quicserve.Observers{SnapshotAge: s.timings.Snapshots.Observe, Unsent: s.timings.Unsent.Observe},
	})
	if err != nil {
		return err
	}
	if s.config.AdminListen != "" {
		s.admin, err = admin.Listen(admin.Config{
			Listen: c.AdminListen, Game: c.GameName, Access: c.AdminAccess, Log: c.Log, Core: s.core, Schema: s.core.Config().Schema,
			Quic: s.quic, Timings: s.timings, Report: s.Report, Ticks: s.loop.durations, Ask: s.loop.ask,
		})
		if err != nil {
			return errors.Join(err, s.closeSockets())
		}
	}
	return nil
}

// Addr returns the UDP address that clients connect to.
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
// both can connect for five days. Without Config.Web, or with WebConfig.ByName, there are
// none. Any goroutine may call it.
func (s *Server) WebCertificates() ([]string, error) { return s.quic.WebCertificates() }

// Serve runs the server until ctx is done. Then it refuses new clients, sends a last
// snapshot and a Bye to the others, and closes everything. The error is nil after an
// orderly end, and wraps ErrTicksSpent if the run has exhausted its ticks. Serve may be
// called once, and not after Close.
func (s *Server) Serve(ctx context.Context) error {
	if s.used.Swap(true) {
		return errors.New("server: Serve called after Serve or Close: use Listen to make another server")
	}
	s.log.Info("serving", zap.Stringer("addr", s.Addr()), zap.String("fingerprint", s.Fingerprint()))
	if err := s.loop.saver.begin(); err != nil {
		return errors.Join(err, s.closeSockets())
	}
	if s.admin != nil {
		s.admin.Start()
	}
	s.quic.Start()
	ended := s.loop.run(ctx)
	s.quic.Refuse()
	if s.core.Active() > 0 {
		time.Sleep(lastSnapshotWait)
	}
	s.loop.drain()
	s.core.Close()
	unsaved := s.loop.saver.end()
	s.quic.Await(s.config.DrainTimeout)
	err := errors.Join(ended, unsaved, s.closeSockets())
	s.log.Info("ended")
	return err
}

// lastSnapshotWait is the time between the last snapshot and the Bye, after which clients
// apply nothing: a usual network delay and several frames.
const lastSnapshotWait = 100 * time.Millisecond

// Close closes a server that was not served. Serve closes its server by itself.
func (s *Server) Close() error {
	s.used.Store(true)
	return s.closeSockets()
}

// closeSockets ends the remaining connections and closes the ports.
func (s *Server) closeSockets() error {
	var errs []error
	if s.admin != nil {
		errs = append(errs, s.admin.Close())
	}
	return errors.Join(append(errs, s.quic.Close())...)
}

// Limits are the limits that an operator can change while a server runs. Zero fields have
// the same meaning as in Config.
type Limits struct {
	MaxSessions           int
	MaxSessionsPerAddress int
	// BudgetBytesPerSecond replaces Config.Replication.BudgetBytesPerSecond.
	BudgetBytesPerSecond int
}

// SetLimits changes the limits from the next tick on. Existing sessions stay, even beyond
// a new limit. An error changes nothing. Any goroutine may call it.
func (s *Server) SetLimits(l Limits) error {
	connections := quicserve.Limits{MaxSessions: l.MaxSessions, MaxSessionsPerAddress: l.MaxSessionsPerAddress}
	if err := connections.Validate(); err != nil {
		return err
	}
	if err := s.core.SetLimits(l.MaxSessions, l.BudgetBytesPerSecond); err != nil {
		return err
	}
	s.quic.SetLimits(connections)
	return nil
}

// SetBans replaces the set of banned users: see session.Core.SetBans. Any goroutine may
// call it.
func (s *Server) SetBans(users []string) { s.core.SetBans(users) }

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
	return s.admin.SetAccess(a)
}

// Kick ends the session with the given ID within a tick, and sends the client the reason.
// It does nothing if there is no such session. Any goroutine may call it.
func (s *Server) Kick(id uint64, reason string) { s.core.Kick(id, reason) }

// Report returns the server's figures, at most one second old. Any goroutine may call it.
func (s *Server) Report() Report {
	r := s.loop.report()
	r.Traffic = s.quic.Traffic()
	r.Web = min(s.quic.WebClients(), r.Active)
	return r
}
