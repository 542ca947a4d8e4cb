package client

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Tables are the numbers that rows are coded with, opaque and immutable. Client and server must
// use the same; the handshake compares their Version.
type Tables = rowcodec.Tables

// ParseTables parses a file that worldd train wrote. An error is a *wire.Error with code
// wire.BadMessage: the file is damaged, or of another version.
func ParseTables(file []byte) (*Tables, error) { return rowcodec.ParseTables(file) }

// Config configures Dial. Addr is required; other zero fields take their defaults.
type Config struct {
	// Addr is the server's UDP address, "host:port".
	Addr string
	// Addrs are further addresses of the same game, such as the other nodes of a cluster, 32 at most. If the present server has not
	// answered within half a second, the client asks the next one too, and takes the first that answers. If it is full or shuts down, the
	// client tries the next one. It does so before it has a session, and to replace a lost one. The servers at all
	// addresses may learn the session's secret; a server elsewhere, to which one of them redirects, does not. If that
	// server fails, the client returns to these addresses.
	Addrs []string
	// Fingerprint is the hex SHA-256 of the server's certificate, which the server prints when
	// it starts. The client accepts only that certificate; no authority need have signed it. While
	// a server's certificate is replaced: both, with a comma between them; 4 at most.
	Fingerprint string
	// InsecureDev accepts any certificate, so the server is not authenticated. For
	// development on one machine.
	InsecureDev bool
	// TLS replaces the default, which verifies the certificate against the system's
	// authorities. Its NextProtos and MinVersion are overwritten.
	TLS *tls.Config

	// Schema declares the components, events, commands and the input that the caller has types
	// for, as the doc of package schema shows. The server sends its own schema, of a game that
	// may be older or newer, and decides on ranges and precision. Items and fields are found by
	// name, and the client adapts:
	//
	//	                 only the server has it   only the caller has it
	//	component        read by name             no entity has it
	//	field            dropped                  default, or zero (WithDefault)
	//	event            ignored                  never arrives
	//	command          -                        *LackError
	//	field to send    zero                     not sent
	//	input            none is sent             none is sent
	//	kind             KindName                 Is returns false
	//
	// Numbers whose width differs saturate, longer texts are cut. SchemaChanges lists all
	// differences. If a field has values of another type (a number is a bool), the client leaves
	// with wire.SchemaMismatch; the error wraps a *schema.BindError with all such fields. nil
	// declares nothing: for tools that show any world.
	Schema *schema.Schema
	// StrictSchema makes the client leave with a *schema.BindError if SchemaChanges is not empty.
	StrictSchema bool
	// Version is the version of the game that the client is built for, like 1.10.0
	// (wire.CompareVersions). A server whose game requires a newer client refuses with
	// wire.ClientTooOld, and its own text for the player.
	Version string
	// MinServer is the oldest version of the server's game that the client accepts. An older
	// server, or one without a version, refuses with wire.ClientTooNew. Empty accepts any.
	MinServer string
	// Tables code rows and must equal the server's. The protocol's version has default tables: nil selects them.
	// ParseTables reads a file that worldd train wrote.
	Tables *Tables
	// Epoch is the Welcome.Epoch with which the caller's handles were issued. 0 joins any run
	// of the world, and is for callers without handles. A server that runs another world
	// refuses with wire.EpochMismatch: forget the handles and dial with 0, since the same
	// handle may name another entity in another run.
	Epoch uint64
	// Token is the connect token, for servers that require one: at most
	// wire.MaxToken bytes, good for one connection.
	Token []byte
	// FreshToken returns a connect token for the next attempt to reconnect. It runs on its own
	// goroutine; its error fails the attempt. Resuming a session needs no token. But if the
	// session is gone, the same handshake begins a new one, which needs a token. Without
	// FreshToken the client sends Token again, also after a redirection with another token, and a
	// server whose tokens are good once refuses the new session (wire.Unauthorized).
	FreshToken func(context.Context) ([]byte, error)
	// Name appears in the server's logs: UTF-8, at most wire.MaxName bytes. Check
	// names that players type.
	Name string

	// Room is the room of the server to join: its name, or a wire.RoomQuery like "match?mode=ranked" for any room that
	// suits, which the server makes if need be. A node of a cluster knows its own rooms alone. At most wire.MaxRoomQuery bytes. If empty, the token
	// names the room, or the server has only one. Welcome.Room names the room joined. The
	// server may move the session to another room (StateChange.Moved). A reconnecting client
	// asks for its latest room, and if that is gone for Config.Room.
	Room string

	// MaxEntities bounds the entities in view, and MaxBytes the replica's memory
	// (ReplicaStats.Bytes, at least 1 MiB). A server that exceeds either ends the session
	// with ErrLimit. 0 is 65,536 entities and 256 MiB.
	MaxEntities int
	MaxBytes    int
	// Simulate lets the client compute the motion of bodies that only effects, gravity and the
	// ground move, if the server's world supports it: the server sends no rows for their
	// motion, and Component.At is exact at every tick. Entity.Exact reports which entities are
	// computed. See ErrDiverged for a client whose states keep differing from the server's.
	Simulate bool
	// PlainRows asks the server for rows in full, whatever its tables are: for tools that see a server as small
	// clients do. Rows take several times the bytes.
	PlainRows bool
	// GiveUp is how long the client tries to reconnect before it ends. 0 is a minute; negative
	// never reconnects.
	GiveUp time.Duration

	// Observer is called when the replica changes.
	Observer Observer
	// Events has the functions for the server's events; nil has none.
	Events *Events
	// Result is called with the answer to each command, in command order, for callers
	// that keep no Futures.
	Result func(Result)
	// State is called on each change of state, on the goroutine of Dial or Update. The calls
	// for Joined, and for a move right after it, precede the return of Dial.
	State func(StateChange)
	// Log receives connection events; nil is silent.
	Log *zap.Logger
	// Socket opens a connection's socket, which Close closes; nil opens a UDP socket of the
	// system. Tests simulate a bad link with it, and games use their own network layer. Dial
	// may call Socket concurrently, once for each address of the server. If the socket has no
	// SetReadBuffer and SetWriteBuffer, quic-go prints a warning once.
	Socket func() (net.PacketConn, error)
	// Port is a UDP socket that the client shares with others. nil: the client opens its own.
	Port *Port
	// Fallback makes the client also connect by WebSocket, over TCP to Addr, if no answer to UDP arrives in 1.2 s: some
	// networks block UDP. The server needs Config.Web. Each connection of the client tries both; at most one has the session.
	Fallback bool
	// Clock is the time since a fixed origin, for callers with a clock of their own, such as an engine's. It must never go back, and runs about
	// as fast as time. All goroutines of the client call it. nil is the process's monotonic clock.
	Clock func() time.Duration
	// Simulation replaces the network and the clock, for tests of games: see package
	// loadtest/rig. Addr and the fields about certificates then have no effect.
	Simulation Simulation
	// Random orders Addrs, so that the clients of a failed server spread over the others. nil is the process's source, or with
	// Simulation none: the client then tries Addrs as listed.
	Random *rand.Rand
}

// sessionConfig returns the fields of c that a Session needs.
func (c Config) sessionConfig() SessionConfig {
	return SessionConfig{
		Schema: c.Schema, StrictSchema: c.StrictSchema, Version: c.Version, MinServer: c.MinServer, Tables: c.Tables, Epoch: c.Epoch, Token: c.Token, Name: c.Name, Room: c.Room,
		MaxEntities: c.MaxEntities, MaxBytes: c.MaxBytes, Simulate: c.Simulate, PlainRows: c.PlainRows, Observer: c.Observer, Events: c.Events, Result: c.Result,
	}
}

// Validate reports every mistake in c.
func (c Config) Validate() error {
	_, unpinned := c.pinnedSums()
	errs := []error{c.sessionConfig().checkConfig(), unpinned}
	if err := address.CheckDial("udp", c.Addr); err != nil && c.Simulation == nil {
		errs = append(errs, fmt.Errorf("client: address %w", err))
	}
	for _, a := range c.Addrs {
		if err := address.CheckDial("udp", a); err != nil {
			errs = append(errs, fmt.Errorf("client: further address %w", err))
		}
	}
	if len(c.Addrs) > maxAddrs {
		errs = append(errs, fmt.Errorf("client: %d further addresses: at most %d", len(c.Addrs), maxAddrs))
	}
	if c.Fingerprint != "" && c.InsecureDev {
		errs = append(errs, errors.New("client: Fingerprint and InsecureDev exclude each other: a pinned certificate is secure"))
	}
	if c.Port != nil && c.Socket != nil {
		errs = append(errs, errors.New("client: Port and Socket exclude each other: a client has one socket"))
	}
	return errors.Join(errs...)
}

// newClock returns the clock of a client that begins now.
func (c Config) newClock() func() time.Duration {
	if c.Clock != nil {
		return c.Clock
	}
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// maxFingerprints bounds Config.Fingerprint.
const maxFingerprints = 4

// pinnedSums returns the hashes of Fingerprint.
func (c Config) pinnedSums() (sums [][sha256.Size]byte, err error) {
	if c.Fingerprint == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(c.Fingerprint, ",") {
		sum, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(text), ":", ""))
		if err != nil || len(sum) != sha256.Size || len(sums) == maxFingerprints {
			return nil, fmt.Errorf("client: fingerprint %q: want the 64 hex digits that the server prints, or up to %d such texts with commas between them", c.Fingerprint, maxFingerprints)
		}
		sums = append(sums, [sha256.Size]byte(sum))
	}
	return sums, nil
}

// errCertificate is the error for a certificate that is not the pinned one.
var errCertificate = errors.New("the server's certificate has another fingerprint: either the server was restarted with a new certificate (server.KeptCertificate and worldd serve --identity keep one), or this is not your server")

func (c Config) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{}
	if c.TLS != nil {
		t = c.TLS.Clone()
	}
	t.MinVersion = tls.VersionTLS13
	t.NextProtos = []string{wire.ALPN}
	want, err := c.pinnedSums()
	switch {
	case err != nil:
		return nil, err
	case len(want) > 0:
		t.InsecureSkipVerify = true // the pin below is stricter
		own := t.VerifyConnection
		t.VerifyConnection = func(s tls.ConnectionState) error { // also called for resumed TLS sessions
			if !slices.Contains(want, sha256.Sum256(s.PeerCertificates[0].Raw)) { // hashes are public
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
