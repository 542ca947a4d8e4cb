package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Wood is a component. Its definition belongs in a package that server and clients import.
type Wood struct {
	Left int32 `net:"bits=12"`
}

var (
	orchardSchema = schema.NewWithBody()
	woods         = schema.Define[Wood](orchardSchema, "wood")
)

// orchard serves a world with one tree, entity 0v1, until stop is called. The example
// of package server shows how to host a game.
func orchard(epoch uint64) (s *server.Server, stop func()) {
	w, _ := world.New(world.Config{})
	wood, _ := server.Register(w, woods)
	player, _ := w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}})
	sapling, _ := w.AddKind(world.Kind{Name: "tree", Body: &world.BodyDef{Kinematic: true}})
	tree, _ := w.Spawn(sapling, world.Vec3{X: 5}, world.Vec3{})
	wood.Set(tree, Wood{Left: 20})
	s, err := server.Listen(server.Config{
		Listen: "127.0.0.1:0",
		WorldConfig: server.WorldConfig{
			World: w, Schema: orchardSchema, Epoch: epoch,
			Hooks: server.Hooks{
				Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(player, world.Vec3{}, world.Vec3{}) },
				Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
				Commands: []server.Command{
					server.OnRawCommand("chop", func(_ *server.Session, target world.Entity, args []byte) error {
						var strokes int32
						if err := msgpack.Unmarshal(args, &strokes); err != nil || strokes < 1 {
							return &wire.Error{Code: wire.BadArguments}
						}
						wood.Mut(target).Left -= strokes
						return nil
					}),
					server.OnRawCommand("carry", func(_ *server.Session, target world.Entity, _ []byte) error {
						w.SetPosition(target, world.Vec3{X: 200})
						return nil
					}),
					server.OnRawCommand("winter", func(*server.Session, world.Entity, []byte) error {
						w.Destroy(tree)
						return nil
					}),
				},
			},
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	return s, func() {
		cancel()
		if err := <-ended; err != nil {
			panic(err)
		}
	}
}

// A client keeps a handle and looks it up at each stage of the entity's life.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, stop := orchard(1)
	defer stop()

	c, err := client.Dial(ctx, client.Config{
		Addr: s.Addr().String(), Fingerprint: s.Fingerprint(),
		Schema: orchardSchema, Name: "ada",
		Observer: client.Observer{
			Leave:   func(h bulk.Handle, _ wire.Reason) { fmt.Println(h, "left view") },
			Destroy: func(h bulk.Handle, _ uint8) { fmt.Println(h, "was destroyed") },
		},
		Result: func(r client.Result) { // r.Err also has the game's text
			fmt.Printf("command %d on %v (%v): %v\n", r.ID, r.Target, r.Verdict, wire.CodeOf(r.Err))
		},
	})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	// A game calls Update once per render and never blocks; other programs call Wait
	// first.
	until := func(done func() bool) {
		for !done() {
			if err := c.Wait(ctx); err != nil {
				panic(err)
			}
			if err := c.Update(); err != nil {
				panic(err) // a *wire.Error says why the server ended the session
			}
		}
	}
	tree := bulk.NewHandle(0, 1) // from an event, a saved game, another player
	look := func() {
		switch v := c.Resolve(tree); v {
		case wire.Live: // in view
			w, _ := client.Of(woods).Get(c.Entity(tree))
			fmt.Println(v, "with", w.Left, "left")
		case wire.Hidden: // out of view; it may be alive
			fmt.Println(v)
		case wire.Pending: // not here yet, or never issued
			fmt.Println(v)
		case wire.Stale: // destroyed; final
			fmt.Println(v)
		}
	}
	command := func(name string, target bulk.Handle, args []byte) {
		asked, err := c.DoRaw(name, target, args)
		if err != nil {
			panic(err)
		}
		// The command's effect may arrive before or after its answer: snapshots are
		// datagrams, answers use the stream.
		if _, err := asked.Wait(ctx); err != nil {
			panic(err)
		}
	}

	until(func() bool { return c.Resolve(tree) == wire.Live })
	look()
	strokes, _ := msgpack.Marshal(3)
	command("chop", tree, strokes)
	until(func() bool { w, _ := client.Of(woods).Get(c.Replica().Entity(tree)); return w.Left < 20 })
	look()
	command("carry", tree, nil)
	until(func() bool { return c.Resolve(tree) == wire.Hidden })
	look()
	command("winter", 0, nil)
	until(func() bool { return c.Resolve(tree) == wire.Stale })
	look()

	// Output:
	// live with 20 left
	// command 1 on 0v1 (live): ok
	// live with 17 left
	// command 2 on 0v1 (live): ok
	// 0v1 left view
	// hidden
	// command 3 on none (live): ok
	// 0v1 was destroyed
	// stale
}

// Handles belong to one run of the world. A client that dials again with old handles
// passes the epoch of their run, so that it does not mistake entities of a new run for
// those it knew.
func ExampleDial_again() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config := client.Config{
		GiveUp:      -1,   // otherwise the client reconnects itself
		InsecureDev: true, // each server has its own certificate here; games pin one or have it signed
		Schema:      orchardSchema,
	}
	var mine []bulk.Handle
	connect := func(s *server.Server) *client.Client {
		config.Addr = s.Addr().String()
		c, err := client.Dial(ctx, config)
		if wire.CodeOf(err) == wire.EpochMismatch {
			fmt.Println("another run: forget", len(mine), "handle")
			mine, config.Epoch = nil, 0 // 0 joins any
			c, err = client.Dial(ctx, config)
		}
		if err != nil {
			panic(err)
		}
		config.Epoch = c.Welcome().Epoch
		fmt.Println("joined run", config.Epoch)
		return c
	}

	s, stop := orchard(1)
	c := connect(s)
	mine = append(mine, c.Controlled())
	go stop()
	err := c.Update()
	for ; err == nil; err = c.Update() {
		if err := c.Wait(ctx); err != nil {
			panic(err)
		}
	}
	fmt.Println("ended:", wire.CodeOf(err))
	_ = c.Close()

	s, stop = orchard(2)
	defer stop()
	_ = connect(s).Close()
	// Output:
	// joined run 1
	// ended: draining
	// another run: forget 1 handle
	// joined run 2
}
