package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// quietTicks is how many ticks are between two snapshots while nothing is new.
const quietTicks = 16

// newQuietServer returns a linkedServer whose walker stands still in ticks from to until, and whose
// server omits snapshots then: all but two empty ones, and four a second.
func newQuietServer(t *testing.T, link simtest.Conditions, from, until uint32) *linkedServer {
	s := newLinkedServer(t, 3, link, link)
	still := func(tick uint32) bool { return tick > from && tick <= until }
	s.motion = func(tick uint32) (schema.Body, bool) {
		switch {
		case still(tick):
			b := walk(from)
			b.Velocity = [3]float32{}
			return b, false
		case tick > until:
			return walk(tick - (until - from)), true
		}
		return walk(tick), true
	}
	s.omits = func(tick uint32) bool {
		return still(tick) && tick > from+2*s.every && (tick-from)%quietTicks != 0
	}
	return s
}

// While the server omits snapshots, the client's delay does not grow, its clock stays right, and it
// sends few Inputs. A walker that starts again does not jump.
func TestQuietServer(t *testing.T) {
	const from, until = linkedFirstTick + 4*linkedTickHz, linkedFirstTick + 14*linkedTickHz
	s := newQuietServer(t, simtest.Conditions{DelayMin: ms(20), DelayMax: ms(24)}, from, until)
	inputs := 0
	s.arrived = func(wire.Input, uint32) { inputs++ }
	s.play(4 * time.Second)
	delay := s.session.Stats().Delay
	inputs = 0
	s.play(time.Second)
	inputs = 0
	s.play(8 * time.Second)
	require.LessOrEqual(t, inputs, 8*5, "%d Inputs in 8 s", inputs)
	require.GreaterOrEqual(t, inputs, 8*2)
	require.InDelta(t, s.trueTick(), s.session.Clock(s.time()).Tick, 0.3)

	last, shows := 0.0, 0
	s.render = func() {
		x, m := s.shown()
		switch {
		case m.Tick <= until:
			require.InDelta(t, walked(from), x, 0.02)
		default:
			require.InDelta(t, walked(m.Tick-(until-from)), x, 0.05)
			shows++
		}
		require.GreaterOrEqual(t, x, last-1e-9)
		last = x
	}
	s.play(3 * time.Second)
	require.NotZero(t, shows)
	require.LessOrEqual(t, s.session.Stats().Delay, delay+2*time.Millisecond)
}

// Sequence numbers distinguish lost snapshots from omitted ones.
func TestQuietServerOnALossyLink(t *testing.T) {
	const from = linkedFirstTick + 2*linkedTickHz
	s := newQuietServer(t, near, from, from+60*linkedTickHz)
	s.play(3 * time.Second)
	require.Less(t, s.session.Stats().Delay, 60*time.Millisecond)
	for range 3 {
		s.down.SetConditions(simtest.Conditions{Loss: 1})
		s.play(300 * time.Millisecond)
		s.down.SetConditions(near)
		s.play(600 * time.Millisecond)
	}
	require.Greater(t, s.session.Stats().Delay, 250*time.Millisecond)
}
