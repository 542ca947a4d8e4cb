package client

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// Tables are the numbers that rows are coded with: an opaque value, which may be
// shared. The server has the same; the handshake compares their Version.
type Tables = rowcodec.Tables

// ParseTables reads the bytes of a file that worldd train wrote. An error is a
// *wire.Error with the code BadMessage: the file is damaged, or of another version.
func ParseTables(file []byte) (*Tables, error) { return rowcodec.ParseTables(file) }

// DefaultTables returns the tables that this version of the protocol comes with.
func DefaultTables() *Tables { return rowcodec.DefaultTables() }

// Config is what Dial needs. Zero fields take their defaults.
type Config struct {
	SessionConfig

	// Addr is the server's UDP address, as "host:port". Required.
	Addr string
	// Fingerprint is the SHA-256 of the server's certificate in hex, as the
	// server prints it at its start: the certificate must be that one, and
	// need not be signed by anybody.
	Fingerprint string
	// InsecureDev takes any certificate: whoever answers at Addr is believed.
	// For development on one's own machine.
	InsecureDev bool
	// TLS replaces the default of verifying the certificate against the
	// system's authorities. Its NextProtos is overwritten.
	TLS *tls.Config
	// Socket opens the socket that the connection goes over, which Close closes:
	// for a test that puts a bad link between client and server, or a game that
	// has its own way to the network. nil is a UDP socket of the system's. Of one
	// without SetReadBuffer and SetWriteBuffer quic-go complains, once, on standard error.
	Socket func() (net.PacketConn, error)
	// GiveUp is how long it is tried to replace a connection that was lost, before
	// the client ends. 0 is a minute; negative: the loss of the first is the end.
	GiveUp time.Duration
	// FreshToken returns a connect token for the next attempt to replace a lost
	// connection, and runs on a goroutine of its own: a token is good for one
	// connection, and for a short time. Its error is the attempt's. The attempt resumes
	// the session, which needs no token, or else begins a new one in the same handshake,
	// which does: after a restart, or too late. With nil, SessionConfig.Token is shown
	// again, and a server that admits by token refuses the new session (Unauthorized).
	FreshToken func(context.Context) ([]byte, error)
	// State is told of each state that the client comes to, on the goroutine of
	// Dial or Update.
	State func(StateChange)
	// Log is told of the connection's life; nil is silent.
	Log *zap.Logger
}

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if err := c.SessionConfig.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := address.CheckDial("udp", c.Addr); err != nil {
		errs = append(errs, fmt.Errorf("client: address %w", err))
	}
	if _, err := c.pinned(); err != nil {
		errs = append(errs, err)
	}
	if c.Fingerprint != "" && c.InsecureDev {
		errs = append(errs, errors.New("client: Fingerprint and InsecureDev exclude each other: a pinned certificate is secure"))
	}
	return errors.Join(errs...)
}

func (c Config) pinned() ([]byte, error) {
	sum, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(c.Fingerprint), ":", ""))
	if err != nil || len(sum) != 0 && len(sum) != sha256.Size {
		return nil, fmt.Errorf("client: fingerprint %q: want the 64 hex digits that the server prints", c.Fingerprint)
	}
	return sum, nil
}

// errCertificate says that the server is not who it should be.
var errCertificate = errors.New("the server's certificate has another fingerprint: either the server was restarted with a new certificate (server.KeptCertificate and worldd serve --identity keep one), or this is not your server")

func (c Config) tls() (*tls.Config, error) {
	t := &tls.Config{}
	if c.TLS != nil {
		t = c.TLS.Clone()
	}
	t.MinVersion = tls.VersionTLS13
	t.NextProtos = []string{wire.ALPN}
	want, err := c.pinned()
	switch {
	case err != nil:
		return nil, err
	case len(want) > 0:
		t.InsecureSkipVerify = true // the pin below is stricter
		own := t.VerifyConnection
		t.VerifyConnection = func(s tls.ConnectionState) error { // asked of resumed sessions, too
			got := sha256.Sum256(s.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare(got[:], want) != 1 {
				return errCertificate
			}
			if own != nil {
				return own(s)
			}
			return nil
		}
	case c.InsecureDev:
		t.InsecureSkipVerify = true
	}
	return t, nil
}
