package server

import (
	"crypto/tls"
	"errors"
	"fmt"
)

// Limits are what an operator may change while a server runs. Zero fields mean
// what they mean in Config.
type Limits struct {
	MaxSessions           int
	MaxSessionsPerAddress int
	// BudgetBytesPerSecond is replication.Config's.
	BudgetBytesPerSecond int
}

func (c Config) limits() Limits {
	return Limits{c.MaxSessions, c.MaxSessionsPerAddress, c.Replication.BudgetBytesPerSecond}.withDefaults()
}

func (l Limits) withDefaults() Limits {
	if l.MaxSessions == 0 {
		l.MaxSessions = DefaultMaxSessions
	}
	return l
}

// validate checks what CoreConfig and Core.SetLimits do not.
func (l Limits) validate() error {
	if l.MaxSessionsPerAddress < 0 {
		return fmt.Errorf("server: %d sessions at most from one address: want a positive number, or 0 for %d", l.MaxSessionsPerAddress, DefaultMaxSessionsPerAddress)
	}
	return nil
}

// SetLimits changes the limits from the next tick on. Sessions that are there
// stay, also where a new limit has no room for them. An error changes nothing. It
// may be called from any goroutine.
func (s *Server) SetLimits(l Limits) error {
	if err := l.validate(); err != nil {
		return err
	}
	if err := s.core.SetLimits(l.MaxSessions, l.BudgetBytesPerSecond); err != nil {
		return err
	}
	s.door.set(l.withDefaults())
	return nil
}

// SetBans is Core.SetBans.
func (s *Server) SetBans(users []string) { s.core.SetBans(users) }

// SetCertificate replaces the certificate from the next handshake on. Connections that
// exist go on. It may be called from any goroutine.
func (s *Server) SetCertificate(c *tls.Certificate) error {
	if err := validateCertificate(c); err != nil {
		return err
	}
	s.certificate.Store(c)
	return nil
}

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
