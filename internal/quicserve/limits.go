package quicserve

import (
	"fmt"
	"time"
)

// Every bound of what a client's connections can cost, with the attack or the mistake
// that it stops; package server/session has those of its session. What is beyond is counted:
// worldd_handshakes_total by result, worldd_dropped_total by reason.

// Of connections. The Config can change the one with Default in its name.
const (
	// DefaultMaxSessionsPerAddress bounds the connections of one IPv4 address or
	// IPv6 /64, which are one host's as a rule, or those of a school behind one
	// address: with it, nobody takes all places from one machine.
	DefaultMaxSessionsPerAddress = 64
	// initialsPerSecond and initialBurst are how many connection attempts from
	// addresses that have proved nothing are taken at their word. Beyond, each
	// must first answer a Retry: a half-open flood then costs 3 KiB and 0.2 ms
	// each instead of 95 KiB and 1 ms.
	initialsPerSecond = 200
	initialBurst      = 400
	// trustedHandshakes is how many may be under way before Retry is asked for
	// at any rate: they are 24 MB.
	trustedHandshakes = 256
	// maxHandshakes bounds those under way, proved or not: 95 MB.
	maxHandshakes = 1024
	// handshakesPerSecond and handshakeBurst bound what all handshakes take of
	// the processors, at 1 ms each: half of one. The burst lets a full house
	// come back at once after a restart.
	handshakesPerSecond = 500
	handshakeBurst      = 1500
	// handshakesPaced is how many handshakes a second get to their signatures, for each
	// processor, pacedBurst how many at once, and maxHandshakeWait how long one waits
	// for that (worldd_handshakes_paced_total counts those that do). Of hundreds that
	// come at once each would be ready to run for a millisecond, and who has a snapshot
	// to send would wait behind them all. Those for whom there is no turn in time go on
	// at once: a client gives up after 3 s.
	handshakesPaced  = 200
	pacedBurst       = 20
	maxHandshakeWait = 2 * time.Second
	// addressHandshakesPerSecond and addressHandshakeBurst keep one address from
	// taking all of that, whether its attempts are trusted or answer a Retry.
	addressHandshakesPerSecond = 20
	addressHandshakeBurst      = 100
	// maxAddresses is how many addresses without a connection are remembered
	// for their rates: 2 MB. Beyond, worldd_addresses_forgotten_total counts.
	maxAddresses = 8192
	// spareConnections may exist beyond the sessions: those that are just
	// coming, and those that are told that the server is full.
	spareConnections = 256
)

// Of one connection.
const (
	// streamBytesPerSecond and streamBurst bound what is read of one stream, a
	// little more than the longest commands at the default rate. Flow control
	// stops a client that sends more.
	streamBytesPerSecond = 64 << 10
	streamBurst          = 128 << 10
	// datagramsPerSecond and datagramBurst bound the datagrams of one session
	// that are looked at, five times what a client of 60 snapshots a second
	// sends; further ones are dropped, as the network might have done.
	datagramsPerSecond = 300
	datagramBurst      = 300
	// excessPerSecond and excessBurst bound those that are dropped. Receiving and
	// decrypting them is most of their cost, so who goes on is ended (TooFast): at
	// 100 times the rate of a client after about a second.
	excessPerSecond = 100
	excessBurst     = 3000
)

// Limits are the limits that may change while a Listener serves.
type Limits struct {
	// MaxSessions is the core's; spareConnections more connections may exist. 0:
	// session.DefaultMaxSessions.
	MaxSessions int
	// MaxSessionsPerAddress bounds the connections from one IPv4 address or IPv6 /64.
	// 0: DefaultMaxSessionsPerAddress, except for loopback, which has no limit then.
	MaxSessionsPerAddress int
}

// Validate reports what is wrong with MaxSessionsPerAddress. MaxSessions is the core's to
// check.
func (l Limits) Validate() error {
	if l.MaxSessionsPerAddress < 0 {
		return fmt.Errorf("server: %d sessions at most from one address: want a positive number, or 0 for %d", l.MaxSessionsPerAddress, DefaultMaxSessionsPerAddress)
	}
	return nil
}
