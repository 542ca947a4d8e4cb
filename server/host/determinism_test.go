package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/world"
)

func TestCheckDeterminism(t *testing.T) {
	status, out, err := play(t, "check", "--determinism", "--ticks=200")
	require.Equal(t, exitOK, status, err)
	require.Contains(t, out, "tag: deterministic: 215 ticks of 8 bots, repeated in two halves: 645 hashes are equal\n")

	status, out, err = playOf(t, inn(), "check", "--determinism", "--ticks=100")
	require.Equal(t, exitOK, status, err)
	require.Regexp(t, `room \w+: deterministic: 1\d\d ticks`, out)

	status, out, err = play(t, "check", "--determinism", "--ticks=2")
	require.Equal(t, exitOK, status, err)
	require.Contains(t, out, "deterministic: 17 ticks", "bots join before the ticks are counted")

	status, _, err = play(t, "check", "--determinism", "--ticks=1")
	require.Equal(t, exitUsage, status)
	require.Contains(t, err, "--ticks is 1, want at least 2")
}

// A system that computes from anything but the world is named, with what differs. Systems before and after it are not.
func TestCheckDeterminismNamesSystem(t *testing.T) {
	for what, c := range map[string]struct {
		parts string
		make  func() func(*world.World)
	}{
		"a map": {"bodies", func() func(*world.World) {
			targets := map[uint32]float32{}
			for i := range uint32(8) {
				targets[i] = float32(i)
			}
			return func(w *world.World) {
				var sum float32
				for slot, by := range targets {
					sum = sum/2 + by // depends on the order
					w.Impulse(w.Slots().Handle(slot), world.Vec3{Y: sum / 64})
				}
			}
		}},
		"the clock": {"bodies", func() func(*world.World) {
			return func(w *world.World) {
				w.Impulse(w.Slots().Handle(0), world.Vec3{X: float32(time.Now().Nanosecond()%1000) / 1000})
			}
		}},
		"a counter": {"bodies", func() func(*world.World) {
			count := 0 // begins again with each instance: only the second half finds it
			return func(w *world.World) {
				count++
				w.Impulse(w.Slots().Handle(0), world.Vec3{Y: float32(count%64) / 64})
			}
		}},
		"a generator": {"clock and random generator", func() func(*world.World) {
			seed := time.Now()
			return func(w *world.World) {
				for range time.Since(seed).Nanoseconds() % 64 {
					w.Rand().Uint32()
				}
			}
		}},
	} {
		t.Run(what, func(t *testing.T) {
			d := tag()
			d.New = func(o Options) (*Instance, error) {
				g, err := newTag(o)
				if err != nil {
					return nil, err
				}
				rule := c.make()
				return g, g.World.AddSystem(world.Before, "guilty", rule)
			}
			status, out, err := playOf(t, d, "check", "--determinism", "--ticks=100")
			require.Equal(t, 1, status, out)
			require.Regexp(t, `tick \d+: the system "guilty" has another effect when the tick is repeated: in `+c.parts, err)
			require.Contains(t, err, "World.Rand")
		})
	}
}

// A mover is no system, and is named too.
func TestCheckDeterminismNamesMover(t *testing.T) {
	d := tag()
	d.New = func(o Options) (*Instance, error) {
		g, err := newTag(o)
		if err != nil {
			return nil, err
		}
		count := 0
		return g, g.World.SetMover(func(_ *world.World, bodies []world.MovingBody) {
			count++
			for i := range bodies {
				bodies[i].Position.Y = float32(count % 32)
			}
		})
	}
	d.Bots = &bot.Player{New: newTagBot}
	status, _, err := playOf(t, d, "check", "--determinism", "--ticks=100")
	require.NotEqual(t, exitOK, status)
	require.Contains(t, err, "SetMover")
}
