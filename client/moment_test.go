package client_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

var near = simtest.Conditions{DelayMin: ms(20)}

// An entity at rest is not sent. When it moves again, it starts from its shown state at that
// moment, not from its last state's tick.
func TestAtAfterARest(t *testing.T) {
	s := newLinkedServer(t, 3, near, near)
	const wakes = linkedFirstTick + 3*linkedTickHz - 1 // between two snapshots
	s.motion = func(tick uint32) (schema.Body, bool) {
		if tick < wakes {
			return walk(linkedFirstTick), tick == linkedFirstTick
		}
		return walk(linkedFirstTick + tick - wakes), true
	}
	shown, moved := 0.0, 0.0
	s.render = func() {
		x, m := s.shown()
		require.InDelta(t, walked(max(m.Tick, wakes)-wakes+linkedFirstTick), x, 0.03, "tick %v", m.Tick)
		require.LessOrEqual(t, x-shown, 3*0.016+0.02, "no jump")
		shown = x
		if moved == 0 && x > 0 {
			moved = m.Tick
		}
	}
	s.play(5 * time.Second)
	require.InDelta(t, wakes, moved, 4)
}

// An entity of low priority, which is sent seldom, moves to a new state in the remaining time,
// not at once.
func TestAtOfWhatIsSentSeldom(t *testing.T) {
	const seldom = 12 // ticks
	s := newLinkedServer(t, 3, simtest.Conditions{DelayMin: ms(20), DelayMax: ms(100)}, near)
	s.motion = func(tick uint32) (schema.Body, bool) { return walk(tick), tick%seldom == 0 }
	s.play(3 * time.Second)
	s.down.SetConditions(near) // renders still lag because of the earlier jitter
	shown, most := math.Inf(1), 0.0
	s.render = func() {
		x, _ := s.shown()
		most = max(most, x-shown)
		require.GreaterOrEqual(t, x, min(shown, x))
		shown = x
	}
	s.play(time.Second)
	const even, left = 3 * 0.016, 4 // ticks
	require.LessOrEqual(t, most, even*seldom/left+1.0/128, "but for the rounding of positions")
	require.GreaterOrEqual(t, most, 2*even)
}

// When snapshots stop, predicted fields are extrapolated for a quarter second and then
// hold; an entity at rest stays at rest.
func TestAtWhenNothingComes(t *testing.T) {
	s := newLinkedServer(t, 3, near, near)
	s.play(2 * time.Second)
	_, m := s.shown()
	newest := float64(s.session.Replica().Tick())
	require.Less(t, m.Tick, newest)
	s.down.SetConditions(simtest.Conditions{Loss: 1})
	s.play(150 * time.Millisecond)
	x, m := s.shown()
	require.Greater(t, m.Tick, newest)
	require.InDelta(t, walked(m.Tick), x, 0.02)
	s.play(5 * time.Second)
	x, m = s.shown()
	newest = float64(s.session.Replica().Tick())
	require.Greater(t, m.Tick, newest+100)
	require.InDelta(t, walked(newest+linkedTickHz/4), x, 0.05)

	// It stopped before the link was cut: the last snapshots had no row of it.
	s = newLinkedServer(t, 3, near, near)
	const stops = linkedFirstTick + linkedTickHz
	s.motion = func(tick uint32) (schema.Body, bool) { return walk(min(tick, stops)), tick <= stops }
	s.play(2 * time.Second)
	s.down.SetConditions(simtest.Conditions{Loss: 1})
	s.play(time.Second)
	x, _ = s.shown()
	require.InDelta(t, walked(stops), x, 0.01)
}

// An entity that enters stays in its first state; one that re-enters does not glide
// from where it was.
func TestAtEnter(t *testing.T) {
	s := newLinkedServer(t, 3, near, near)
	s.play(20 * time.Millisecond)
	x, m := s.shown()
	require.Zero(t, m.Tick, "no snapshot yet")
	require.Zero(t, x)
	s.play(time.Second)
	s.motion = func(tick uint32) (schema.Body, bool) {
		b := walk(tick)
		b.Position[2] = 500
		return b, true
	}
	s.enter(2, walker)
	m = s.session.Render(s.time())
	body := must.Have(s.body.At(s.session.Replica().Entity(walker), m))
	require.EqualValues(t, 500, body.Position[2])
}

func TestAtJumps(t *testing.T) {
	s := newLinkedServer(t, 3, near, near)
	const leaps = linkedFirstTick + 2*linkedTickHz
	s.motion = func(tick uint32) (schema.Body, bool) {
		b := walk(tick)
		if tick >= leaps {
			b.Position[2] = 300
		}
		return b, true
	}
	between := map[bool]int{} // renders between the two positions, by whether Jumping is set
	s.render = func() {
		m := s.session.Render(s.time())
		e := s.session.Replica().Entity(walker)
		glide, _ := s.body.At(e, m)
		leap, _ := s.body.Jumping(func(from, to schema.Body, ticks uint32) bool {
			require.EqualValues(t, linkedTickHz/linkedSnapshotHz, ticks)
			return math.Abs(float64(to.Position[2]-from.Position[2])) > 10*float64(ticks)/linkedTickHz
		}).At(e, m)
		for jump, z := range map[bool]float32{false: glide.Position[2], true: leap.Position[2]} {
			if z > 0 && z < 300 {
				between[jump]++
			}
		}
		if m.Tick >= leaps {
			require.EqualValues(t, 300, leap.Position[2])
		}
	}
	s.play(4 * time.Second)
	require.Zero(t, between[true])
	require.NotZero(t, between[false])
}

// The replica of a game keeps the states that At needs, however fast the server's
// baselines advance. The replica of a bot, which does not render, does not.
func TestStatesForFrames(t *testing.T) {
	states := func(span uint32) int {
		p := newReplicaServer(t, 1, 100)
		p.replica.KeepFor(span)
		p.send(p.enter(h(5, 1), 7))
		for seq := uint32(1); seq <= 60; seq++ {
			u := update{h: h(5, 1), age: whole, now: seq}
			if seq > 2 {
				u.age, u.base, u.gap, u.older = 1, seq-1, 1, seq-2
			}
			p.apply(client.Applied, p.state(seq, 1, u))
		}
		return client.StatesOf(p.replica.Entity(h(5, 1)))
	}
	require.LessOrEqual(t, states(0), 5)
	require.GreaterOrEqual(t, states(20), 20)
	require.LessOrEqual(t, states(20), 23)
	require.Equal(t, wire.MaxStates, states(1000))
}

// The ticks from which states are blended in survive the growth of the history.
func TestSinceIsKept(t *testing.T) {
	const slept, states = 5, wire.MaxStates - 2
	p := newReplicaServer(t, 1, 100)
	p.replica.KeepFor(1000)
	p.send(p.enter(h(5, 1), 7), p.enter(h(6, 1), 7))
	for seq := uint32(1); seq < states; seq++ {
		tick := 100 + seq
		p.replica.ShowUpTo(tick - 2)
		updates := []update{{h: h(5, 1), age: whole, now: seq}, {h: h(6, 1), age: whole, now: seq}}
		if seq < slept {
			updates = updates[1:]
		}
		p.apply(client.Applied, p.state(seq, 2, updates...))
		for other := uint32(slept); other <= seq; other++ {
			want := uint32(0)
			if other == slept {
				want = 100 + slept - 2
			}
			require.Equal(t, want, client.BlendFromOf(p.replica.Entity(h(5, 1)), 100+other), "state %d after %d", other, seq)
		}
	}
}

func TestAtAllocatesNothing(t *testing.T) {
	s := newLinkedServer(t, 3, near, near)
	s.play(time.Second)
	e := s.session.Replica().Entity(walker)
	jumpy := s.body.Jumping(func(from, to schema.Body, _ uint32) bool { return from.Position[0] > to.Position[0] })
	sum := float32(0)
	alloctest.RequireNone(t, 0, 100, func() {
		s.now++
		m := s.session.Render(s.time())
		a, _ := s.body.At(e, m)
		b, _ := jumpy.At(e, m)
		sum += a.Position[0] + b.Position[0]
	})
	require.NotZero(t, sum)
}

// BenchmarkAt measures At for a body with half a second of states.
func BenchmarkAt(b *testing.B) {
	s := newLinkedServer(b, 3, near, near)
	s.render = func() { s.session.Render(s.time()) }
	s.play(2 * time.Second)
	e, m := s.session.Replica().Entity(walker), s.session.Render(s.time())
	require.Greater(b, client.StatesOf(e), 10)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.body.At(e, m)
	}
}
