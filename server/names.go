package server

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// The types of package session that games use.
type (
	// Admission describes what a connect token grants.
	Admission = session.Admission
	// Admit checks a connect token (Config.Admit).
	Admit = session.Admit
	// Command is the game's function for a command: OnCommand, OnQuery and OnRawCommand
	// make one.
	Command = session.Command
	// Hooks are the functions that the server calls in a game.
	Hooks = session.Hooks
	// Input is the game's function for inputs: OnInput and OnRawInput make one.
	Input = session.Input
	// Rejection is a command's error with a text for the player.
	Rejection = session.Rejection
	// RoomMessage is a message for other rooms (Room.Tell): DefineRoomMessage makes its definition.
	RoomMessage = session.RoomMessage
	// Session is the presence of one client, over one or more connections.
	Session = session.Session
	// Signal is the game's function for a signal of a backend: OnSignal makes one.
	Signal = session.Signal
	// Stats counts sessions, inputs and commands (Report). session.Hook indexes its Panics.
	Stats = session.Stats
	// Told is the game's function for a message of another room: OnTold makes one.
	Told = session.Told
	// Versions say which clients may join (Config.Versions).
	Versions = session.Versions
)

// Register adds a component that the schema defines to a world: see world.Register. Entities
// that are spawned later with one of kinds have a zero one.
func Register[T any](w *world.World, d schema.DefinedComponent[T], kinds ...world.KindID) (*world.Component[T], error) {
	c, err := world.Register[T](w, d.Name())
	for _, kind := range kinds {
		if err == nil {
			err = world.SetDefault(w, kind, c, *new(T))
		}
	}
	return c, err
}

// OnCommand makes the function of a command: see session.OnCommand.
func OnCommand[Args any](d schema.DefinedCommand[Args], f func(s *Session, target world.Entity, args Args) error) Command {
	return session.OnCommand(d, f)
}

// OnQuery makes the function of a command with an answer: see session.OnQuery.
func OnQuery[Args, Answer any](d schema.DefinedQuery[Args, Answer], f func(s *Session, target world.Entity, args Args) (Answer, error)) Command {
	return session.OnQuery(d, f)
}

// OnRawCommand makes the function of a command with raw arguments: see
// session.OnRawCommand.
func OnRawCommand(name string, f func(s *Session, target world.Entity, args []byte) error) Command {
	return session.OnRawCommand(name, f)
}

// OnInput makes the function for inputs that the schema declares: see session.OnInput.
func OnInput[T any](d schema.DefinedInput[T], f func(s *Session, tick uint64, input T)) Input {
	return session.OnInput(d, f)
}

// OnRawInput makes the function for raw inputs: see session.OnRawInput.
func OnRawInput(f func(s *Session, tick uint64, data []byte)) Input { return session.OnRawInput(f) }

// OnSignal makes the function of a signal: see session.OnSignal.
func OnSignal[Args, Answer any](name string, f func(w *world.World, args Args) (Answer, error)) Signal {
	return session.OnSignal(name, f)
}

// DefineRoomMessage returns the definition of a message between rooms: see session.DefineRoomMessage.
func DefineRoomMessage[T any](name string) session.DefinedRoomMessage[T] {
	return session.DefineRoomMessage[T](name)
}

// OnTold makes the function for a message of other rooms: see session.OnTold.
func OnTold[T any](d session.DefinedRoomMessage[T], f func(w *world.World, from string, content T)) Told {
	return session.OnTold(d, f)
}

// WebPath is the path of the URL to which pages connect: "https://HOST:PORT/worldd".
const WebPath = quicserve.WebPath

// DefaultMaxSessionsPerAddress is the default of Config.MaxSessionsPerAddress.
const DefaultMaxSessionsPerAddress = quicserve.DefaultMaxSessionsPerAddress

// WebConfig configures what serves browsers: WebTransport on the UDP port of raw QUIC, and WebSocket on the TCP port with the same
// number, for clients whose network blocks UDP. WebSocket's TLS has Config.Certificate; connections from loopback may do without.
type WebConfig struct {
	// Origins are the origins of pages that may connect, as "https://example.com" or
	// "http://localhost:8080", at most 64. If empty, pages on loopback may. Clients that send
	// no Origin are not browsers, and may connect too.
	Origins []string
	// ByName presents Config.Certificate to browsers. They must trust its authority, and pages
	// must dial its host name. Otherwise the server makes short-lived certificates for
	// browsers, and pages pin their hashes.
	ByName bool
	// NoWebSocket leaves the TCP port closed.
	NoWebSocket bool
}

// KeptCertificate returns the certificate and private key in the PEM file at path, for
// Config.Certificate. If the file does not exist, it creates both and writes them with
// permissions 0600, so that clients can pin the same Fingerprint after restarts. An invalid
// file is an error, and is not overwritten.
func KeptCertificate(path string) (*tls.Certificate, error) { return quicserve.KeptCertificate(path) }

// StatelessResetKeyOf derives a Config.StatelessResetKey from the private key of a certificate,
// such as KeptCertificate's. The derivation is one-way. If several servers share the
// certificate, an attacker who observes a client's packets can make another server reset the
// client's connection.
func StatelessResetKeyOf(c *tls.Certificate) (*[32]byte, error) {
	return quicserve.StatelessResetKeyOf(c)
}

// ErrAdminExposed reports an admin address that other machines can reach, without a Token
// or ClientCAs: a configuration error.
var ErrAdminExposed = admin.ErrExposed

// AdminAccess controls access to the admin port. The zero value is for loopback: it allows
// every program of this machine, but no web page.
//
// A client is authorized if it sends Token as "Authorization: Bearer TOKEN" or presents a
// certificate signed by one of ClientCAs. If both are configured, either suffices. /healthz and
// /readyz require neither, since probes have no credentials. The live page's files require
// neither: the page asks for the token.
type AdminAccess struct {
	// Hosts are the accepted Host names of requests, besides localhost and the name or address
	// on which the port listens. The port refuses other names: a defence against DNS rebinding
	// by web pages.
	Hosts []string
	// Token has 16 to 512 printable ASCII bytes without spaces. If empty, no token is
	// accepted.
	Token string
	// Certificate enables HTTPS.
	Certificate *tls.Certificate
	// ClientCAs verify client certificates. They require Certificate.
	ClientCAs *x509.CertPool
}
