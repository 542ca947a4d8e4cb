package server

import (
	"context"
	"crypto/rand"

	"github.com/worldd/worldd/server/session"
)

// What a game and its host use of package session.
type (
	Admission  = session.Admission
	Admit      = session.Admit
	Command    = session.Command
	Conn       = session.Conn
	Core       = session.Core
	CoreConfig = session.CoreConfig
	Game       = session.Game
	Hook       = session.Hook
	Peer       = session.Peer
	Rejection  = session.Rejection
	Session    = session.Session
	Stats      = session.Stats
)

// The hooks of a game.
const (
	HookJoin    = session.HookJoin
	HookLeave   = session.HookLeave
	HookAway    = session.HookAway
	HookBack    = session.HookBack
	HookInput   = session.HookInput
	HookCommand = session.HookCommand
	HookAdmit   = session.HookAdmit
)

// Defaults of CoreConfig.
const (
	DefaultMaxSessions       = session.DefaultMaxSessions
	DefaultCommandsPerSecond = session.DefaultCommandsPerSecond
	DefaultCommandBurst      = session.DefaultCommandBurst
)

// NewCore makes a Core with the system's randomness, unless c has its own, and its
// clock: Admit is given session.HelloTimeout.
func NewCore(c CoreConfig) (*Core, error) {
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Admit != nil {
		c.Admit = timed(c.Admit)
	}
	return session.NewCore(c)
}

// timed bounds how long admit may take.
func timed(admit Admit) Admit {
	return func(ctx context.Context, token []byte) (Admission, error) {
		ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
		defer cancel()
		return admit(ctx, token)
	}
}
