package quicserve

import (
	"fmt"
	"time"
)

// The bounds on the cost of a client's connections, each with the attack or mistake that it
// stops. Package server/session bounds sessions. worldd_handshakes_total (by result) and
// worldd_dropped_total (by reason) count the excess.

// Bounds on all connections. Config can change those with Default in their name.
const (
	// DefaultMaxSessionsPerAddress bounds the connections of one IPv4 address or
	// IPv6 /64: a single host as a rule, or a school behind one address. It keeps one
	// machine from taking all sessions.
	DefaultMaxSessionsPerAddress = 64
	// initialsPerSecond and initialBurst bound the connection attempts from unproven
	// addresses that are trusted. Beyond, each must first answer a Retry: an attempt
	// of a half-open flood then costs 3 KiB and 0.2 ms instead of 95 KiB and 1 ms.
	initialsPerSecond = 200
	initialBurst      = 400
	// trustedHandshakes is the number of running handshakes (24 MB) above which every attempt
	// must answer a Retry.
	trustedHandshakes = 256
	// maxHandshakes bounds handshakes under way, proven or not: 95 MB.
	maxHandshakes = 1024
	// handshakesPerSecond and handshakeBurst bound the processor time of all
	// handshakes to half a core, at 1 ms each. The burst lets the clients of a full
	// server reconnect at once after a restart.
	handshakesPerSecond = 500
	handshakeBurst      = 1500
	// handshakesPaced is the number of handshakes per second and processor that reach their
	// signature, and pacedBurst the number that may do so at once. maxHandshakeWait bounds a
	// handshake's delay (worldd_handshakes_paced_total counts delayed ones). Without pacing,
	// hundreds of simultaneous handshakes would each be runnable for a millisecond, ahead of
	// the goroutines that send snapshots. A handshake that would have to wait longer proceeds
	// at once: a client gives up after 3 s.
	handshakesPaced  = 200
	pacedBurst       = 20
	maxHandshakeWait = 2 * time.Second
	// addressHandshakesPerSecond and addressHandshakeBurst keep one address from
	// exhausting the total, whether its attempts are trusted or answer a Retry.
	addressHandshakesPerSecond = 20
	addressHandshakeBurst      = 100
	// maxAddresses bounds the addresses without a connection whose rates are tracked:
	// 2 MB. worldd_addresses_forgotten_total counts those dropped early.
	maxAddresses = 8192
	// spareConnections may exist beyond MaxSessions: connections before their Hello,
	// and connections being told that the server is full.
	spareConnections = 256
)

// Bounds on one connection.
const (
	// streamBytesPerSecond and streamBurst bound reads of one stream, a little above
	// the longest commands at the default rate. Flow control stops a client that sends
	// more.
	streamBytesPerSecond = 64 << 10
	streamBurst          = 128 << 10
	// datagramsPerSecond and datagramBurst bound the datagrams processed for one
	// session: five times what a client at 60 snapshots a second sends. Excess is
	// dropped, as the network might have done.
	datagramsPerSecond = 300
	datagramBurst      = 300
	// excessPerSecond and excessBurst bound dropped datagrams. Most of a datagram's cost is
	// receiving and decrypting, which dropping does not save. So the server disconnects a
	// client beyond the bound (TooFast): at 100 times the normal rate, after about a second.
	excessPerSecond = 100
	excessBurst     = 3000
	// webBytesPerSecond and webBurst bound the packets of a connection over WebTransport. They
	// allow more than the bounds on its stream and its datagrams. They stop floods on the
	// streams of HTTP/3, which are read at any rate (TooFast).
	webBytesPerSecond = 512 << 10
	webBurst          = 4 << 20
	// violationInterval is how often link.violation is called, on servers with
	// WebTransport. Flow control bounds what one stream sends in between.
	violationInterval = 250 * time.Millisecond
)

// Limits are the limits that can change while a Listener serves.
type Limits struct {
	// MaxSessions is the core's limit; spareConnections more connections may exist.
	// 0 means session.DefaultMaxSessions.
	MaxSessions int
	// MaxSessionsPerAddress bounds the connections from one IPv4 address or IPv6 /64.
	// 0 means DefaultMaxSessionsPerAddress, and no limit for loopback.
	MaxSessionsPerAddress int
}

// Validate checks MaxSessionsPerAddress. The core checks MaxSessions.
func (l Limits) Validate() error {
	if l.MaxSessionsPerAddress < 0 {
		return fmt.Errorf("server: MaxSessionsPerAddress is %d: want a positive number, or 0 for %d", l.MaxSessionsPerAddress, DefaultMaxSessionsPerAddress)
	}
	return nil
}
