package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
)

// roll moves a cart by one tick, as the railway's world does with the newest throttle.
func roll(_ uint32, cart *schema.Body, in throttle) {
	cart.Velocity[0] = in.Speed
	cart.Position[0] += float32(in.Speed * (1.0 / 60))
}

// The player's own cart moves in the frame of its input, ahead of the server.
func ExamplePredict() {
	s, stop := railway()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: railwaySchema})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	own, err := client.Predict(c, roll, client.PredictConfig{})
	if err != nil {
		panic(err)
	}
	shown := float32(0)
	for vsync := time.Tick(time.Second / 60); shown < 1; <-vsync {
		if err := c.Update(); err != nil {
			panic(err)
		}
		if _, err := c.SetInputValue(&throttle{8}); err != nil {
			panic(err)
		}
		if cart, ok := own.At(c.Render()); ok { // draw all other carts by Component.At
			shown = cart.Position[0]
		}
	}
	fmt.Println("drawn at the first metre, ahead of the server:", own.Stats().Predicted > own.Stats().Confirmed)
	// Output:
	// drawn at the first metre, ahead of the server: true
}
