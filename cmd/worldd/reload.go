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
	"github.com/worldd/worldd/server/token"
)

// limits returns the server's limits from the command line and the world file.
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

// hangups catches SIGHUP from now until the process ends: it must not kill a process
// that is loading, or saving its world for the last time. Closing a terminal, and
// systemd if so configured, sends one right after SIGTERM.
func hangups() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	return asked
}

// reloader reloads what may change while the server runs.
type reloader struct {
	flags    *serveCommand
	server   *server.Server
	running  *scenes.File    // of the running world
	verifier *token.Verifier // nil: tokens are not required
	log      *zap.Logger
}

// run reloads on every request until ctx is done. Parts that cannot be loaded are
// logged and unchanged; the others are reloaded.
func (r *reloader) run(ctx context.Context, asked <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
		}
		r.reloadLimits()
		r.reloadFile("certificate", r.flags.Cert != "" || r.flags.Identity != "", r.reloadCertificate)
		r.reloadFile("bans", r.flags.Bans != "", r.reloadBans)
		r.reloadFile("token keys", r.verifier != nil, r.reloadTokenKeys)
		r.reloadFile("admin access", r.flags.given(), r.reloadAdmin)
	}
}

func (r *reloader) reloadFile(what string, given bool, reload func() error) {
	if !given {
		return
	}
	if err := reload(); err != nil {
		r.log.Error(what+" not reloaded: the old one stays in use", zap.Error(err))
		return
	}
	r.log.Info(what + " reloaded")
}

func (r *reloader) reloadCertificate() error {
	chain, key := r.flags.Cert, r.flags.Key
	if r.flags.Identity != "" {
		chain, key = r.flags.Identity, r.flags.Identity // if the file is gone, do not create one
	}
	pair, err := readPair(chain, key)
	if err != nil {
		return err
	}
	before := r.server.Fingerprint()
	if err := r.server.SetCertificate(&pair); err != nil {
		return err
	}
	if after := r.server.Fingerprint(); after != before {
		r.log.Info("the certificate has changed: clients that pin the old one cannot connect", zap.String("fingerprint", after))
	}
	return nil
}

func (r *reloader) reloadBans() error {
	users, err := r.flags.bannedUsers()
	if err != nil {
		return err
	}
	r.server.SetBans(users)
	return nil
}

func (r *reloader) reloadTokenKeys() error {
	public, err := r.flags.tokenKeys()
	if err != nil {
		return err
	}
	return r.verifier.SetKeys(public...)
}

func (r *reloader) reloadAdmin() error {
	access, err := r.flags.access(r.log)
	if err != nil {
		return err
	}
	return r.server.SetAdminAccess(access)
}

func (r *reloader) reloadLimits() {
	l, rest, err := r.limits()
	if err != nil {
		r.log.Error("limits not reloaded: the old ones stay in use", zap.String("world", r.flags.World), zap.Error(err))
		return
	}
	if len(rest) > 0 {
		r.log.Warn("the world file has changed beyond its limits: restart to apply", zap.Strings("keys", rest))
	}
	r.log.Info("limits reloaded", zap.Int("max_sessions", l.MaxSessions),
		zap.Int("max_sessions_per_address", l.MaxSessionsPerAddress), zap.Int("budget_bytes_per_second", l.BudgetBytesPerSecond))
}

// limits returns the world file's limits, and the other keys that have changed and
// require a restart.
func (r *reloader) limits() (l server.Limits, rest []string, err error) {
	file, err := loadWorld(r.flags.World)
	if err != nil {
		return server.Limits{}, nil, err
	}
	if n, players := file.Limits.MaxPlayers, r.running.Limits.MaxPlayers; n > players {
		return server.Limits{}, nil, fmt.Errorf("limits.max_players is %d, but this world was started for %d: restart to raise it", n, players)
	}
	l = r.flags.limits(file)
	if err := r.server.SetLimits(l); err != nil {
		return server.Limits{}, nil, err
	}
	file.Limits.MaxPlayers, file.BudgetBytesPerSecond = r.running.Limits.MaxPlayers, r.running.BudgetBytesPerSecond
	return l, r.running.ChangedKeys(file), nil
}
