package server

import (
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

func (l Limits) validate() error {
	var errs []error
	if l.MaxSessions < 0 {
		errs = append(errs, fmt.Errorf("server: %d sessions at most: want a positive number, or 0 for %d", l.MaxSessions, DefaultMaxSessions))
	}
	if l.MaxSessionsPerAddress < 0 {
		errs = append(errs, fmt.Errorf("server: %d sessions at most from one address: want a positive number, or 0 for %d", l.MaxSessionsPerAddress, DefaultMaxSessionsPerAddress))
	}
	return errors.Join(errs...)
}

// SetLimits changes the limits from the next tick on. Sessions that are there
// stay, also where a new limit has no room for them. An error changes nothing. It
// may be called from any goroutine.
func (s *Server) SetLimits(l Limits) error {
	l = l.withDefaults()
	config := s.core.config.Replication
	config.BudgetBytesPerSecond = l.BudgetBytesPerSecond
	if err := errors.Join(l.validate(), config.Validate(s.core.world.TickHz())); err != nil {
		return err
	}
	s.core.setLimits(l.MaxSessions, config.WithDefaults().BudgetBytesPerSecond)
	s.door.set(l)
	return nil
}

// setLimits keeps them for the tick.
func (c *Core) setLimits(maxSessions, budget int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.maxSessions, c.budget = maxSessions, budget
}
