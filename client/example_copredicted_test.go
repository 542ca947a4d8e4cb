package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// pushed is the speed of a wagon at x after a tick in which a cart may have touched it. The
// server's game and the client's step share the rule.
func pushed(cartX, cartSpeed, wagonX, wagonSpeed float32) float32 {
	if wagonX-cartX < 2 {
		return max(cartSpeed, wagonSpeed)
	}
	return wagonSpeed * (63.0 / 64)
}

var (
	shuntingSchema = schema.NewWithBody()
	shuntingInput  = schema.DefineInput[throttle](shuntingSchema)
)

// shunting serves a railway with a wagon at 3 m, which carts push.
func shunting() (s *server.Server, stop func()) {
	w, _ := world.New(world.Config{})
	cart, _ := w.AddKind(world.Kind{Name: "cart", Body: &world.BodyDef{Kinematic: true}})
	wagon, _ := w.AddKind(world.Kind{Name: "wagon", Body: &world.BodyDef{Kinematic: true}})
	pushing, _ := w.Spawn(cart, world.Vec3{}, world.Vec3{})
	rolling, _ := w.Spawn(wagon, world.Vec3{X: 3}, world.Vec3{})
	_ = w.AddSystem(world.After, "push", func(w *world.World) {
		at, _ := w.Position(pushing)
		v, _ := w.Velocity(pushing)
		to, _ := w.Position(rolling)
		rolls, _ := w.Velocity(rolling)
		w.SetVelocity(rolling, world.Vec3{X: pushed(at.X, v.X, to.X, rolls.X)})
	})
	s, err := server.Listen(server.Config{
		Listen: "127.0.0.1:0",
		WorldConfig: server.WorldConfig{
			World: w, Schema: shuntingSchema,
			Hooks: server.Hooks{
				Join: func(*server.Session) (world.Entity, error) { return pushing, nil },
				Input: server.OnInput(shuntingInput, func(s *server.Session, _ uint64, in throttle) {
					w.SetVelocity(s.Entity(), world.Vec3{X: in.Speed})
				}),
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

// The wagon that the player pushes moves in the frame of the push: it is predicted together
// with the cart, by the same step.
func ExampleCoPredicted() {
	s, stop := shunting()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: shuntingSchema})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	var wagons client.CoPredicted[schema.Body]
	step := func(tick uint32, cart *schema.Body, in throttle) {
		roll(tick, cart, in)
		for _, wagon := range wagons.All() {
			roll(tick, wagon, throttle{wagon.Velocity[0]})
			wagon.Velocity[0] = pushed(cart.Position[0], cart.Velocity[0], wagon.Position[0], wagon.Velocity[0])
		}
	}
	own, err := client.Predict(c, step, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&wagons}})
	if err != nil {
		panic(err)
	}
	shown := float32(0)
	for vsync := time.Tick(time.Second / 60); shown < 5; <-vsync {
		if err := c.Update(); err != nil {
			panic(err)
		}
		if _, err := client.SetInput(c, shuntingInput, throttle{8}); err != nil {
			panic(err)
		}
		near := wagonsOf(c) // a game takes the wagons in reach of the player
		wagons.Set(near...)
		moment := c.Render()
		for _, h := range near {
			if wagon, ok := wagons.At(h, moment); ok { // draw all others by Component.At
				shown = wagon.Position[0]
			}
		}
	}
	fmt.Println("the wagon is drawn two metres further, ahead of the server:", own.Stats().Predicted > own.Stats().Confirmed)
	// Output:
	// the wagon is drawn two metres further, ahead of the server: true
}

func wagonsOf(c *client.Client) (wagons []bulk.Handle) {
	for e := range c.Replica().All() {
		if e.KindName() == "wagon" {
			wagons = append(wagons, e.Handle())
		}
	}
	return wagons
}
