package main

import (
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// Protocol declares what crosses the wire.
var Protocol = schema.NewWithBody()

// The items of Protocol.
var (
	Purses      = schema.Define[Purse](Protocol, "purse")
	MineCommand = schema.DefineCommand[Mine](Protocol, "mine")
	BuyCommand  = schema.DefineCommand[Buy](Protocol, "buy")
)

// Purse is on each player's avatar. Only the player sees it.
type Purse struct {
	Player string `net:"-"`
	Loaded bool   `net:"owner"` // the database has told what is in it
	Coins  int64  `net:"owner"`
	Hats   int64  `net:"owner"`
}

// Commands of players.
type (
	Mine struct{} // find a coin
	Buy  struct{} // a hat
)

const hatPrice = 5

// Game is the world and its rules.
type Game struct {
	world  *world.World
	purses *world.Component[Purse]
	miner  world.KindID
	bank   *Bank
}

// NewGame makes the world.
func NewGame(seed uint64) (*Game, error) {
	w, err := world.New(world.Config{Seed: seed})
	if err != nil {
		return nil, err
	}
	g := &Game{
		world: w, purses: host.Must(server.Register(w, Purses)),
		miner: host.Must(w.AddKind(world.Kind{Name: "miner", Body: &world.BodyDef{Kinematic: true}})),
	}
	g.bank = NewBank(w, g.purses)
	return g, nil
}

func (g *Game) instance() *host.Instance {
	return &host.Instance{
		Avatars: []world.KindID{g.miner},
		WorldConfig: server.WorldConfig{World: g.world, Schema: Protocol, Hooks: server.Hooks{
			Join:           g.join,
			SaveSession:    func(_ *server.Session, b []byte) []byte { return b }, // all is in the world
			RestoreSession: func(*server.Session, []byte) error { return nil },
			Commands: []server.Command{
				server.OnCommand(MineCommand, func(s *server.Session, _ world.Entity, _ Mine) error { return g.bank.Change(s.Entity(), 1, 0) }),
				server.OnCommand(BuyCommand, func(s *server.Session, _ world.Entity, _ Buy) error { return g.bank.Change(s.Entity(), -hatPrice, 1) }),
			},
		}},
	}
}

// join gives the player an empty purse, and asks the database what is in it.
func (g *Game) join(s *server.Session) (world.Entity, error) {
	e, err := g.world.Spawn(g.miner, world.Vec3{}, world.Vec3{})
	if err != nil {
		return 0, err
	}
	g.purses.Set(e, Purse{Player: s.User()})
	if err := g.bank.Load(e); err != nil {
		g.world.Destroy(e)
		return 0, &wire.Error{Code: wire.ServerFull, Detail: errClosed.Text} // the client tries again
	}
	return e, nil
}
