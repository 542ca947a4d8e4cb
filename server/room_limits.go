package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server/session"
)

// setBans replaces the banned users of all rooms, present and future.
func (m *rooms) setBans(users []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bans = slices.Clone(users)
	for _, r := range m.byName {
		if run := r.run.Load(); run != nil {
			m.applySettings(run)
		}
	}
}

// setLimits changes the bound of sessions, and the budgets of all rooms, present and future.
func (m *rooms) setLimits(l Limits) error {
	if l.MaxSessions < 0 {
		return fmt.Errorf("server: %d sessions at most: want a positive number, or 0 for %d", l.MaxSessions, session.DefaultMaxSessions)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var open []*run
	for _, r := range m.byName {
		now := r.run.Load()
		if now == nil {
			continue
		}
		own := now.core.Config().Replication
		own.BudgetBytesPerSecond = l.BudgetBytesPerSecond
		if err := own.Validate(now.core.World().TickHz()); err != nil {
			return fmt.Errorf("server: room %s: %w", r.name, err)
		}
		open = append(open, now)
	}
	m.most, m.budget = cmp.Or(l.MaxSessions, session.DefaultMaxSessions), &l.BudgetBytesPerSecond
	for _, now := range open {
		m.applySettings(now)
	}
	return nil
}

// reloadAll reloads the limits of each room between two of its ticks.
func (m *rooms) reloadAll(ctx context.Context) {
	for _, r := range m.sortedRooms() {
		now := r.run.Load()
		if now == nil || now.reload == nil {
			continue
		}
		go func() {
			if err := now.loop.runBetweenTicks(ctx, func() { m.lifeOf(r).reloadRun(now) }); err != nil {
				now.log.Error(notReloaded, zap.Error(err))
			}
		}()
	}
}

const notReloaded = "limits not reloaded: the old ones stay in use"

// reloadRun runs on the goroutine that owns the world of now.
func (l *roomLife) reloadRun(now *run) {
	var limits Limits
	var changed []string
	err := l.callGame("Reload", func() (err error) {
		limits, changed, err = now.reload()
		return err
	})
	if err == nil {
		err = now.core.SetLimits(cmp.Or(l.kind.MaxSessions, limits.MaxSessions), limits.BudgetBytesPerSecond)
	}
	if err != nil {
		now.log.Error(notReloaded, zap.Error(err))
		return
	}
	if len(changed) > 0 {
		now.log.Warn("more than limits has changed: it applies to rooms that are made from now on", zap.Strings("keys", changed))
	}
	now.log.Info("limits reloaded", zap.Int("max_sessions", now.core.MaxSessions()), zap.Int("budget_bytes_per_second", limits.BudgetBytesPerSecond))
}

// applySettings applies the settings for all rooms to a run. Callers hold m.mu.
func (m *rooms) applySettings(now *run) {
	now.core.SetBans(m.bans)
	if m.budget == nil {
		return
	}
	if err := now.core.SetLimits(now.core.MaxSessions(), *m.budget); err != nil {
		now.log.Error("the room keeps its own budget", zap.Error(err))
	}
}
