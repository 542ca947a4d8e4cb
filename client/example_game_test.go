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

// railway serves a world in which each client controls a cart that rolls along x at
// the speed of its input. One whistle is allowed.
func railway() (s *server.Server, stop func()) {
	w, _ := world.New(world.Config{})
	cart, _ := w.AddKind(world.Kind{Name: "cart", Body: &world.BodyDef{Kinematic: true}})
	whistled := false
	components := schema.New()
	_ = schema.Add[schema.Body](components, schema.BodyComponent)
	s, err := server.Listen(server.Config{
		Listen: "127.0.0.1:0", World: w, Schema: components,
		Game: server.Game{
			Join:  func(*server.Session) (world.Entity, error) { return w.Spawn(cart, world.Vec3{}, world.Vec3{}) },
			Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
			Input: server.OnRawInput(func(s *server.Session, _ uint64, data []byte) {
				if len(data) == 1 && data[0] <= 10 {
					w.SetVelocity(s.Entity(), world.Vec3{X: float32(data[0])})
				}
			}),
			Commands: map[string]server.Command{
				"whistle": server.OnRawCommand(func(*server.Session, world.Entity, []byte) error {
					if whistled {
						return &server.Rejection{Text: "no steam left"}
					}
					whistled = true
					return nil
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

// train is a game: the state that its one goroutine keeps between renders.
type train struct {
	client *client.Client
	body   client.Component[schema.Body]
	asked  []*client.Future
	shown  float32 // where the player's cart was last drawn
}

// render is called by an engine once per picture. It does not block.
func (g *train) render() error {
	throttle := []byte{8} // m/s; a game reads its controller here
	if _, err := g.client.SetInput(throttle); err != nil {
		return err
	}
	if err := g.client.Update(); err != nil {
		return err // a *wire.Error says why the session ended
	}
	moment := g.client.Render()
	for e := range g.client.Replica().All() {
		if body, ok := g.body.At(e, moment); ok {
			g.draw(e.Handle(), body.Position)
		}
	}
	for len(g.asked) > 0 {
		answer, done := g.asked[0].Poll()
		if !done {
			break
		}
		g.asked = g.asked[1:]
		var refused *client.Rejection
		switch {
		case errors.As(answer.Err, &refused):
			fmt.Println("whistle:", refused.Code, "-", refused.Text)
		default:
			fmt.Println("whistle:", wire.CodeOf(answer.Err))
		}
	}
	return nil
}

func (g *train) draw(cart bulk.Handle, at [3]float32) {
	if cart == g.client.Controlled() {
		g.shown = at[0]
	}
}

func (g *train) whistle() {
	f, err := g.client.Command("whistle", 0, nil)
	if err != nil {
		panic(err)
	}
	g.asked = append(g.asked, f)
}

// A game loop on one goroutine: input, Update, entities interpolated between snapshots,
// and answers to commands as they arrive.
func ExampleClient() {
	s, stop := railway()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	components := schema.New()
	if err := schema.Add[schema.Body](components, schema.BodyComponent); err != nil {
		panic(err)
	}
	body, err := client.ComponentOf[schema.Body](components, schema.BodyComponent)
	if err != nil {
		panic(err)
	}
	c, err := client.Dial(ctx, client.Config{
		Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: components,
	})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	game := &train{client: c, body: body}
	game.whistle()
	game.whistle()
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
	f, err := c.Command("derail", c.Controlled(), nil)
	if err != nil {
		panic(err)
	}
	_, err = f.Wait(ctx)
	fmt.Println("derail:", wire.CodeOf(err))
	stats := c.Stats()
	fmt.Println("commands:", stats.Commands, "rejected:", stats.Rejected)
	// Output:
	// whistle: ok
	// whistle: command-refused - no steam left
	// drawn at the eighth metre
	// derail: unknown-command
	// commands: 3 rejected: 2
}
