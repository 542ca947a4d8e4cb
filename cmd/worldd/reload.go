package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/server"
)

// limits are the server's, as the command line and the world file say.
func (c *serveCommand) limits(file *scenes.File) server.Limits {
	l := server.Limits{
		MaxSessions: file.Limits.MaxPlayers, MaxSessionsPerAddress: c.MaxSessionsPerAddress,
		BudgetBytesPerSecond: file.BudgetBytesPerSecond,
	}
	if c.MaxSessions != 0 {
		l.MaxSessions = c.MaxSessions
	}
	return l
}

// hangups is where SIGHUP comes to from now on until the process ends: it must not
// kill one that still loads its world, or saves it for the last time. Who closes a
// terminal, and systemd if it is asked to, sends one right after SIGTERM.
func hangups() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	return asked
}

// reloading takes the limits of the world file anew each time that it is asked,
// until ctx is done: nothing else in it can change while the world runs, which is told
// if it was tried. A file that is wrong changes nothing. running is what the world was
// made from.
func (c *serveCommand) reloading(ctx context.Context, asked <-chan os.Signal, s *server.Server, running *scenes.File, log *zap.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
		}
		c.reloadBans(s, log)
		l, rest, err := c.reload(s, running)
		if err != nil {
			log.Error("limits not reloaded: they stay as they were", zap.String("world", c.World), zap.Error(err))
			continue
		}
		if len(rest) > 0 {
			log.Warn("the world file has changed in more than its limits: that takes a restart", zap.Strings("keys", rest))
		}
		log.Info("limits reloaded", zap.Int("max_sessions", l.MaxSessions),
			zap.Int("max_sessions_per_address", l.MaxSessionsPerAddress), zap.Int("budget_bytes_per_second", l.BudgetBytesPerSecond))
	}
}

// reload also returns the keys of the file that have changed and stay as they were.
func (c *serveCommand) reload(s *server.Server, running *scenes.File) (l server.Limits, rest []string, err error) {
	file, err := loadWorld(c.World)
	if err != nil {
		return server.Limits{}, nil, err
	}
	if n, players := file.Limits.MaxPlayers, running.Limits.MaxPlayers; n > players {
		return server.Limits{}, nil, fmt.Errorf("limits.max_players is %d, and this world was started for %d: more takes a restart", n, players)
	}
	l = c.limits(file)
	if err := s.SetLimits(l); err != nil {
		return server.Limits{}, nil, err
	}
	file.Limits.MaxPlayers, file.BudgetBytesPerSecond = running.Limits.MaxPlayers, running.BudgetBytesPerSecond
	return l, running.ChangedKeys(file), nil
}
