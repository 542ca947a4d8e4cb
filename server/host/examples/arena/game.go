// Command arena is a complete game, to read and to copy from. Ships in a windy arena shoot at
// each other with lasers and homing missiles, talk, and count their kills against the clock.
// Anybody may watch. Bots play by the same rules as people, through the same code.
//
//	game.go      what server and client share: components, commands, events, rules of motion
//	server.go    the rules: joining, shooting, homing, dying, the rounds; all state is in the world
//	lobby.go     the rules of the lobby: the queue, matches for those who wait, spectators, the way back
//	player.go    the client's half: what a player sees and does
//	dart.go      missiles that the client predicts
//	bot.go       a player that thinks for itself
//	terminal.go  the picture
//	play.go      the command that plays it in a terminal
//	main.go      the program: what package host needs to know of the game, and its bots
//
//	go run ./server/host/examples/arena play --rtt 150ms --loss 5%
//	go run ./server/host/examples/arena demo --bots 20 --duration 30s
//	go run ./server/host/examples/arena demo --room lobby --bots 20 --duration 30s
//	go run ./server/host/examples/arena demo --nodes 3 --cluster http://127.0.0.1:2379 --bots 100
//	go run ./server/host/examples/arena serve --listen :4433 --anyone --image arena.image --admin 127.0.0.1:4434
//	go run ./server/host/examples/arena play --addr localhost:4433 --fingerprint HEX
//	go run ./server/host/examples/arena play --addr localhost:4433 --fingerprint HEX --room lobby
//	go run ./server/host/examples/arena loadtest --addr 127.0.0.1:4433 --insecure-dev --loss 5% --fail 'confusions>0'
//
// Neither half knows how their bytes travel. arena_test.go runs both in a rig, and so does the
// command play, unless it joins a server over the network. Here both halves are one package, to
// be read together; a game that ships its client splits them.
package main

import (
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world/motion"
)

// Protocol declares what crosses the wire. It begins with the body, which has positions.
var Protocol = schema.NewWithBody()

// The items of Protocol. Server and clients refer to them by these variables.
var (
	Pilots  = schema.Define[Pilot](Protocol, "pilot")
	Hulls   = schema.Define[Hull](Protocol, "hull")
	Seekers = schema.Define[Seeker](Protocol, "seeker")
	Matches = schema.Define[Match](Protocol, "match")
	Tickets = schema.Define[Ticket](Protocol, "ticket")

	Sticks = schema.DefineInput[Stick](Protocol)

	PlayCommand   = schema.DefineCommand[Play](Protocol, "play")
	WatchCommand  = schema.DefineCommand[Watch](Protocol, "watch")
	TalkCommand   = schema.DefineCommand[Talk](Protocol, "talk")
	HopCommand    = schema.DefineCommand[Hop](Protocol, "hop")
	ShootCommand  = schema.DefineQuery[Shoot, Shot](Protocol, "shoot")
	LaunchCommand = schema.DefineCommand[Launch](Protocol, "launch")

	ChatEvent  = schema.DefineEvent[Chat](Protocol, "chat")
	KillEvent  = schema.DefineEvent[Kill](Protocol, "kill")
	BeamEvent  = schema.DefineUnreliableEvent[Beam](Protocol, "beam")
	BlastEvent = schema.DefineUnreliableEvent[Blast](Protocol, "blast")
)

// LobbyProtocol declares what crosses the wire in a lobby. Clients find it in Protocol, by name.
func LobbyProtocol() *schema.Schema {
	s := schema.New()
	schema.Define[Ticket](s, Tickets.Name())
	schema.DefineCommand[Play](s, PlayCommand.Name())
	schema.DefineCommand[Watch](s, WatchCommand.Name())
	schema.DefineCommand[Talk](s, TalkCommand.Name())
	schema.DefineEvent[Chat](s, ChatEvent.Name())
	return s
}

// openArena begins the names of arenas between which players hop.
const openArena = "arena/open-"

// Components are the data of entities that clients see.
type (
	// Pilot is on each ship.
	Pilot struct {
		Name  string `net:"max=16"`
		Kills uint16 `net:"bits=10"`
	}
	// Hull is on each ship. The ship explodes at 0.
	Hull struct {
		Points uint8 `net:"bits=7"`
	}
	// Seeker is on each missile. Handles are weak: when the target is gone the missile flies
	// straight on, without any message.
	Seeker struct {
		Target bulk.Handle `net:"ref"`
		Owner  bulk.Handle `net:"ref"`
		Fuse   uint64      `net:"-"` // tick at which it explodes by itself; clients do not need it
	}
	// Match is on the one entity of an arena without a body, which every client has in view.
	Match struct {
		Round uint16 // 0: a match that waits for its players
		Ends  uint32 // the tick
	}
	// Ticket is on an entity for each visitor of the lobby. All visitors see all tickets.
	Ticket struct {
		Name  string `net:"max=16"`
		Wants uint8  `net:"enum=3"`
		Since uint32 // the tick
		Match uint32 // to which the visitor is called; 0: none
		Away  bool   // the connection is broken
	}
)

// Stick is the input: the ship's course while it is held. A client repeats it in every frame,
// so a lost input does no harm.
type Stick struct {
	X, Z float32 `net:"range=-1..1,step=1/16"`
}

// Commands are single requests of clients. The server answers each.
type (
	Play  struct{} // take part; in the lobby: queue for a match
	Watch struct{} // take part no longer; in the lobby: leave the queue, and watch a match
	Talk  struct {
		Text string `net:"max=80"`
	}
	Hop struct { // to the room openArena of this number, on this server or another
		Arena uint8
	}
	// Shoot fires the laser; Shot is its answer.
	Shoot struct {
		Aim float32 `net:"angle,bits=12"` // the direction; 0 is along x, a quarter turn along z
	}
	Shot struct {
		Hit bulk.Handle `net:"ref"`
	}
	// Launch fires a missile at Target, or straight ahead. Missile is a provisional handle: the
	// client's own name for the missile until the server has one.
	Launch struct {
		Aim     float32     `net:"angle,bits=12"`
		Target  bulk.Handle `net:"ref"`
		Missile bulk.Handle `net:"ref"`
	}
)

// Events are what a server announces. The reliable ones arrive once and in order. The others
// are decoration: a lost one is not worth sending again.
type (
	Chat struct {
		From string `net:"max=16"`
		Text string `net:"max=80"`
	}
	Kill struct {
		By, Of string `net:"max=16"`
		Weapon uint8  `net:"enum=3"`
	}
	Beam struct { // unreliable
		From, To [3]float32  `net:"range=-64..64,step=1/8"`
		By       bulk.Handle `net:"ref"`
	}
	Blast struct { // unreliable
		At [3]float32 `net:"range=-64..64,step=1/8"`
	}
)

// Weapons are the causes of a ship's death. A client receives the cause with the ship's
// Destroy. 0 is none.
const (
	Laser   = 1
	Warhead = 2
)

// The values of Ticket.Wants. A new visitor wants nothing: 0.
const (
	ToPlay  = 1
	ToWatch = 2
)

// The rules that both sides know.
const (
	TickHz     = 60
	HalfX      = 40 // metres
	HalfZ      = 22
	ShipSpeed  = 12 // m/s
	ShipRadius = 1
	FullHull   = 100
	LaserRange = 40
	Thrust     = 60 // m/s2 of a missile
	Drag       = 3  // 1/s of a missile
)

// Velocity returns the velocity of a ship whose pilot holds the stick.
func (s Stick) Velocity() motion.Vec3 {
	v := motion.Vec3{X: s.X, Z: s.Z}
	if l := v.Len(); l > 1 { // the stick's corners are no faster than its sides
		v = v.Scale(1 / l)
	}
	return v.Scale(ShipSpeed)
}

// Fly moves a ship by one tick, bit for bit as the server's world moves a kinematic body with
// the stick's velocity. A client predicts its own ship with it.
func Fly(ship *schema.Body, s Stick) {
	v := s.Velocity().Array()
	for i, half := range [3]float32{HalfX, math.MaxFloat32, HalfZ} {
		const tick = float32(1) / TickHz
		at := ship.Position[i] + float32(v[i]*tick) // the conversion forbids a fused multiply-add
		ship.Position[i] = min(max(at, -half), half)
		if ship.Position[i] != at { // the end of the world
			v[i] = 0
		}
	}
	ship.Velocity = v
}

// direction returns the unit vector of an aim.
func direction(aim float32) motion.Vec3 {
	sin, cos := math.Sincos(float64(aim))
	return motion.Vec3{X: float32(cos), Z: float32(sin)}
}
