package client_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/schema"
)

// ms converts milliseconds to the steps of a linkedServer.
func ms(n int64) int64 { return n * linkedStepHz / 1000 }

func TestClock(t *testing.T) {
	for name, c := range map[string]struct {
		down, up  simtest.Conditions
		rtt       time.Duration
		jitter    time.Duration // at most, and a third of it at least
		tolerance float64       // ticks
	}{
		"near":   {simtest.Conditions{}, simtest.Conditions{}, 0, time.Millisecond, 0.1},
		"far":    {simtest.Conditions{DelayMin: ms(40)}, simtest.Conditions{DelayMin: ms(40)}, 80 * time.Millisecond, time.Millisecond, 0.1},
		"jitter": {simtest.Conditions{DelayMin: ms(40), DelayMax: ms(80), Loss: 0.1}, simtest.Conditions{DelayMin: ms(40), DelayMax: ms(60)}, 80 * time.Millisecond, 30 * time.Millisecond, 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLinkedServer(t, 7, c.down, c.up)
			require.Zero(t, s.session.Clock(0).Tick)
			s.play(3 * time.Second)
			last := 0.0
			s.render = func() {
				k := s.session.Clock(s.time())
				require.InDelta(t, s.trueTick(), k.Tick, c.tolerance)
				require.Greater(t, k.Tick, last)
				last = k.Tick
				require.InDelta(t, c.rtt, k.RTT, float64(5*time.Millisecond))
				require.LessOrEqual(t, k.Jitter, c.jitter)
				require.GreaterOrEqual(t, k.Jitter, c.jitter/3-time.Millisecond)
				require.EqualValues(t, linkedTickHz, k.TickHz)
			}
			s.play(5 * time.Second)
			require.NotZero(t, last)
		})
	}
}

// After a long stall of the server, the clock steps at its first snapshot; small errors
// are slewed.
func TestClockAfterAStall(t *testing.T) {
	s := newLinkedServer(t, 7, simtest.Conditions{DelayMin: ms(20)}, simtest.Conditions{DelayMin: ms(20)})
	s.play(2 * time.Second)
	s.frozen = s.now + ms(2000)
	shown := 0.0
	s.render = func() {
		_, m := s.shown()
		require.GreaterOrEqual(t, m.Tick, shown, "C4")
		shown = m.Tick
	}
	s.play(2200 * time.Millisecond)
	require.InDelta(t, s.trueTick(), s.session.Clock(s.time()).Tick, 0.2)
	require.LessOrEqual(t, s.session.Stats().Delay, 500*time.Millisecond, "bounded")
	s.play(5 * time.Second)
	require.Less(t, shown, s.trueTick(), "renders waited for the server")
	s.play(20 * time.Second)
	require.Less(t, s.session.Stats().Delay, 100*time.Millisecond, "it shrinks again")

	s.frozen = s.now + ms(100)
	s.play(110 * time.Millisecond)
	last := s.session.Clock(s.time()).Tick
	require.InDelta(t, s.trueTick()+6, last, 0.5, "the stall is not known yet")
	last = 0
	s.render = func() {
		now := s.session.Clock(s.time()).Tick
		if last == 0 {
			last = now
			return
		}
		const even = linkedRender * linkedTickHz / float64(linkedStepHz)
		require.InDelta(t, even, now-last, even/15, "no step")
		last = now
	}
	s.play(10 * time.Second)
	require.InDelta(t, s.trueTick(), last, 1)
}

// When a link that was slow at first becomes fast, renders catch up with the clock.
func TestFramesAfterASlowStart(t *testing.T) {
	s := newLinkedServer(t, 7, simtest.Conditions{DelayMin: ms(1500)}, near)
	s.play(1700 * time.Millisecond)
	s.down.SetConditions(near)
	s.render = func() { s.shown() }
	s.play(1300 * time.Millisecond)
	_, m := s.shown()
	require.InDelta(t, 1.5*linkedTickHz, s.trueTick()-m.Tick, 6, "slow as ever")
	s.play(300 * time.Millisecond)
	_, m = s.shown()
	require.InDelta(t, s.trueTick(), m.Tick, 0.8*linkedTickHz, "half a second of delay, and what is not caught up yet")
}

// The render lag recovers after a single stall of the link: at any snapshot
// rate, in young sessions and in sessions with few changes. Repeated stalls keep it high.
func TestLagRecovers(t *testing.T) {
	const stall = 300 * time.Millisecond
	for _, every := range []uint32{1, 2, 3, 6} {
		for _, age := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 10 * time.Second} {
			for _, quiet := range []bool{false, true} {
				t.Run(fmt.Sprintf("every %d ticks, after %v, quiet %v", every, age, quiet), func(t *testing.T) {
					racetest.SkipUnchecked(t)
					newLink := func() *linkedServer {
						s := newLinkedServer(t, 7, near, near)
						s.every = every
						if quiet {
							s.motion = func(uint32) (schema.Body, bool) { return walk(linkedFirstTick), false }
							s.omits = func(tick uint32) bool { return tick > linkedFirstTick+10 && tick%15 != 0 }
						}
						s.render = func() {
							if s.tick > linkedFirstTick+10 {
								s.shown()
							}
						}
						s.play(age)
						return s
					}
					s, even := newLink(), newLink()
					// excess returns by how much s lags more than a client whose link never
					// stalled.
					excess := func() time.Duration {
						_, m := s.shown()
						_, want := even.shown()
						return time.Duration((want.Tick - m.Tick) * float64(time.Second) / linkedTickHz)
					}
					play := func(d time.Duration) {
						s.play(d)
						even.play(d)
					}
					stop := func() { s.stuck = s.now + ms(stall.Milliseconds()) }
					stop()
					play(stall + 2*time.Second)
					require.LessOrEqual(t, excess(), 150*time.Millisecond)
					play(3 * time.Second)
					require.LessOrEqual(t, excess(), 30*time.Millisecond)
					if quiet || every > 3 {
						return // stalls meet few snapshots
					}
					for range 8 {
						stop()
						play(time.Second)
					}
					require.InDelta(t, stall, excess(), float64(80*time.Millisecond), "it recurs")
					play(8 * time.Second)
					require.LessOrEqual(t, excess(), 30*time.Millisecond)
				})
			}
		}
	}
}

// Even if the render lags a lot, motion after rest is drawn at most two snapshots early.
func TestMotionAfterRestIsNotEarly(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		s := newLinkedServer(t, 7, near, near)
		start := uint32(math.MaxUint32) // tick of the first motion
		s.motion = func(tick uint32) (schema.Body, bool) {
			return walk(min(tick, linkedFirstTick+10) + tick - min(tick, start)), tick > start || tick < linkedFirstTick+10
		}
		s.omits = func(tick uint32) bool { return quiet && tick <= start && tick%15 != 0 }
		s.play(time.Second)
		for range 5 { // the lag grows
			s.stuck = s.now + ms(300)
			s.play(time.Second)
		}
		start = s.tick + 1
		moved := 0.0
		s.render = func() {
			if x, m := s.shown(); moved == 0 && x > walked(linkedFirstTick+10) {
				moved = m.Tick
			}
		}
		s.play(time.Second)
		require.InDelta(t, start, moved, 2*float64(s.every), "quiet %v", quiet)
	}
}

// After a link outage the delay is bounded.
func TestFramesAfterACut(t *testing.T) {
	s := newLinkedServer(t, 7, near, near)
	s.play(150 * time.Millisecond) // so few snapshots that each affects the lag
	s.down.SetConditions(simtest.Conditions{Loss: 1})
	s.play(2 * time.Second)
	s.down.SetConditions(near)
	s.play(200 * time.Millisecond)
	require.InDelta(t, 490*time.Millisecond, s.session.Stats().Delay, float64(10*time.Millisecond), "it shrinks already")
}

// A duplicate datagram is not measured, and neither is an echo with the maximal hold.
func TestTimesThatDoNotCount(t *testing.T) {
	s := newLinkedServer(t, 7, near, near)
	s.play(2 * time.Second)
	again := append([]byte(nil), s.last...)
	s.play(100 * time.Millisecond) // it has arrived
	before := s.session.Clock(s.time())
	outcome := must.Get(s.session.ReceiveDatagram(again, s.time()))
	require.Equal(t, client.Duplicate, outcome)
	require.Equal(t, before, s.session.Clock(s.time()))

	s.up.SetConditions(simtest.Conditions{Loss: 1})
	s.play(15 * time.Second)
	require.InDelta(t, 40*time.Millisecond, s.session.Clock(s.time()).RTT, float64(5*time.Millisecond))
}

// Of the datagrams of one snapshot, the first determines its lateness.
func TestFramesOfLargeSnapshots(t *testing.T) {
	link := simtest.Conditions{DelayMin: ms(30), DelayMax: ms(90)}
	s := newLinkedServer(t, 11, link, link)
	s.parts = 12
	s.play(5 * time.Second)
	frames, starved := 0, 0
	s.render = func() {
		_, m := s.shown()
		frames++
		if m.Tick > float64(s.session.Replica().Tick()) {
			starved++
		}
	}
	s.play(20 * time.Second)
	require.LessOrEqual(t, float64(starved), 0.03*float64(frames))
}

// On any link, constant motion is rendered as constant motion. No render steps back, and each
// shows the walker where it was at the moment, interpolated or extrapolated. The delay fits the
// link.
func TestFramesAreSmooth(t *testing.T) {
	const interval = 1000.0 / linkedSnapshotHz
	for _, jitter := range []int64{0, 20, 100} {
		for _, loss := range []float64{0, 0.05} {
			t.Run(fmt.Sprintf("jitter %d ms, loss %v", jitter, loss), func(t *testing.T) {
				link := simtest.Conditions{DelayMin: ms(30), DelayMax: ms(30 + jitter), Loss: loss}
				s := newLinkedServer(t, uint64(jitter), link, link)
				s.play(time.Second)
				lastX, lastTick := math.Inf(-1), 0.0
				frames, starved, lag := 0, 0, 0.0
				s.render = func() {
					x, m := s.shown()
					require.GreaterOrEqual(t, x, lastX-1.0/128, "no step back beyond the rounding of positions")
					require.GreaterOrEqual(t, m.Tick, lastTick, "C4")
					lastX, lastTick = x, m.Tick
					frames++
					if m.Tick > float64(s.session.Replica().Tick()) {
						starved++
					}
					require.InDelta(t, walked(m.Tick), x, 1.0/128, "tick %v, newest %d", m.Tick, s.session.Replica().Tick())
					lag += s.trueTick() - m.Tick
				}
				s.play(5 * time.Second) // until the delay has settled
				frames, starved, lag = 0, 0, 0
				s.play(20 * time.Second)
				lag *= 1000.0 / linkedTickHz / float64(frames) // ms
				t.Logf("lag %.0f ms, delay %v, starved %d of %d, jitter %v", lag, s.session.Stats().Delay, starved, frames, s.session.Clock(s.time()).Jitter)
				require.LessOrEqual(t, float64(starved), 0.03*float64(frames))
				most := 30 + interval + float64(jitter) + 20
				if loss > 0 {
					most += interval
				}
				require.LessOrEqual(t, lag, most)
			})
		}
	}
}
