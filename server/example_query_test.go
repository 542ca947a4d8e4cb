package server_test

import (
	"context"
	"fmt"
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// Players ask for any ranked match. The server fills one room after the other. A reserved seat stays free for its user, and the list
// of rooms does not count it as free.
func ExampleRoom_SetListing() {
	newMatch := func(q server.RoomRequest) (*server.RoomGame, error) {
		w, err := world.New(world.Config{FirstGeneration: q.Generations.First, LastGeneration: q.Generations.Last})
		if err != nil {
			return nil, err
		}
		attach := func(r *server.Room) {
			// A match that has begun would be Unlisted.
			if err := r.SetListing(server.Listing{Visibility: server.Listed, Attributes: map[string]string{"mode": q.Attributes["mode"], "map": "dunes"}}); err != nil {
				panic(err)
			}
		}
		return &server.RoomGame{WorldConfig: server.WorldConfig{World: w, Schema: schema.NewWithBody(), MaxSessions: 4}, Attach: attach}, nil
	}
	s, err := server.Listen(server.Config{Listen: "127.0.0.1:0", Rooms: &server.RoomsConfig{
		Kinds: map[string]server.RoomKind{"match": {New: newMatch, Visibility: server.Listed}},
	}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()

	config := client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Room: "match?mode=ranked"}
	var players []*client.Client
	for range 2 {
		p, err := client.Dial(ctx, config)
		if err != nil {
			panic(err)
		}
		players = append(players, p)
	}
	fmt.Println("same room:", players[0].Welcome().Room == players[1].Welcome().Room)
	if err := s.ReserveSeats(ctx, players[0].Welcome().Room, []string{"ada"}, 30*time.Second); err != nil {
		panic(err)
	}
	rooms, err := client.Rooms(ctx, config, "match?map=dunes")
	if err != nil {
		panic(err)
	}
	for _, r := range rooms {
		fmt.Println(r.Players, "players,", r.Free, "free,", r.Attributes)
	}
	for _, p := range players {
		_ = p.Close()
	}
	stop()
	<-ended
	// Output:
	// same room: true
	// 2 players, 1 free, map[map:dunes mode:ranked]
}
