package server

import (
	"crypto/tls"
	"errors"

	"github.com/worldd/worldd/internal/quicserve"
)

// Limits are what an operator may change while a server runs. Zero fields mean
// what they mean in Config.
type Limits struct {
	MaxSessions           int
	MaxSessionsPerAddress int
	// BudgetBytesPerSecond is replication.Config's.
	BudgetBytesPerSecond int
}

// SetLimits changes the limits from the next tick on. Sessions that are there
// stay, also where a new limit has no room for them. An error changes nothing. It
// may be called from any goroutine.
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

// SetBans is Core.SetBans.
func (s *Server) SetBans(users []string) { s.core.SetBans(users) }

// SetCertificate replaces the certificate from the next handshake on. Connections that
// exist go on. It may be called from any goroutine.
func (s *Server) SetCertificate(c *tls.Certificate) error { return s.quic.SetCertificate(c) }

// SetAdminAccess replaces Config.AdminAccess from the next request on, for new
// connections also the certificate. Whether the port is HTTPS cannot change. An error
// changes nothing. It may be called from any goroutine.
func (s *Server) SetAdminAccess(a AdminAccess) error {
	if s.admin == nil {
		return errors.New("server: there is no admin port")
	}
	if err := a.validate(); err != nil {
		return err
	}
	if (a.Certificate == nil) != (s.config.AdminAccess.Certificate == nil) {
		return errors.New("server: whether the admin port is HTTPS cannot change while it serves")
	}
	if !a.authenticates() && exposed(s.admin.listener.Addr()) {
		return ErrAdminExposed
	}
	s.admin.guard.access.Store(&a)
	return nil
}
