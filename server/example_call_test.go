package server_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Purse is saved with the world: NewestOrder tells which orders it has.
type Purse struct {
	Coins       int32
	NewestOrder int64
}

// order is a row of a shop's database.
type order struct {
	ID    int64
	Coins int32
}

// shop is a database that takes its time.
type shop chan order

func (s shop) nextOrder(ctx context.Context) (order, error) {
	select {
	case o := <-s:
		return o, nil
	case <-ctx.Done():
		return order{}, ctx.Err()
	}
}

// A game asks a database on a goroutine of its own, so that no tick waits, and brings the answer into the world by Do:
// it is recorded and journaled, which a channel that a system reads is not. The world keeps the number of
// the newest order. So an order counts once, even if the shop repeats it because Do has returned an error, or because the
// process crashed before it returned.
func ExampleRoom_Do() {
	w, err := world.New(world.Config{Seed: 1})
	if err != nil {
		panic(err)
	}
	chest, _ := w.AddKind(world.Kind{Name: "chest", Body: &world.BodyDef{Kinematic: true}})
	purses, _ := world.Register[Purse](w, "purse")
	treasury, _ := w.Spawn(chest, world.Vec3{}, world.Vec3{})
	purses.Set(treasury, Purse{})
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", WorldConfig: server.WorldConfig{World: w, Schema: schema.NewWithBody()}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()

	grant := func(o order) error {
		return s.Room().Do(ctx, func(*world.World) error {
			purse := purses.Mut(treasury)
			if purse == nil {
				return errors.New("the treasury is gone") // it was there when the shop was asked
			}
			if o.ID > purse.NewestOrder {
				purse.Coins, purse.NewestOrder = purse.Coins+o.Coins, o.ID
			}
			fmt.Println("order", o.ID, "leaves", purse.Coins, "coins")
			return nil
		})
	}
	orders, done := make(shop), make(chan error)
	go func() {
		for range 3 {
			o, err := orders.nextOrder(ctx)
			if err == nil {
				err = grant(o)
			}
			done <- err // nil: the shop may forget the order
		}
	}()
	for _, o := range []order{{1, 50}, {2, 30}, {2, 30}} { // the shop repeats what it is not sure of
		orders <- o
		if err := <-done; err != nil {
			panic(err)
		}
	}
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// order 1 leaves 50 coins
	// order 2 leaves 80 coins
	// order 2 leaves 80 coins
	// ended: <nil>
}
