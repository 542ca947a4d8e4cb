package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/server/session"
)

// What games and their hosts use of package session.
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

// DefaultMaxSessionsPerAddress is the default of Config.MaxSessionsPerAddress.
const DefaultMaxSessionsPerAddress = quicserve.DefaultMaxSessionsPerAddress

type (
	// Traffic counts what all connections have carried since the start, and the attempts
	// that became none.
	Traffic = quicserve.Traffic
	// Packets counts UDP packets of all connections since the start.
	Packets = quicserve.Packets
)

// KeptCertificate returns the certificate of a PEM file that holds it and its private
// key, for Config.Certificate. If there is no such file, it makes both and writes them
// there, readable by the owner alone, so that the Fingerprint that clients pin stays the
// same over restarts. A file that exists and cannot be used is an error, and is left as
// it is.
func KeptCertificate(path string) (*tls.Certificate, error) { return quicserve.KeptCertificate(path) }

// StatelessResetKeyOf derives a Config.StatelessResetKey from a certificate's private
// key, such as KeptCertificate's. The key reveals nothing of the private key. If several
// servers share the certificate, an attacker that sees a client's packets can have
// another of these servers end its connection.
func StatelessResetKeyOf(c *tls.Certificate) (*[32]byte, error) {
	return quicserve.StatelessResetKeyOf(c)
}

// ErrAdminExposed: other machines can reach the admin address, and nothing says who may
// use it. The fault is the configuration's.
var ErrAdminExposed = admin.ErrExposed

type (
	// AdminAccess says who may use the admin port, by its fields Hosts, Token,
	// Certificate and ClientCAs.
	AdminAccess = admin.Access
	// Report is what a server tells of itself. It is behind the metrics of the admin port.
	Report = admin.Report
	// TickReport tells how long ticks took, and how many of them were late.
	TickReport = admin.TickReport
	// Images tells of a server's saves.
	Images = admin.Images
)
