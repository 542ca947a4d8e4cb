package server_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// stable is a game with a horse, entity 0v1, far from where players join, and a ghost, 1v1,
// that players must not see.
func stable(w *world.World, joined chan<- uint64) server.Hooks {
	hidden, _ := world.Register[struct{}](w, "hidden")
	animal, _ := w.AddKind(world.Kind{Name: "animal", Body: &world.BodyDef{Kinematic: true}})
	horse, _ := w.Spawn(animal, world.Vec3{X: 400}, world.Vec3{})
	ghost, _ := w.Spawn(animal, world.Vec3{X: 1}, world.Vec3{})
	hidden.Set(ghost, struct{}{})
	riders := map[uint64]world.Entity{} // by session ID
	return server.Hooks{
		Join: func(s *server.Session) (world.Entity, error) {
			s.SetFilter(replication.Filter{Not: []bulk.BitsetView{hidden.Presence()}})
			joined <- s.ID()
			e, err := w.Spawn(animal, world.Vec3{}, world.Vec3{})
			riders[s.ID()] = e
			return e, err
		},
		Leave: func(s *server.Session) { w.Destroy(riders[s.ID()]) },
		Commands: []server.Command{
			server.OnRawCommand("buy", func(s *server.Session, _ world.Entity, _ []byte) error {
				s.NoteSent(ghost)                        // the answer's text could name the ghost now
				fmt.Println("before:", s.Resolve(horse)) // pending: the client has not received it
				s.Own(horse)                             // visible at any distance
				return nil
			}),
			server.OnRawCommand("mount", func(s *server.Session, target world.Entity, _ []byte) error {
				if s.Resolve(target) != wire.Live {
					return errors.New("out of sight")
				}
				s.Control(target)
				return nil
			}),
			server.OnRawCommand("sell", func(s *server.Session, _ world.Entity, _ []byte) error {
				s.Control(riders[s.ID()])
				s.Disown(horse)
				return nil
			}),
		},
	}
}

// A game controls what each session sees, owns and controls.
func ExampleSession() {
	w, err := world.New(world.Config{})
	if err != nil {
		panic(err)
	}
	components := schema.NewWithBody()
	joined := make(chan uint64, 1)
	var config server.Config
	config.Listen, config.World, config.Schema, config.Hooks = "127.0.0.1:0", w, components, stable(w, joined)
	s, err := server.Listen(config)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()

	c, err := client.Dial(ctx, client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: components})
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
	command := func(name string, target bulk.Handle) {
		asked, err := c.DoRaw(name, target, nil)
		if err != nil {
			panic(err)
		}
		if _, err := asked.Wait(ctx); err != nil {
			panic(err)
		}
	}
	horse, ghost := bulk.NewHandle(0, 1), bulk.NewHandle(1, 1)
	command("buy", 0)
	until(func() bool { return c.Resolve(horse) == wire.Live })
	fmt.Println("bought:", c.Resolve(horse))
	fmt.Println("ghost:", c.Resolve(ghost))
	command("mount", horse)
	until(func() bool { return c.Controlled() == horse })
	fmt.Println("mounted:", c.Resolve(horse))
	command("sell", 0)
	until(func() bool { return c.Resolve(horse) == wire.Hidden })
	fmt.Println("sold:", c.Resolve(horse))

	s.Kick(<-joined, "the stable closes")
	for err = nil; err == nil; err = c.Update() {
		_ = c.Wait(ctx)
	}
	fmt.Println("kicked:", wire.CodeOf(err))
	_ = c.Close()
	stop()
	<-ended
	// Output:
	// before: pending
	// bought: live
	// ghost: pending
	// mounted: live
	// sold: hidden
	// kicked: kicked
}
