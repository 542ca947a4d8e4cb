package bot

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/rules"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/server"
)

// stage is a world with bots in virtual time.
type stage struct {
	*rig.Rig
	t     *testing.T
	scene *scenes.Scene
	bots  []*bot
}

func newStage(t *testing.T, world string, link rig.Link) *stage {
	file, err := scenes.Named(world)
	require.NoError(t, err)
	scene, err := scenes.Build(file)
	require.NoError(t, err)
	s, err := rules.NewSchema()
	require.NoError(t, err)
	game := rules.New(scene)
	r, err := rig.New(1, rig.Config{Link: link, Server: server.Config{
		World: scene.World, Schema: s, GenerationFloor: 1, Game: game.Hooks(),
		Replication: replication.Config{
			EnterRadius: file.Interest.EnterRadius, LeaveRadius: file.Interest.LeaveRadius,
			SnapshotHz: file.SnapshotHz, BudgetBytesPerSecond: file.BudgetBytesPerSecond,
		},
	}})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return &stage{Rig: r, t: t, scene: scene}
}

// join adds n bots with what frame makes of each, 60 times a second.
func (s *stage) join(n int, c Config, frame func(*bot) func(now time.Time) error) {
	schema, err := NewSchema()
	require.NoError(s.t, err)
	for range n {
		b, err := newBot(len(s.bots), c.withDefaults(), schema)
		require.NoError(s.t, err)
		config, err := b.clientConfig(schema)
		require.NoError(s.t, err)
		config.Addr, config.Socket = "", nil
		joined, err := s.Dial(config)
		require.NoError(s.t, err)
		b.joined(joined.Client)
		step := frame(b)
		joined.EachFrame(60, func() error { return step(time.Unix(0, 0).Add(s.Now())) })
		s.bots = append(s.bots, b)
	}
}

// picture draws a bot's avatar, and times its inputs by what it draws.
type picture struct {
	*bot
	pressed time.Time
	before  [3]float32 // drawn velocity
	times   []int64    // µs
}

func (p *picture) draw(now time.Time) {
	m := p.client.Render()
	body, ok := p.body.At(p.client.Replica().Entity(p.client.Controlled()), m)
	switch {
	case !ok:
	case p.pressed.IsZero() && p.inputs.pending:
		p.pressed, p.before = p.inputs.pressed, body.Velocity
	case !p.pressed.IsZero() && body.Velocity != p.before:
		p.times = append(p.times, now.Sub(p.pressed).Microseconds())
		p.pressed = time.Time{}
	}
}

// TestInputLatencyIsThePictures compares the latencies that bots compute with those of
// clients that draw 60 times a second.
func TestInputLatencyIsThePictures(t *testing.T) {
	for _, delay := range []time.Duration{0, 50 * time.Millisecond, 150 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			s := newStage(t, "calm", rig.Link{Delay: delay})
			var pictures []*picture
			s.join(4, Config{Seed: 5}, func(b *bot) func(time.Time) error {
				p := &picture{bot: b}
				pictures = append(pictures, p)
				return func(now time.Time) error {
					err := b.step(now)
					p.draw(now)
					return err
				}
			})
			require.NoError(t, s.RunFor(30*time.Second))
			var computed, drawn []int64
			for _, p := range pictures {
				computed, drawn = append(computed, p.visible...), append(drawn, p.times...)
			}
			require.Greater(t, len(drawn), 20)
			require.InDelta(t, len(drawn), len(computed), float64(len(pictures)))
			const ms = 1000
			rtt := (2 * delay).Microseconds()
			require.InDelta(t, median(drawn), median(computed), 17*ms, "a frame")
			require.Greater(t, median(computed), rtt+20*ms, "a round trip and the picture's delay")
			require.Less(t, median(computed), rtt+100*ms)
		})
	}
}

func median(values []int64) int64 {
	slices.Sort(values)
	return values[len(values)/2]
}
