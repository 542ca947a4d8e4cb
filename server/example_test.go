package server_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Score is a component: plain data, with tags for its encoding.
type Score struct {
	Points int32 `net:"bits=16"`
}

// Stick is the input, in m/s, and Cheer a command without arguments.
type (
	Stick struct{ X, Z int8 }
	Cheer struct{}
)

// Definitions: what clients see and send. They belong in a package that server and clients
// import.
var (
	protocol = schema.NewWithBody()
	scores   = schema.Define[Score](protocol, "score")
	sticks   = schema.DefineInput[Stick](protocol)
	cheering = schema.DefineCommand[Cheer](protocol, "cheer")
)

// A game is a world, definitions, and functions for joins, inputs and commands.
func Example() {
	// The world: component types and kinds, before anything else.
	w, err := world.New(world.Config{Seed: 1, HalfExtent: world.Vec3{X: 64, Y: 32, Z: 64}})
	if err != nil {
		panic(err)
	}
	player, _ := w.AddKind(world.Kind{Name: "player", Priority: 4, Body: &world.BodyDef{Kinematic: true}})
	score, _ := server.Register(w, scores, player) // each player has one

	// The rules. All of them run on the goroutine that steps the world.
	game := server.Hooks{
		Join: func(s *server.Session) (world.Entity, error) {
			if s.Name() == "" {
				return 0, &wire.Error{Code: wire.Unauthorized, Detail: "the Hello carries no name"} // the client receives both
			}
			return w.Spawn(player, world.Vec3{}, world.Vec3{})
		},
		Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
		Input: server.OnInput(sticks, func(s *server.Session, _ uint64, to Stick) {
			w.SetVelocity(s.Entity(), world.Vec3{X: float32(to.X), Z: float32(to.Z)})
		}),
		Commands: []server.Command{
			server.OnCommand(cheering, func(s *server.Session, target world.Entity, _ Cheer) error {
				if target == s.Entity() {
					return errors.New("not yourself") // the client receives CommandRefused
				}
				score.Mut(s.Entity()).Points++
				return nil
			}),
		},
	}
	s, err := server.Listen(server.Config{
		Listen: "127.0.0.1:0",
		WorldConfig: server.WorldConfig{
			World: w, Schema: protocol, Hooks: game,
			Replication: replication.Config{EnterRadius: 30, LeaveRadius: 36},
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute) // signal.NotifyContext, in a program
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()

	// A client without a name is refused; then one joins.
	config := client.Config{
		Addr: s.Addr().String(), Fingerprint: s.Fingerprint(),
		Schema: protocol,
	}
	_, err = client.Dial(ctx, config)
	fmt.Println("without a name:", wire.CodeOf(err))
	answers := 0
	config.Name = "ada"
	config.Result = func(r client.Result) {
		answers++
		fmt.Println("cheer for", r.Target, "is answered:", wire.CodeOf(r.Err))
	}
	c, err := client.Dial(ctx, config)
	if err != nil {
		panic(err)
	}
	until := func(done func() bool) {
		for !done() {
			if err := errors.Join(c.Wait(ctx), c.Update()); err != nil {
				panic(err)
			}
		}
	}
	until(func() bool { return c.Resolve(c.Controlled()) == wire.Live })
	for _, target := range []world.Entity{c.Controlled(), 0} {
		if _, err := client.Do(c, cheering, target, Cheer{}); err != nil {
			panic(err)
		}
	}
	until(func() bool { return answers == 2 })
	if err := c.Close(); err != nil {
		panic(err)
	}

	stop()
	fmt.Println("ended:", <-ended)
	report := s.Report()
	fmt.Println("joined:", report.Sessions.Joined, "executed:", report.Sessions.Executed, "rejected:", report.Sessions.Rejected)
	// Output:
	// without a name: unauthorized
	// cheer for 0v1 is answered: command-refused
	// cheer for none is answered: ok
	// ended: <nil>
	// joined: 1 executed: 1 rejected: 1
}
