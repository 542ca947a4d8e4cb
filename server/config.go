package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/quic-go/quic-go"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/address"
	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// WorldConfig configures one world and its rules: the only world of a server, or one of its rooms.
// Zero fields take their defaults.
type WorldConfig struct {
	// World belongs, from Listen on, to the goroutine of Serve and the Hooks.
	// Required.
	World *world.World
	// Schema declares what crosses the wire, as the doc of package schema shows: schema.Body,
	// the components that World registers under the same name and type (Register), and the
	// messages for which Hooks has functions. Listen copies it and adds the kinds of World, the
	// constants of its motion, and the Hooks.Commands that Schema does not declare. Clients
	// receive the text of the copy, and bind their declarations to it by name. Required.
	Schema      *schema.Schema
	Replication replication.Config
	Hooks       Hooks
	// Epoch names this run of the world. Handles of another epoch are invalid. It must differ
	// from the epoch of every earlier run: otherwise clients of an earlier run keep handles
	// that now name other entities. 0 picks a random epoch.
	Epoch uint64
	// MaxSessions bounds the sessions in the world at any time. It includes sessions that are
	// away, which end when a new client needs their place. Default 1,024.
	MaxSessions int
	// CommandsPerSecond and CommandBurst bound the commands of one session. A command beyond
	// them is answered RateLimited. Defaults: 50 a second, 100 at once. Two fixed bounds limit
	// higher rates: a stream is read at 64 KiB a second, and more than 256 commands in one tick
	// end the session.
	CommandsPerSecond, CommandBurst int
	// Grace is how long a session whose connection broke waits for its client to reconnect.
	// Until then it keeps its entity and the client's replication state. 0 means 15 s. If
	// negative, a session ends with its connection.
	Grace time.Duration
	// MaxViewAge bounds how far back Session.View goes. Default 250 ms. World's history
	// (world.Config.HistoryTicks) bounds it too: without history, View shows the present.
	//
	// The moment that a client sees is older than the round trip by about two snapshot
	// intervals and the link's variation. At 20 snapshots a second the default suits round
	// trips up to 100 ms; 400 ms suits round trips up to 200 ms with lost packets. A client
	// with a longer one is judged at the bound, and must aim ahead of what it sees; Stats.Views
	// counts such shots. A higher bound lets players be hit for longer after they reached
	// cover.
	MaxViewAge time.Duration
}

// Config configures a Server. Zero fields take their defaults.
type Config struct {
	// WorldConfig is the only world of the server. It must be zero if Rooms is set.
	WorldConfig
	// Room is the name of this world among the rooms for which clients ask: UTF-8, at most
	// wire.MaxRoom bytes. A client that names another room is refused with NoRoom. A client
	// that names none is admitted.
	Room string
	// Rooms configures a server of many worlds. WorldConfig, Room and Image must then be zero:
	// each room has its own.
	Rooms *RoomsConfig
	// Cluster assigns the rooms of several servers. A room is then made by the node that takes it, and
	// other nodes send its clients there. While Cluster does not let a room run, the room is frozen: it does not step, inputs
	// are dropped, and its connections wait. It needs Rooms. nil: the server has all rooms.
	Cluster Cluster
	// Peers serves the connections of other nodes on Listen's address. nil: none.
	Peers *PeerPort
	// Admit checks a client's connect token and returns what the token grants. An error refuses
	// the session. The client receives the error's text, and its code if it is a *wire.Error, or
	// Unauthorized, with which it does not retry: if your own service is away, log the reason and
	// return a *wire.Error with Internal. Admit runs on the connection's goroutine, concurrently with
	// other calls. It may take time, for example to ask another service: only this client waits. ctx
	// ends with the connection, and after 5 s. If the error is context.DeadlineExceeded, the
	// client receives Internal. nil admits every client: for development.
	Admit Admit
	// OneSessionPerUser ends a user's session with SignedInElsewhere when the same user begins
	// another. The old session ends before Hooks.Join runs, so that Join loads what Hooks.Leave
	// saved: for that it waits for the room of the old session, at most 5 s. Resuming a session does not begin one. Sessions without a user are exempt. It
	// needs Admit. In a cluster it holds for this node: the same user may have a session on each node.
	OneSessionPerUser bool
	// PanicEnds lets a panic in a function of the game end the process. By default the panic
	// ends only the session for which the function was called, with Internal; Stats.Panics
	// counts it, and its stack is logged. See Hooks.
	PanicEnds bool
	// Versions say which version of the game the server runs, and which clients may join. A client
	// of another version is refused before its token is used and before its room is made.
	Versions Versions
	// Random is the source of the epoch and of resume secrets. nil uses the system's.
	Random io.Reader

	// Listen is the UDP address, as "host:port"; port 0 picks a free one. Required.
	Listen string
	// Sockets are the sockets of the process that this one replaces, used in place of binding Listen and AdminListen.
	// The caller closes them after Listen. nil: none.
	Sockets *Sockets
	// Certificate is the operator's, or from KeptCertificate. If nil, the server makes a new
	// certificate at each start, valid for 13 days, and clients pin its Fingerprint.
	Certificate *tls.Certificate
	// Web also serves browsers, by WebTransport on the address of Listen and WebSocket on the TCP port with its number: WEB.md
	// of replication/wire. nil serves raw QUIC alone.
	Web *WebConfig
	// StatelessResetKey lets a restarted server reset the connections of its killed predecessor
	// at their first packet; without it their clients time out after 4 s. It must be the same
	// at each start, and different on each server: StatelessResetKeyOf derives a key from a
	// kept certificate. nil disables resets.
	StatelessResetKey *[32]byte
	// AdminListen is the TCP address of the admin port: metrics, health, sessions and profiles,
	// which GET / describes. Empty disables the port. On loopback every program of this machine
	// may use it; any other address requires AdminAccess. The port serves 8 connections, closes
	// idle ones after 5 s, and makes 2 profiles at a time of at most 600 s.
	AdminListen string
	// AdminRoutes serves the game's own pages on the admin port, below /game/, which it does not see in the paths. The
	// port authorizes their requests, bounds their bodies to 64 KiB and their time to 15 s, and runs 8
	// requests at a time. Its handlers reach rooms by Signal and Room.Do. nil: none.
	AdminRoutes http.Handler
	// Collectors are the game's own metrics in GET /metrics. Their names must not begin with worldd_. They are
	// collected concurrently with ticks, so they read atomics, and no world.
	Collectors []prometheus.Collector
	// GameName is the name of the game on the live page. Default: worldd.
	GameName string
	// AdminAccess controls access to the admin port.
	AdminAccess AdminAccess
	// MaxSessionsPerAddress bounds the connections from one IPv4 address or IPv6 /64. Default
	// 64. By default loopback is exempt, since a proxy may connect from there; the rate of
	// handshakes per address exempts it too. An explicit value also applies to loopback.
	MaxSessionsPerAddress int
	// QlogDir is an existing folder for transport recordings of single sessions (POST
	// /sessions/ID/qlog on the admin port). If the folder is missing, the server starts without
	// recordings. Empty disables recordings, which makes packets a little cheaper.
	QlogDir string
	// DrainTimeout bounds the wait for clients to disconnect when the server ends.
	// Default 3 s.
	DrainTimeout time.Duration
	// Image configures saving the world. The zero value saves nothing.
	Image ImageConfig
	// Trace receives joins, moves, saves and slow ticks once they have ended, for traces: package
	// server/traces exports them. The goroutines of worlds and saves call it, so it must return at once. nil: none.
	Trace func(Span)
	// Log receives messages about sessions and faults. nil logs nothing.
	Log *zap.Logger
}

// PeerPort serves connections of other nodes, which have an ALPN of their own (package cluster/link).
type PeerPort struct {
	ALPN string
	// TLS is for handshakes of clients that offer the ALPN. It decides who may connect.
	TLS *tls.Config
	// Serve serves a connection until it ends, or ctx, which ends when the server drains.
	Serve func(ctx context.Context, conn *quic.Conn)
}

const defaultDrainTimeout = 3 * time.Second

// Validate reports all errors in c, except mismatches of world and schema, which CompleteSchema and
// Listen report.
func (c WorldConfig) Validate() error { return session.WorldConfig(c).Validate() }

// CompleteSchema returns the schema that clients receive: see Schema.
func (c WorldConfig) CompleteSchema() (*schema.Schema, error) {
	return session.WorldConfig(c).CompleteSchema()
}

// sessionConfig returns the configuration of a Core for the only world.
func (c Config) sessionConfig() session.Config {
	s := c.roomSession(c.WorldConfig, c.Room)
	s.Admit, s.OneSessionPerUser = c.boundedAdmit(), c.OneSessionPerUser
	return s
}

// roomSession returns the configuration of a Core for a room, whose tokens its Router checks.
func (c Config) roomSession(w WorldConfig, room string) session.Config {
	return session.Config{WorldConfig: session.WorldConfig(w), Room: room, PanicEnds: c.PanicEnds, Versions: c.Versions, Random: c.random()}
}

// random returns Random, or the system's source.
func (c Config) random() io.Reader {
	if c.Random == nil {
		return rand.Reader
	}
	return c.Random
}

// boundedAdmit returns Admit with each call bounded to session.HelloTimeout, since package
// session has no clock. It returns nil without Admit.
func (c Config) boundedAdmit() Admit {
	if c.Admit == nil {
		return nil
	}
	return func(ctx context.Context, token []byte) (Admission, error) {
		ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
		defer cancel()
		return c.Admit(ctx, token)
	}
}

// NewCore returns the server without sockets, files and clock: its caller passes bytes and
// calls Tick. It is for simulations, such as package loadtest/rig. Set Random to a seeded
// source there.
func (c Config) NewCore() (*session.Core, error) { return session.NewCore(c.sessionConfig()) }

// NewRoom returns the core of one of several rooms, for simulations; servers use Config.Rooms. r
// assigns connections to the rooms, and RouterConfig.Admit checks their tokens in place of Admit.
// All rooms have RouterConfig.Versions: Config.Versions is empty, or equal.
func (c Config) NewRoom(r *session.Router) (*session.Core, error) {
	s := c.roomSession(c.WorldConfig, c.Room)
	s.Router, s.OneSessionPerUser = r, c.OneSessionPerUser
	return session.NewCore(s)
}

// Validate reports all errors in c, except mismatches of world and schema, which Listen
// reports.
func (c Config) Validate() error {
	access := admin.Access(c.AdminAccess)
	var errs []error
	if err := address.CheckListen("udp", c.Listen); err != nil {
		errs = append(errs, fmt.Errorf("server: listen address %w", err))
	}
	if c.AdminListen != "" {
		if err := address.CheckListen("tcp", c.AdminListen); err != nil {
			errs = append(errs, fmt.Errorf("server: admin address %w", err))
		} else if err := access.CheckListen(c.AdminListen); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Certificate != nil {
		if err := quicserve.ValidateCertificate(c.Certificate); err != nil {
			errs = append(errs, err)
		}
	}
	if c.Web != nil {
		errs = append(errs, quicserve.WebConfig(*c.Web).Validate())
		if c.Web.ByName && c.Certificate == nil {
			errs = append(errs, errors.New("server: Web.ByName needs a Certificate that browsers trust"))
		}
	}
	if c.Rooms != nil {
		errs = append(errs, c.validateRooms())
	} else {
		errs = append(errs, c.sessionConfig().Validate())
		if c.Cluster != nil {
			errs = append(errs, errors.New("server: Cluster without Rooms: nodes share rooms, and this server has one world"))
		}
	}
	errs = append(errs, access.Validate(),
		quicserve.Limits{MaxSessionsPerAddress: c.MaxSessionsPerAddress}.Validate(), c.Image.validate())
	if c.DrainTimeout < 0 {
		errs = append(errs, fmt.Errorf("server: drain timeout %v: want a positive duration, or 0 for %v", c.DrainTimeout, defaultDrainTimeout))
	}
	return errors.Join(errs...)
}

// maxSessions returns the bound of all sessions; 0 stands for session.DefaultMaxSessions.
func (c Config) maxSessions() int {
	if c.Rooms != nil {
		return c.Rooms.MaxSessions
	}
	return c.MaxSessions
}

// validateRooms reports contradictions of a server with rooms.
func (c Config) validateRooms() error {
	var errs []error
	if !reflect.ValueOf(c.WorldConfig).IsZero() {
		errs = append(errs, errors.New("server: WorldConfig and Rooms are both set: each room has its own, and RoomsConfig.MaxSessions bounds the sessions of all rooms"))
	}
	if c.Room != "" {
		errs = append(errs, errors.New("server: Room and Rooms are both set: each room has its own name"))
	}
	if c.Image.Store != nil || c.Image.Every != 0 || c.Image.Extra != nil || c.Image.Journal != imagefile.JournalOff {
		errs = append(errs, errors.New("server: Image and Rooms are both set: use Rooms.Images"))
	}
	if c.OneSessionPerUser && c.Admit == nil {
		errs = append(errs, errors.New("server: OneSessionPerUser without Admit: no session would have a user"))
	}
	return errors.Join(append(errs, c.Versions.Validate(), c.Rooms.Validate())...)
}
