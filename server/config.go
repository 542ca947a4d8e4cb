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

// Config configures a Server. Zero fields take their defaults.
type Config struct {
	CoreConfig

	// Listen is the UDP address, as "host:port"; port 0 picks a free one. Required.
	Listen string
	// Certificate is the operator's, or from KeptCertificate. If nil, the server makes
	// a new one at each start, valid for 13 days, and clients pin its Fingerprint.
	Certificate *tls.Certificate
	// StatelessResetKey lets a restarted server reset the connections of its killed
	// predecessor at their first packet; without it their clients time out after 4 s.
	// It must be the same at each start, and unique to this server: StatelessResetKeyOf
	// derives one from a kept certificate. nil disables resets.
	StatelessResetKey *[32]byte
	// AdminListen is the TCP address of the admin port, which GET / describes: metrics,
	// health, sessions and profiles. Empty disables it. Every program of this machine may
	// use it on loopback; any other address requires AdminAccess. It serves 8
	// connections, closes idle ones after 5 s, and makes 2 profiles at a time of at most
	// 600 s.
	AdminListen string
	// AdminAccess controls access to the admin port.
	AdminAccess AdminAccess
	// MaxSessionsPerAddress bounds the connections from one IPv4 address or IPv6 /64.
	// Default 64; by default loopback is exempt, also from the rate of handshakes per
	// address: a proxy may connect from there. An explicit value also applies to loopback.
	MaxSessionsPerAddress int
	// QlogDir is an existing folder for transport recordings of single sessions (POST
	// /sessions/ID/qlog on the admin port). Empty disables them, and packets cost a
	// little less.
	QlogDir string
	// DrainTimeout bounds the wait for clients to disconnect when the server ends.
	// Default 3 s.
	DrainTimeout time.Duration
	// Image configures saving the world. The zero value saves nothing.
	Image ImageConfig
	// Log receives sessions and faults. If nil, nothing is logged.
	Log *zap.Logger
}

const defaultDrainTimeout = 3 * time.Second

// Validate reports all errors in c, except mismatches of world and schema, which Listen
// reports.
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
			errs = append(errs, fmt.Errorf("server: qlog folder %q: want an existing folder", c.QlogDir))
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
