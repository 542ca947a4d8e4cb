// Command coins is the smallest game: runners collect coins. TUTORIAL.md builds it step by step.
package main

import (
	"errors"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

func main() {
	host.Main(host.Definition{Name: "coins", About: "Runners collect coins.", New: newGame, Bots: &bot.Game{Bot: newBot}})
}

type Purse struct{ Coins uint16 } // of each runner

type Stick struct{ X, Z int8 } // a runner's course, in 1/127 of full speed

func messages() (*schema.Schema, error) { // what crosses the wire, for server and clients
	s := schema.New()
	return s, errors.Join(schema.Add[schema.Body](s, schema.BodyComponent), schema.Add[Purse](s, "purse"), schema.SetInput[Stick](s))
}

func newGame(o host.Options) (*host.Game, error) {
	s, err1 := messages()
	w, err2 := world.New(world.Config{Seed: o.SeedOr(1), HalfExtent: world.Vec3{X: 40, Y: 10, Z: 40}})
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	purse, err1 := world.Register[Purse](w, "purse")
	runners, err2 := w.NewQuery(world.QueryDef{With: []world.Term{purse}})
	runner, err3 := w.AddKind(world.Kind{Name: "runner", Priority: 2, Body: &world.BodyDef{Radius: 1, Kinematic: true}})
	coin, err4 := w.AddKind(world.Kind{Name: "coin", Priority: 1, Body: &world.BodyDef{Radius: 0.4, Kinematic: true}})
	spawn := func(kind world.KindID) (world.Entity, error) { // anywhere
		return w.Spawn(kind, world.Vec3{X: 80*w.Rand().Float32() - 40, Z: 80*w.Rand().Float32() - 40}, world.Vec3{})
	}
	err5 := w.AddSystem(world.After, "collect", func(w *world.World) { // after bodies have moved
		for e := range world.All1(runners, purse) {
			at, _ := w.Position(e)
			for near := range w.Within(at, 1) {
				if kind, _ := w.KindOf(near); kind == coin && w.Destroy(near) {
					purse.Mut(e).Coins++
					_, _ = spawn(coin) // fails if the world is full
				}
			}
		}
	})
	for range 40 {
		_, err := spawn(coin)
		err5 = errors.Join(err5, err)
	}
	rules := server.Game{
		Join: func(*server.Session) (world.Entity, error) {
			e, err := spawn(runner)
			purse.Set(e, Purse{})
			return e, err
		},
		Input: server.OnInput(func(s *server.Session, _ uint64, to Stick) { // 8 m/s at most
			w.SetVelocity(s.Entity(), world.Vec3{X: float32(to.X) / 127 * 8, Z: float32(to.Z) / 127 * 8})
		}),
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
	}
	config := server.Config{World: w, Schema: s, Game: rules}
	return &host.Game{Config: config, Avatars: []world.KindID{runner}}, errors.Join(err1, err2, err3, err4, err5)
}

func newBot(seat bot.Seat) (bot.Behavior, error) {
	s, err1 := messages()
	body, err2 := client.ComponentOf[schema.Body](s, schema.BodyComponent)
	var target world.Entity // a coin, for as long as it is in view
	return bot.Behavior{Schema: s, Input: func(f *bot.Frame) any {
		seen := f.Client.Replica()
		for e := range seen.All() {
			if seen.Entity(target) == nil && e.KindName() == "coin" && seat.Rand.IntN(5) == 0 {
				target = e.Handle()
			}
		}
		me, _ := body.Get(seen.Entity(f.Client.Controlled()))
		coin, _ := body.Get(seen.Entity(target))
		course := func(i int) int8 { return int8(max(-127, min(127, 100*(coin.Position[i]-me.Position[i])))) }
		return &Stick{X: course(0), Z: course(2)}
	}}, errors.Join(err1, err2)
}
