package rig_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// A complete game, which server.Listen and client.Dial would also run. Players walk along x,
// and a horn tells all players who blew it.
type (
	walk struct { // input
		Speed float32 `net:"range=-8..8,step=0.1"`
	}
	blow struct{} // command
	horn struct { // event
		By string `net:"max=24"`
	}
)

var (
	paradeSchema = schema.NewWithBody()
	walkInput    = schema.DefineInput[walk](paradeSchema)
	blowCommand  = schema.DefineCommand[blow](paradeSchema, "blow")
	hornEvent    = schema.DefineEvent[horn](paradeSchema, "horn")
)

// newParadeGame returns a game whose players walk and blow a horn.
func newParadeGame() (server.Config, func(*rig.Rig)) {
	w := noError(world.New(world.Config{Seed: 1}))
	player := noError(w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}}))
	var host interface{ Broadcast(event any) error } // a *server.Room, or the core of a rig
	return server.Config{WorldConfig: server.WorldConfig{World: w, Schema: paradeSchema, Hooks: server.Hooks{
		Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(player, world.Vec3{}, world.Vec3{}) },
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
		Input: server.OnInput(walkInput, func(s *server.Session, _ uint64, in walk) { w.SetVelocity(s.Entity(), world.Vec3{X: in.Speed}) }),
		Commands: []server.Command{server.OnCommand(blowCommand, func(s *server.Session, _ world.Entity, _ blow) error {
			return host.Broadcast(horn{s.Name()})
		})},
	}}}, func(r *rig.Rig) { host = r.Core() }
}

func Example() {
	config, attach := newParadeGame()
	r := noError(rig.New(1, rig.Config{Server: config, Link: rig.Link{Delay: 40 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.1}}))
	attach(r)
	var events client.Events
	client.OnEvent(&events, hornEvent, func(_ uint32, e horn) { fmt.Println("ada hears", e.By) })
	ada := noError(r.Dial(client.Config{Name: "ada", Schema: config.Schema, Events: &events}))
	bob := noError(r.Join("bob"))

	bob.EachFrame(60, func() error { // as a game does once per picture
		_, err := client.SetInput(bob.Client, walkInput, walk{4})
		ok(err)
		return bob.Update()
	})
	ok(r.RunFor(3 * time.Second))
	shown, _ := client.Body.At(ada.Replica().Entity(bob.Controlled()), ada.Render())
	fmt.Println("ada sees bob walk:", shown.Position[0] > 8)

	_, err := noError(client.Do(bob, blowCommand, 0, blow{})).Wait(context.Background()) // virtual time passes
	ok(err)
	ada.Break()
	ok(r.RunFor(time.Second))
	fmt.Println("ada is", ada.State(), "and resumed:", ada.Welcome().Resumed == 1)
	// Output:
	// ada sees bob walk: true
	// ada hears bob
	// ada is joined and resumed: true
}

// A fault that appears only in some orders of events. Random scripts find it, and shrink to the
// necessary actions. The text can be kept, and played again by Replay.
func ExampleSearch() {
	err := rig.Search(10, 300, func(seed uint64) (*rig.Run, error) {
		config, attach := newParadeGame()
		r, err := rig.New(seed, rig.Config{Server: config})
		if err != nil {
			return nil, err
		}
		attach(r)
		blown := 0
		return &rig.Run{
			Rig: r,
			Actions: map[string]func(*rig.Client, int){
				"blow": func(c *rig.Client, _ int) { _, _ = client.Do(c, blowCommand, 0, blow{}); blown++ },
				"walk": func(c *rig.Client, number int) {
					_, _ = client.SetInput(c.Client, walkInput, walk{float32(number%17 - 8)})
				},
			},
			Check: func() error {
				if blown > 0 && len(r.Clients()) == 2 {
					return errors.New("the horn broke")
				}
				return nil
			},
		}, nil
	})
	fmt.Println(err)
	// Output:
	// rig: a script of seed 6 fails: at tick 272: the horn broke
	// The smallest that does:
	// seed=6 ticks=273
	// @0 join 5 11248
	// @56 blow 0 26012
	// @272 join 3 36296
}

func ok(err error) {
	if err != nil {
		panic(err)
	}
}

func noError[T any](v T, err error) T {
	ok(err)
	return v
}
