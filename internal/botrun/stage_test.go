package botrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/rules"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server"
)

// botWorld is a world with bots in virtual time.
type botWorld struct {
	*rig.Rig
	t     testing.TB
	scene *scenes.Scene
	bots  []*botrun.Bot
}

func newBotWorld(t testing.TB, world string, link rig.Link) *botWorld {
	return newLoadedBotWorld(t, world, link, rig.Load{})
}

func newLoadedBotWorld(t testing.TB, world string, link rig.Link, load rig.Load) *botWorld {
	file := must.Get(scenes.Named(world))
	scene := must.Get(scenes.Build(file))
	game := rules.New(scene)
	r := must.Get(rig.New(1, rig.Config{Link: link, Load: load, Server: server.Config{
		WorldConfig: server.WorldConfig{
			World: scene.World, Schema: messages.Schema, Hooks: game.Hooks(),
			MaxViewAge: time.Duration(float64(file.Limits.ViewAgeS) * float64(time.Second)),
			Replication: replication.Config{
				EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius,
				SnapshotHz: file.SnapshotHz, BudgetBytesPerSecond: file.BudgetBytesPerSecond,
			},
		},
	}}))
	t.Cleanup(r.Close)
	game.Attach(r.Core())
	return &botWorld{Rig: r, t: t, scene: scene}
}

// playFrame plays a bot in each frame.
func playFrame(b *botrun.Bot) func(time.Time) error { return b.PlayFrame }

// join adds n bots. frame makes the frame function of each, called 60 times a second.
func (s *botWorld) join(n int, c botrun.Config, frame func(*botrun.Bot) func(now time.Time) error) {
	c.Player = bots.Player()
	for range n {
		b := botrun.NewBot(len(s.bots), c)
		var joined *rig.Client
		require.NoError(s.t, b.JoinBy(func(config client.Config) (c *client.Client, err error) {
			if joined, err = s.Dial(config); err != nil {
				return nil, err
			}
			return joined.Client, nil
		}))
		step := frame(b)
		joined.EachFrame(60, func() error { return step(time.Unix(0, 0).Add(s.Now())) })
		s.bots = append(s.bots, b)
	}
}
