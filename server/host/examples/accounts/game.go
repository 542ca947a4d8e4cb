package main

import (
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// Protocol declares what crosses the wire. Each kind of rooms declares its part.
var Protocol = schema.New()

// The items of Protocol.
var (
	Guests = schema.Define[Guest](Protocol, "guest")
	Purses = schema.Define[Purse](Protocol, "purse")

	MineCommand   = schema.DefineCommand[Mine](Protocol, "mine")
	BuyCommand    = schema.DefineCommand[Buy](Protocol, "buy")
	QueueCommand  = schema.DefineCommand[Queue](Protocol, "queue")
	StrikeCommand = schema.DefineCommand[Strike](Protocol, "strike")
)

// Components of players' avatars.
type (
	// Guest is on all of them, in both kinds of rooms.
	Guest struct {
		Waits bool   // for a match
		Match uint64 `net:"-"` // the tick in which the lobby has called the guest to one; 0: none
		Won   bool   // the match
	}
	// Purse has the content of the player's account. Only the player sees it, in the lobby, once the database has answered.
	Purse struct {
		Coins int64 `net:"owner"`
		Hats  int64 `net:"owner"`
		Wins  int64 `net:"owner"`
	}
)

// Commands of players.
type (
	Mine   struct{} // find a coin
	Buy    struct{} // a hat
	Queue  struct{} // for a match
	Strike struct{} // the first one wins
)

// Effect is a change of an account.
type Effect struct{ Coins, Hats, Wins int64 }

const (
	hatPrice = 5
	prize    = 3   // coins
	patience = 600 // ticks that a match waits for its players
)

// take changes a purse, unless it has too few coins.
func (p *Purse) take(e Effect) error {
	if p.Coins+e.Coins < 0 {
		return &server.Rejection{Text: "too few coins"}
	}
	p.Coins, p.Hats, p.Wins = p.Coins+e.Coins, p.Hats+e.Hats, p.Wins+e.Wins
	return nil
}

// Place is the common part of a lobby and a match: a world with a guest for each session.
type Place struct {
	world  *world.World
	room   *server.Room // nil in a replay
	schema *schema.Schema
	guests *world.Component[Guest]
	avatar world.KindID
}

func newPlace(o host.Options) *Place {
	w := host.Must(world.New(world.Config{Seed: o.SeedOr(1), FirstGeneration: o.Room.Generations.First, LastGeneration: o.Room.Generations.Last}))
	p := &Place{world: w, schema: schema.New(), guests: host.Must(server.Register(w, Guests)), avatar: host.Must(w.AddKind(world.Kind{Name: "guest"}))}
	schema.Define[Guest](p.schema, Guests.Name())
	return p
}

func (p *Place) enter(g Guest) (world.Entity, error) {
	e, err := p.world.Spawn(p.avatar, world.Vec3{}, world.Vec3{})
	p.guests.Set(e, g)
	return e, err
}

// instance returns the game of a room. The Value of a session says whether it takes a prize to the lobby. All else is in the world.
func (p *Place) instance(h server.Hooks) *host.Instance {
	h.SaveSession = func(s *server.Session, b []byte) []byte {
		if hasWon(s) {
			b = append(b, 1)
		}
		return b
	}
	h.RestoreSession = func(s *server.Session, saved []byte) error {
		s.SetValue(len(saved) > 0)
		return nil
	}
	return &host.Instance{
		Avatars: []world.KindID{p.avatar}, Attach: func(r *server.Room) { p.room = r },
		WorldConfig: server.WorldConfig{World: p.world, Schema: p.schema, Hooks: h},
	}
}

func hasWon(s *server.Session) bool {
	won, _ := s.Value().(bool)
	return won
}
