package host

import (
	"cmp"
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/token"
)

// reloader reloads the files that may change while the server runs.
type reloader struct {
	flags    *serveCommand
	server   *server.Server
	instance *Instance       // nil: the server reloads its rooms
	verifier *token.Verifier // nil: tokens are not required
	log      *zap.Logger
}

// run reloads on every request until ctx is done. Parts that cannot be loaded are logged and
// stay unchanged; the others are reloaded.
func (r *reloader) run(ctx context.Context, asked <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
		}
		done := reportReload()
		if r.instance != nil && r.instance.Reload != nil {
			r.reloadLimits()
		}
		r.server.ReloadRooms(ctx)
		r.reloadFile("certificate", r.flags.Cert != "" || r.flags.Identity != "", r.reloadCertificate)
		r.reloadFile("bans", r.flags.Bans != "", r.reloadBans)
		r.reloadFile("token keys", r.verifier != nil, r.reloadTokenKeys)
		r.reloadFile("admin access", r.flags.anyGiven(), r.reloadAdmin)
		done()
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
		chain, key = r.flags.Identity, r.flags.Identity // if the file is missing, do not create one
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
	access, err := r.flags.newAccess(r.log)
	if err != nil {
		return err
	}
	return r.server.SetAdminAccess(access)
}

func (r *reloader) reloadLimits() {
	l, changed, err := r.instance.Reload()
	if err == nil {
		l.MaxSessions = cmp.Or(r.flags.MaxSessions, l.MaxSessions)
		l.MaxSessionsPerAddress = r.flags.MaxSessionsPerAddress
		err = r.server.SetLimits(l)
	}
	if err != nil {
		r.log.Error("limits not reloaded: the old ones stay in use", zap.String("world", r.flags.worldName()), zap.Error(err))
		return
	}
	if len(changed) > 0 {
		r.log.Warn("more than limits has changed: restart to apply", zap.Strings("keys", changed))
	}
	r.log.Info("limits reloaded", zap.Int("max_sessions", l.MaxSessions),
		zap.Int("max_sessions_per_address", l.MaxSessionsPerAddress), zap.Int("budget_bytes_per_second", l.BudgetBytesPerSecond))
}
