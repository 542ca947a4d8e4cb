package bot

import (
	"testing"
	"time"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/scenes"
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
	bots  []*bot
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

// join adds n bots. frame makes the frame function of each, called 60 times a second.
func (s *botWorld) join(n int, c Config, frame func(*bot) func(now time.Time) error) {
	for range n {
		b := newBot(len(s.bots), c.withDefaults())
		config := must.Get(b.clientConfig())
		config.Addr, config.Socket = "", nil
		joined := must.Get(s.Dial(config))
		b.beginVisit(joined.Client)
		step := frame(b)
		joined.EachFrame(60, func() error { return step(time.Unix(0, 0).Add(s.Now())) })
		s.bots = append(s.bots, b)
	}
}
