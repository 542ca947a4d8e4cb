package server_test

import (
	"fmt"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// A shot hits what its player saw. The world keeps as much history as clients may claim. The
// game may veto a hit: here players who have reached cover since are not hit.
func ExampleSession_View() {
	w, _ := world.New(world.Config{HistoryTicks: 15}) // at 60 Hz the default of MaxViewAge
	type shoot struct{ X, Y, Z float32 }              // to the point aimed at
	shooting := schema.DefineCommand[shoot](schema.New(), "shoot")
	inCover := func(at world.Vec3) bool { return at.X > 40 }

	shot := func(s *server.Session, _ world.Entity, to shoot) error {
		at, _ := s.View()
		from, _ := w.Position(s.Entity())
		for _, hit := range w.AppendRayAt(nil, at, from, world.Vec3(to), 0) {
			if now, _ := w.Position(hit.Entity); hit.Entity != s.Entity() && !inCover(now) {
				w.Destroy(hit.Entity)
				break
			}
		}
		return nil
	}
	game := server.Hooks{Commands: []server.Command{server.OnCommand(shooting, shot)}}
	fmt.Println(len(game.Commands), "command")
	// Output: 1 command
}
