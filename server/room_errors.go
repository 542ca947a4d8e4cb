package server

import (
	"errors"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
)

// Bounds on the log lines about errors of the game, which clients can cause.
const (
	gameErrorsPerSecond = 1
	gameErrorBurst      = 10
)

// gameErrors logs the errors of a room's hooks that the game does not address to clients. They are often
// mistakes, and clients do not receive their text. Only the goroutine that owns the world may
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

func (g *gameErrors) logError(text string, s *Session, err error, fields ...zap.Field) {
	if !g.limit.AllowN(time.Now(), 1) {
		g.skipped++
		return
	}
	if g.skipped > 0 {
		fields = append(fields, zap.Int("not_logged", g.skipped))
	}
	g.skipped = 0
	g.log.Warn(text, append(fields, zap.Uint64("session", s.ID()), zap.String("user", s.User()), zap.String("name", s.Name()), zap.Error(err))...)
}
