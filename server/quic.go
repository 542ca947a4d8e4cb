package server

import (
	"crypto/tls"

	"github.com/worldd/worldd/internal/quicserve"
)

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
