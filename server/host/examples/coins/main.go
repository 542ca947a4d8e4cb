// Command coins is the smallest game: runners collect coins. TUTORIAL.md builds it step by step.
package main

import (
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

func main() { host.Main(host.Definition{Name: "coins", New: newGame, Bots: &bot.Player{New: newBot}}) }

var protocol = schema.NewWithBody() // what crosses the wire, for server and clients

type Stick struct { // where a runner is steered
	X, Z float32 `net:"range=-1..1,step=1/127"`
}

var sticks = schema.DefineInput[Stick](protocol)

type Purse struct{ Coins uint16 } // of each runner

var purses = schema.Define[Purse](protocol, "purse")

var coins = schema.DefineKind(protocol, "coin")

func newGame(o host.Options) (*host.Instance, error) {
	w := host.Must(world.New(world.Config{Seed: o.SeedOr(1), HalfExtent: world.Vec3{X: 40, Y: 10, Z: 40}}))
	runner := host.Must(w.AddKind(world.Kind{Name: "runner", Priority: 2, Body: &world.BodyDef{Radius: 1, Kinematic: true}}))
	coin := host.Must(w.AddKind(world.Kind{Name: coins.Name(), Body: &world.BodyDef{Radius: 0.4, Kinematic: true}}))
	purse := host.Must(server.Register(w, purses, runner))
	spawn := func(kind world.KindID) (world.Entity, error) { // anywhere
		return w.Spawn(kind, world.Vec3{X: 80*w.Rand().Float32() - 40, Z: 80*w.Rand().Float32() - 40}, world.Vec3{})
	}
	err := w.AddSystem(world.After, "collect", func(w *world.World) { // after bodies have moved
		for e := range purse.All() {
			at, _ := w.Position(e)
			for near := range w.Within(at, 1) {
				if kind, _ := w.KindOf(near); kind == coin && w.Destroy(near) {
					purse.Mut(e).Coins++
				}
			}
		}
		for range 50 - w.Stats().Entities { // coins and runners
			_, _ = spawn(coin) // fails if the world is full
		}
	})
	return &host.Instance{Avatars: []world.KindID{runner}, WorldConfig: server.WorldConfig{World: w, Schema: protocol, Hooks: server.Hooks{
		Join:           func(*server.Session) (world.Entity, error) { return spawn(runner) },
		SaveSession:    func(_ *server.Session, b []byte) []byte { return b }, // all is in the world
		RestoreSession: func(*server.Session, []byte) error { return nil },
		Input: server.OnInput(sticks, func(s *server.Session, _ uint64, to Stick) { // up to 8 m/s
			w.SetVelocity(s.Entity(), world.Vec3{X: 8 * to.X, Z: 8 * to.Z})
		}),
	}}}, err
}

func newBot(seat bot.Seat) (bot.Behavior, error) {
	var target world.Entity // a coin, for as long as it is in view
	return bot.Behavior{Schema: protocol, Input: func(f *bot.Frame) any {
		seen := f.Client.Replica()
		for e := range seen.All() {
			if seen.Entity(target) == nil && e.Is(coins) && seat.Rand.IntN(5) == 0 {
				target = e.Handle()
			}
		}
		me, _ := client.Body.Get(seen.Entity(f.Client.Controlled()))
		coin, _ := client.Body.Get(seen.Entity(target))
		return &Stick{X: coin.Position[0] - me.Position[0], Z: coin.Position[2] - me.Position[2]}
	}}, nil
}
