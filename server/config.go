package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/internal/quicserve"
)

// Config is what a Server is made of. Zero fields take their defaults.
type Config struct {
	CoreConfig

	// Listen is the UDP address, as "host:port"; port 0 takes a free one.
	// Required.
	Listen string
	// Certificate is the operator's, or one of KeptCertificate. Without one the
	// server makes its own, another at each start and good for 13 days, and
	// clients pin its Fingerprint.
	Certificate *tls.Certificate
	// StatelessResetKey lets clients of a server that was killed learn so from the next
	// one on the same address, with their first packet to it; without, they wait for
	// 4 s. It has to be the same at each start, and no other server may have it:
	// StatelessResetKeyOf derives one from a certificate that is kept. nil: none.
	StatelessResetKey *[32]byte
	// AdminListen is the TCP address of the admin port: metrics, health, sessions and
	// profiles, as GET / lists them; empty for none. On loopback every program of this
	// machine may use it; anywhere else it needs AdminAccess. It keeps 8 connections,
	// ends idle ones after 5 s, and makes 2 profiles at a time, of 600 s at most.
	AdminListen string
	// AdminAccess says who may use the admin port.
	AdminAccess AdminAccess
	// MaxSessionsPerAddress bounds the connections from one IPv4 address or IPv6
	// /64. Default 64, except for this machine (loopback), which then has no limits of
	// its own, of handshakes a second neither: a proxy may stand there. A number that is
	// given is for loopback, too.
	MaxSessionsPerAddress int
	// QlogDir is a folder that exists, for recordings of single sessions' transport
	// (POST /sessions/ID/qlog on the admin address). Empty: none can be made, and
	// packets cost a little less.
	QlogDir string
	// DrainTimeout is how long clients are given to take their goodbyes when
	// the server ends. Default 3 s.
	DrainTimeout time.Duration
	// Image says how the world is saved; the zero value saves nothing.
	Image ImageConfig
	// Log is told of sessions and faults; nil is silent.
	Log *zap.Logger
}

const defaultDrainTimeout = 3 * time.Second

// Validate reports everything that is wrong with c, but for what only the world and the
// schema together are, which Listen finds.
func (c Config) Validate() error {
	var errs []error
	if err := address.CheckListen("udp", c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("server: listen address %w", err))
	}
	if c.AdminListen != "" {
		if err := address.CheckListen("tcp", c.AdminListen); err != nil {
			errs = append(errs, fmt.Errorf("server: admin address %w", err))
		} else if err := c.AdminAccess.CheckListen(c.AdminListen); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Certificate != nil {
		if err := quicserve.ValidateCertificate(c.Certificate); err != nil {
			errs = append(errs, err)
		}
	}
	if err := c.AdminAccess.Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.QlogDir != "" {
		if info, err := os.Stat(c.QlogDir); err != nil || !info.IsDir() {
			errs = append(errs, fmt.Errorf("server: qlog folder %q: want a folder that is there", c.QlogDir))
		}
	}
	if err := c.CoreConfig.Validate(); err != nil {
		errs = append(errs, err)
	}
	if err := (quicserve.Limits{MaxSessionsPerAddress: c.MaxSessionsPerAddress}).Validate(); err != nil {
		errs = append(errs, err)
	}
	if err := c.Image.validate(); err != nil {
		errs = append(errs, err)
	}
	if c.DrainTimeout < 0 {
		errs = append(errs, fmt.Errorf("server: drain timeout %v: want a positive duration, or 0 for %v", c.DrainTimeout, defaultDrainTimeout))
	}
	return errors.Join(errs...)
}
