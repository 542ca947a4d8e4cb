package client_test

import (
	"context"
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// launchMissile asks for a missile, which the client has already drawn under its own name.
type launchMissile struct {
	Missile bulk.Handle `net:"ref"`
}

// The client draws a missile at once, under its own name. The server spawns it, or not.
func ExampleClient_Provisional() {
	w, _ := world.New(world.Config{})
	missile, _ := w.AddKind(world.Kind{Name: "missile", Body: &world.BodyDef{Kinematic: true}})
	messages := schema.New()
	launch := schema.DefineCommand[launchMissile](messages, "launch")
	s, _ := server.Listen(server.Config{
		Listen: "127.0.0.1:0",
		WorldConfig: server.WorldConfig{
			World: w, Schema: messages,
			Hooks: server.Hooks{Commands: []server.Command{
				server.OnCommand(launch, func(s *server.Session, _ world.Entity, args launchMissile) error {
					if !s.IsProvisional(args.Missile) {
						return &wire.Error{Code: wire.BadArguments}
					}
					e, err := w.Spawn(missile, world.Vec3{}, world.Vec3{X: 30})
					if err != nil {
						return err // nothing is bound: the handle is rejected
					}
					return s.Bind(args.Missile, e)
				}),
			}},
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()

	c, _ := client.Dial(ctx, client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: messages})
	shot, _ := c.Provisional()
	launched, _ := client.Do(c, launch, 0, launchMissile{shot})
	fmt.Println("predicted:", c.Resolve(shot)) // drawn where the client predicts it
	_, _ = launched.Wait(ctx)
	for c.Resolve(shot) == wire.Pending { // granted, and about to enter
		_, _ = c.Wait(ctx), c.Update()
	}
	fmt.Println("confirmed:", c.Resolve(shot), c.Replica().Entity(shot).KindName()) // drawn where it is
	_ = c.Close()
	stop()
	<-ended
	// Output:
	// predicted: provisional
	// confirmed: live missile
}
