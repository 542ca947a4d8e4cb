package botrun_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/loadtest/rig"
)

// picture draws a bot's avatar, and measures when its inputs become visible.
type picture struct {
	*botrun.Bot
	pressed time.Time
	before  [3]float32 // drawn velocity
	times   []int64    // µs
}

func (p *picture) draw(now time.Time) {
	c := p.Client()
	m := c.Render()
	body, ok := client.Body.At(c.Replica().Entity(c.Controlled()), m)
	pressed, watching := p.PressedAt()
	switch {
	case !ok:
	case p.pressed.IsZero() && watching:
		p.pressed, p.before = pressed, body.Velocity
	case !p.pressed.IsZero() && body.Velocity != p.before:
		p.times = append(p.times, now.Sub(p.pressed).Microseconds())
		p.pressed = time.Time{}
	}
}

// TestInputLatencyIsThePictures compares the latencies that bots compute with those measured by
// clients that draw 60 times a second.
func TestInputLatencyIsThePictures(t *testing.T) {
	for _, c := range []struct {
		delay    time.Duration
		ordinary bool
	}{
		{0, false},
		{50 * time.Millisecond, false},
		{150 * time.Millisecond, false},
		{0, true},
		{50 * time.Millisecond, true},
		{150 * time.Millisecond, true},
	} {
		t.Run(fmt.Sprintf("%v/ordinary=%v", c.delay, c.ordinary), func(t *testing.T) {
			racetest.SkipUnchecked(t)
			delay := c.delay
			s := newBotWorld(t, "calm", rig.Link{Delay: delay})
			var pictures []*picture
			s.join(4, botrun.Config{Seed: 5, Ordinary: c.ordinary}, func(b *botrun.Bot) func(time.Time) error {
				p := &picture{Bot: b}
				pictures = append(pictures, p)
				return func(now time.Time) error {
					err := b.PlayFrame(now)
					p.draw(now)
					return err
				}
			})
			require.NoError(t, s.RunFor(30*time.Second))
			var computed, drawn []int64
			for _, p := range pictures {
				computed, drawn = append(computed, p.Visible()...), append(drawn, p.times...)
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

// TestInputWithoutEffectIsNotMeasured: the first input of a resting bot changes nothing. Its watch must
// not end with the effect of the next change of course, seconds later.
func TestInputWithoutEffectIsNotMeasured(t *testing.T) {
	watch, start := botrun.NewInputWatch(60), time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	resting, moving := [3]float32{}, [3]float32{1, 0, 0}

	watch.Press(at(0), 10, 8, resting)
	_, seen := watch.See(at(20), 9, 9, resting)
	require.False(t, seen, "not applied")
	_, seen = watch.See(at(60), 12, 12, resting)
	require.False(t, seen, "applied, without effect")
	watch.Press(at(3000), 190, 189, resting)
	_, seen = watch.See(at(3020), 190, 189, resting)
	require.False(t, seen, "not applied")
	latency := must.Have(watch.See(at(3050), 191, 190, moving))
	require.Equal(t, 50*time.Millisecond, latency)

	watch.Press(at(4000), 250, 249, moving)
	watch.Press(at(4010), 251, 249, moving)
	latency = must.Have(watch.See(at(4070), 252, 251, resting))
	require.Equal(t, 70*time.Millisecond, latency, "from the first of two changes that no view has separated")
}

func median(values []int64) int64 {
	slices.Sort(values)
	return values[len(values)/2]
}
