// Command neighbours shows two rooms, west and east, with a border at x = 0 between them. README.md explains it.
package main

import (
	"encoding/json"
	"errors"
	"iter"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

const (
	size      = 40     // metres from the border to the other end of a room
	sight     = 15     // metres from the border within which walkers are ghosts on the other side
	margin    = 1      // metres behind the border at which walkers change rooms, so that nobody on the border flickers
	maxNear   = 200    // walkers of a message
	speed     = 6      // m/s
	tickHz    = 30     // of both rooms
	tellEvery = 3      // ticks between two messages
	ghostLife = tickHz // ticks after which a ghost ends about which no message has come: the neighbour does not run
	crossings = "crossings"
)

func main() {
	host.Main(host.Definition{
		Name: "neighbours", About: "Two rooms with a border.", New: newRoom, Bots: &bot.Player{New: newBot, Metrics: []bot.Metric{{Name: crossings}}},
		Rooms: &server.RoomsConfig{Default: "west", Kinds: map[string]server.RoomKind{"west": {Pinned: true}, "east": {Pinned: true}}, Carry: carry, Arrive: arrive},
	})
}

var protocol = schema.NewWithBody() // what crosses the wire, for server and clients

type Stick struct { // where a walker is steered
	X, Z float32 `net:"range=-1..1,step=1/127"`
}

type Walker struct {
	Name string `net:"max=16"`
}

// Ghost is a walker of the neighbour. It has no body, so nothing here can touch it, and its handle is of this room.
type Ghost struct {
	Name string       `net:"max=16"`
	X    float32      `net:"range=-40..40,step=1/16"`
	Z    float32      `net:"range=-40..40,step=1/16"`
	Of   world.Entity `net:"-"`          // the walker's handle in the other room
	Seen uint64       `net:"-" json:"-"` // tick of the newest message about it
}

var (
	sticks  = schema.DefineInput[Stick](protocol)
	walkers = schema.Define[Walker](protocol, "walker")
	ghosts  = schema.Define[Ghost](protocol, "ghost")
)

// border is the message to the neighbour: all walkers near the border, so that a lost message does not matter.
var border = server.DefineRoomMessage[[]Ghost]("border")

// Place is the Value of a session between the rooms, also between two nodes.
type Place struct{ At, Velocity world.Vec3 }

func carry(v any) ([]byte, error) { return json.Marshal(v) }

func arrive(b []byte) (any, error) {
	var p Place
	err := json.Unmarshal(b, &p)
	return p, err
}

// Host has the sessions of a room, and tells other rooms: a *server.Room, or a rig's core.
type Host interface {
	Sessions() iter.Seq[*server.Session]
	Tell(room string, m server.RoomMessage) error
}

// Field is one of the two rooms. Both have the same coordinates.
type Field struct {
	world         *world.World
	host          Host    // nil in a replay
	side          float32 // of the border: -1 in the west
	neighbour     string
	walker, ghost world.KindID
	walkers       *world.Component[Walker]
	ghosts        *world.Component[Ghost]
	near          []Ghost // scratch
}

// NewField makes the room named in o.
func NewField(o host.Options) (*Field, error) {
	w := host.Must(world.New(world.Config{
		TickHz: tickHz, Seed: o.SeedOr(1), MaxEntities: 1024, HalfExtent: world.Vec3{X: size, Y: 10, Z: size},
		FirstGeneration: o.Room.Generations.First, LastGeneration: o.Room.Generations.Last,
	}))
	f := &Field{world: w, side: -1, neighbour: "east"}
	if o.Room.Kind == "east" {
		f.side, f.neighbour = 1, "west"
	}
	f.walker = host.Must(w.AddKind(world.Kind{Name: "walker", Priority: 2, Body: &world.BodyDef{Radius: 0.5, Kinematic: true}}))
	f.ghost = host.Must(w.AddKind(world.Kind{Name: "ghost"}))
	f.walkers, f.ghosts = host.Must(server.Register(w, walkers, f.walker)), host.Must(server.Register(w, ghosts, f.ghost))
	return f, errors.Join(w.AddSystem(world.After, "fade", f.fade), w.AddSystem(world.After, "tell", f.tell), w.AddSystem(world.After, "door", f.door))
}

// Config returns the world and its rules.
func (f *Field) Config() server.WorldConfig {
	return server.WorldConfig{World: f.world, Schema: protocol, Hooks: server.Hooks{
		Join: f.join, Leave: f.leave, MoveRefused: f.refused,
		Told: []server.Told{server.OnTold(border, f.show)},
		Input: server.OnInput(sticks, func(s *server.Session, _ uint64, to Stick) {
			f.world.SetVelocity(s.Entity(), world.Vec3{X: speed * to.X, Z: speed * to.Z})
		}),
		SaveSession: func(s *server.Session, b []byte) []byte {
			p, _ := s.Value().(Place)
			return append(b, host.Must(carry(p))...)
		},
		RestoreSession: func(s *server.Session, saved []byte) error {
			p, err := arrive(saved) // needed if the crash has caught the session between the rooms
			s.SetValue(p)
			return err
		},
	}}
}

// join places a newcomer anywhere, and a walker from the neighbour where the walker has left it.
func (f *Field) join(s *server.Session) (world.Entity, error) {
	r := f.world.Rand()
	p := Place{At: world.Vec3{X: f.side * size * r.Float32(), Z: size * (2*r.Float32() - 1)}}
	if from, ok := s.Value().(Place); ok {
		p = from
	}
	e, err := f.world.Spawn(f.walker, p.At, p.Velocity)
	f.walkers.Set(e, Walker{s.Name()})
	return e, err
}

func (f *Field) leave(s *server.Session) {
	var p Place
	p.At, _ = f.world.Position(s.Entity())
	p.Velocity, _ = f.world.Velocity(s.Entity())
	s.SetValue(p)
	f.world.Destroy(s.Entity())
}

// refused puts a walker whom the neighbour does not admit back on the border.
func (f *Field) refused(s *server.Session, _ string, _ error) {
	at, _ := f.world.Position(s.Entity())
	f.world.SetPosition(s.Entity(), world.Vec3{Y: at.Y, Z: at.Z})
	f.world.MarkTeleported(s.Entity())
}

// door moves the walkers who have crossed the border. It changes nothing in the world.
func (f *Field) door(w *world.World) {
	if f.host == nil {
		return
	}
	for s := range f.host.Sessions() {
		if at, ok := w.Position(s.Entity()); ok && f.side*at.X < -margin {
			_ = s.Move(f.neighbour) // after an error again in the next tick
		}
	}
}

// tell tells the neighbour who is near the border.
func (f *Field) tell(w *world.World) {
	if f.host == nil || w.Tick()%tellEvery != 0 {
		return
	}
	f.near = f.near[:0]
	for e, walker := range f.walkers.All() {
		if at, ok := w.Position(e); ok && f.side*at.X < sight && len(f.near) < maxNear {
			f.near = append(f.near, Ghost{Name: walker.Name, X: at.X, Z: at.Z, Of: e})
		}
	}
	if err := f.host.Tell(f.neighbour, border.With(f.near)); err != nil {
		panic(err) // a message that is too long or has no name is a mistake of this game
	}
}

// show makes, moves and ends the ghosts of the neighbour's walkers.
func (f *Field) show(w *world.World, _ string, near []Ghost) {
	shown := map[world.Entity]world.Entity{}
	for e, g := range f.ghosts.All() {
		shown[g.Of] = e
	}
	for _, g := range near {
		e, ok := shown[g.Of]
		if !ok {
			var err error
			if e, err = w.Spawn(f.ghost, world.Vec3{}, world.Vec3{}); err != nil {
				continue // the world is full
			}
		}
		g.Seen = w.Tick()
		f.ghosts.Set(e, g)
	}
	for e, g := range f.ghosts.All() {
		if g.Seen != w.Tick() {
			w.Destroy(e)
		}
	}
}

// fade ends the ghosts of a neighbour that does not tell any more.
func (f *Field) fade(w *world.World) {
	for e, g := range f.ghosts.All() {
		if w.Tick()-g.Seen > ghostLife {
			w.Destroy(e)
		}
	}
}

func newRoom(o host.Options) (*host.Instance, error) {
	f, err := NewField(o)
	if err != nil {
		return nil, err
	}
	return &host.Instance{WorldConfig: f.Config(), Avatars: []world.KindID{f.walker}, AreaMetres: size, Attach: func(r *server.Room) { f.host = r }}, nil
}

// newBot makes a bot that walks to and fro over the border.
func newBot(seat bot.Seat) (bot.Behavior, error) {
	to := Stick{X: 1}
	return bot.Behavior{
		Schema: protocol,
		State: func(s client.StateChange) {
			if s.Moved {
				seat.Count(crossings, 1)
			}
		},
		Input: func(f *bot.Frame) any {
			me, ok := client.Body.Get(f.Client.Replica().Entity(f.Client.Controlled()))
			if ok && me.Position[0]*to.X > sight {
				to = Stick{X: -to.X, Z: seat.Rand.Float32() - 0.5}
			}
			return &to
		},
	}, nil
}
