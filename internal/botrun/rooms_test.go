package botrun_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// TestBotsAreMovedAsTheyJoin has a lobby that moves each session at once. The Welcome of the
// move usually arrives before Dial has returned.
func TestBotsAreMovedAsTheyJoin(t *testing.T) {
	protocol := schema.NewWithBody()
	room := func(q server.RoomRequest) (*server.RoomGame, error) {
		w, err := world.New(world.Config{FirstGeneration: q.Generations.First, LastGeneration: q.Generations.Last})
		if err != nil {
			return nil, err
		}
		player, err := w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}})
		game := server.Hooks{
			Join: func(s *server.Session) (world.Entity, error) {
				if q.Kind == "lobby" {
					if err := s.Move("match"); err != nil {
						return 0, err
					}
				}
				return w.Spawn(player, world.Vec3{}, world.Vec3{})
			},
			Leave: func(s *server.Session) { w.Destroy(s.Entity()) },
		}
		return &server.RoomGame{WorldConfig: server.WorldConfig{World: w, Schema: protocol, Hooks: game}}, err
	}
	s := must.Get(server.Listen(server.Config{Listen: "127.0.0.1:0", Rooms: &server.RoomsConfig{
		Kinds:   map[string]server.RoomKind{"lobby": {New: room, Pinned: true}, "match": {New: room, Pinned: true}},
		Default: "lobby",
	}}))
	serving, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving) }()
	defer func() {
		stop()
		require.NoError(t, <-served)
	}()
	ctx, enough := context.WithCancel(t.Context())
	report := must.Get(botrun.Run(ctx, botrun.Config{
		Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Bots: 8, Duration: patience, Player: &bot.Player{
			New: func(bot.Seat) (bot.Behavior, error) { return bot.Behavior{Schema: protocol}, nil },
		},
	}, func(p *botrun.Progress) {
		if p.Connected == 8 && p.Handles.Live > 1000 {
			enough()
		}
	}))
	require.True(t, report.Passed(), "%+v", report)
	require.Equal(t, 8, report.Connected)
	require.EqualValues(t, 8, report.Joins.Count)
}
