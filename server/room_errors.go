package server

import (
	"errors"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// Bounds on the log lines about errors of the game, which clients can cause.
const (
	gameErrorsPerSecond = 1
	gameErrorBurst      = 10
)

// gameErrors logs the errors of a room's hooks that the game does not address to clients, and slow parts of
// the game. They are often mistakes, and clients do not receive their text. Only the goroutine that owns the world may
// call its methods.
type gameErrors struct {
	log     *zap.Logger
	limit   *rate.Limiter
	skipped int
}

func (g *gameErrors) logCommand(s *Session, command string, err error) {
	g.logError("a command of the game failed: its client receives command-refused", s, err, zap.String("command", command))
}

func (g *gameErrors) logJoin(s *Session, err error) {
	if e := (*wire.Error)(nil); !errors.As(err, &e) {
		g.logError("the game does not admit a client", s, err)
	}
}

func (g *gameErrors) logUnread(l session.Letter, err error) {
	g.warn("a message of another room is dropped: the game cannot read it", zap.String("from", l.From), zap.String("message", l.Name), zap.Error(err))
}

func (g *gameErrors) logError(text string, s *Session, err error, fields ...zap.Field) {
	g.warn(text, append(append(fields, sessionFields(s)...), zap.Error(err))...)
}

func (g *gameErrors) logSlowHook(h session.SlowHook) {
	fields := []zap.Field{zap.Stringer("hook", h.Hook), zap.Duration("took", h.Took)}
	if h.Session != 0 {
		fields = append(fields, zap.Uint64("session", h.Session))
	}
	if h.Command != "" {
		fields = append(fields, zap.String("command", h.Command))
	}
	g.warn("a hook of the game took longer than a tick", fields...)
}

// logSlowSystems logs the systems whose last run took longer than limit.
func (g *gameErrors) logSlowSystems(all []world.SystemStats, limit time.Duration) {
	for _, s := range all {
		if s.Last > limit {
			g.warn("a system of the game took longer than a tick", zap.String("system", s.Name), zap.Stringer("phase", s.Phase), zap.Duration("took", s.Last))
		}
	}
}

// warn logs a line, or counts it if there are many.
func (g *gameErrors) warn(text string, fields ...zap.Field) {
	if !g.limit.AllowN(time.Now(), 1) {
		g.skipped++
		return
	}
	if g.skipped > 0 {
		fields = append(fields, zap.Int("not_logged", g.skipped))
	}
	g.skipped = 0
	g.log.Warn(text, fields...)
}
