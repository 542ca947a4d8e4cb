package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// The messages of the game, for server and clients.
type (
	// throttle is the input of a tick.
	throttle struct {
		Speed float32 `net:"range=0..10,step=0.1"` // m/s
	}
	// whistle asks for a number of blows, and is answered with the steam left.
	whistle struct {
		Blows uint8
	}
	steam struct {
		Blows uint8
	}
	// derail is a command without an answer.
	derail struct{}
)

var (
	railwaySchema  = schema.NewWithBody()
	throttleInput  = schema.DefineInput[throttle](railwaySchema)
	whistleCommand = schema.DefineQuery[whistle, steam](railwaySchema, "whistle")
	derailCommand  = schema.DefineCommand[derail](railwaySchema, "derail")
)

// railway serves a world in which each client controls a cart that rolls along x at
// the speed of its input. There is steam for three blows of the whistle.
func railway() (s *server.Server, stop func()) {
	w, _ := world.New(world.Config{})
	cart, _ := w.AddKind(world.Kind{Name: "cart", Body: &world.BodyDef{Kinematic: true}})
	left := uint8(3)
	s, err := server.Listen(server.Config{
		Listen: "127.0.0.1:0",
		WorldConfig: server.WorldConfig{
			World: w, Schema: railwaySchema,
			Hooks: server.Hooks{
				Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(cart, world.Vec3{}, world.Vec3{}) },
				Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
				Input: server.OnInput(throttleInput, func(s *server.Session, _ uint64, in throttle) {
					w.SetVelocity(s.Entity(), world.Vec3{X: in.Speed})
				}),
				Commands: []server.Command{
					server.OnQuery(whistleCommand, func(_ *server.Session, _ world.Entity, args whistle) (steam, error) {
						if args.Blows > left {
							return steam{}, &server.Rejection{Text: "no steam left"}
						}
						left -= args.Blows
						return steam{left}, nil
					}),
					server.OnCommand(derailCommand, func(*server.Session, world.Entity, derail) error {
						return &server.Rejection{Text: "against the rules"}
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

// train is a game: the state that its one goroutine keeps between renders.
type train struct {
	client *client.Client
	asked  []*client.Query[steam]
	shown  float32 // where the player's cart was last drawn
}

// render is called by an engine once per picture. It does not block.
func (g *train) render() error {
	input := throttle{8} // a game reads its controller here
	if _, err := client.SetInput(g.client, throttleInput, input); err != nil {
		return err
	}
	if err := g.client.Update(); err != nil {
		return err // a *wire.Error says why the session ended
	}
	moment := g.client.Render()
	for e := range g.client.Replica().All() {
		if body, ok := client.Body.At(e, moment); ok {
			g.draw(e.Handle(), body.Position)
		}
	}
	for len(g.asked) > 0 {
		left, result, done := g.asked[0].Poll()
		if !done {
			break
		}
		g.asked = g.asked[1:]
		var refused *client.Rejection
		switch {
		case errors.As(result.Err, &refused):
			fmt.Println("whistle:", refused.Code, "-", refused.Text)
		case result.Err == nil:
			fmt.Println("whistle: steam for", left.Blows)
		}
	}
	return nil
}

func (g *train) draw(cart bulk.Handle, at [3]float32) {
	if cart == g.client.Controlled() {
		g.shown = at[0]
	}
}

func (g *train) whistle(blows uint8) {
	q, err := client.Ask(g.client, whistleCommand, 0, whistle{blows})
	if err != nil {
		panic(err)
	}
	g.asked = append(g.asked, q)
}

// A game loop on one goroutine: input, Update, entities interpolated between snapshots,
// and answers to commands as they arrive.
func ExampleClient() {
	s, stop := railway()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, client.Config{
		Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: railwaySchema,
	})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	game := &train{client: c}
	game.whistle(2)
	game.whistle(2)
	vsync := time.NewTicker(time.Second / 60)
	defer vsync.Stop()
	for game.shown < 8 || len(game.asked) > 0 { // a second of driving, after the start
		if err := game.render(); err != nil {
			panic(err)
		}
		select {
		case <-vsync.C:
		case <-ctx.Done():
			panic("the cart does not move")
		}
	}
	fmt.Println("drawn at the eighth metre")

	// Programs that draw nothing can wait for an answer.
	f, err := client.Do(c, derailCommand, c.Controlled(), derail{})
	if err != nil {
		panic(err)
	}
	_, err = f.Wait(ctx)
	fmt.Println("derail:", wire.CodeOf(err))
	stats := c.Stats()
	fmt.Println("commands:", stats.Commands, "rejected:", stats.Rejected)
	// Output:
	// whistle: steam for 1
	// whistle: command-refused - no steam left
	// drawn at the eighth metre
	// derail: command-refused
	// commands: 3 rejected: 2
}
