package server_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// A lobby pairs its players, and moves each pair to a new match. Their connections stay.
func ExampleRoomsConfig() {
	protocol := schema.NewWithBody()              // both kinds of rooms have it
	waiting, matches := []*server.Session(nil), 0 // used by the lobby's goroutine alone
	pair := func(s *server.Session) {
		waiting = append(waiting, s)
		if len(waiting) < 2 {
			return
		}
		matches++
		for _, s := range waiting {
			if err := s.Move(fmt.Sprint("match/", matches)); err != nil {
				s.Kick(err.Error()) // too many rooms, for example
			}
		}
		waiting = nil
	}
	room := func(q server.RoomRequest) (*server.RoomGame, error) {
		w, err := world.New(world.Config{FirstGeneration: q.Generations.First, LastGeneration: q.Generations.Last})
		if err != nil {
			return nil, err
		}
		player, err := w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}})
		game := server.Hooks{
			Join: func(s *server.Session) (world.Entity, error) {
				if q.Kind == "lobby" {
					pair(s)
				}
				return w.Spawn(player, world.Vec3{}, world.Vec3{})
			},
			Leave: func(s *server.Session) {
				w.Destroy(s.Entity())
				if q.Kind == "lobby" {
					waiting = slices.DeleteFunc(waiting, func(o *server.Session) bool { return o == s })
				}
			},
		}
		return &server.RoomGame{WorldConfig: server.WorldConfig{World: w, Schema: protocol, Hooks: game}}, err
	}
	s, err := server.Listen(server.Config{
		Listen: "127.0.0.1:0",
		Rooms: &server.RoomsConfig{
			Kinds: map[string]server.RoomKind{
				"lobby": {New: room, Pinned: true},
				"match": {New: room, Create: server.ForGame},
			},
			Default: "lobby",
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx) }()

	var players []*client.Client
	for range 2 {
		p, err := client.Dial(ctx, client.Config{Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Schema: protocol})
		if err != nil {
			panic(err)
		}
		players = append(players, p)
	}
	for _, p := range players {
		for p.Welcome().Room == "lobby" || p.Replica().Len() < 2 {
			for _, each := range players {
				if err := each.Update(); err != nil {
					panic(err)
				}
			}
		}
		fmt.Println(p.Welcome().Room, p.Replica().Len(), "players")
	}
	for _, p := range players {
		_ = p.Close()
	}
	stop()
	<-ended
	// Output:
	// match/1 2 players
	// match/1 2 players
}
