package client_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	physics "github.com/worldd/worldd/world/motion"
)

// An entity whose state has not been computed yet has its row's state, at the row's tick.
func TestExactBeforeComputing(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	require.NoError(t, m.send(10, m.enter(h(1, 1), 0, floating(0), 0)))
	m.snapshot(12)
	require.NoError(t, m.send(14, m.enter(h(2, 1), 0, floating(5), 5)))
	s, tick := m.exact(h(2, 1))
	require.EqualValues(t, 9, tick)
	require.Equal(t, floating(5), s)
	m.snapshot(15)
	s, tick = m.exact(h(2, 1))
	require.EqualValues(t, 15, tick)
	require.NotEqual(t, floating(5), s)
}

// wideBody is the body with other field types than schema.Body.
type wideBody struct {
	Position [3]float64 `net:"range=-1024..1024,step=1/256,predict=linear"`
	Velocity [3]float64 `net:"range=-128..128,step=1/32,predict=linear"`
}

// Format, Get and At show computed motion. Tick, AppendValues and Update show what the server
// sent.
func TestComputedMotionIsShown(t *testing.T) {
	updates := 0
	wide := schema.New()
	schema.Define[wideBody](wide, schema.BodyComponent)
	require.NoError(t, wide.Err())
	m := newExactServer(t, client.SessionConfig{Schema: wide, Observer: client.Observer{Update: func(*client.Entity) { updates++ }}})
	body := must.Get(client.ComponentOf[wideBody](wide, schema.BodyComponent))
	require.NoError(t, m.send(10, m.enter(h(1, 1), 0, floating(0), 0)))
	e := m.session.Replica().Entity(h(1, 1))
	sent := e.AppendValues(nil)
	for tick := uint32(12); tick <= 60; tick += 3 {
		m.snapshot(tick)
	}
	s, tick := m.exact(h(1, 1))
	require.EqualValues(t, 60, tick)
	want := schema.Body{Position: array(s.Position), Velocity: array(s.Velocity)}
	values := make([]uint32, m.schema.Values())
	rowschema.New(m.schema).Component(0).Quantise(&want, values)
	require.NotEqual(t, sent, values)
	require.Equal(t, rowschema.New(m.schema).Format(rowschema.Row{Mask: 1, Values: values}, nil), e.Format())
	got := must.Have(body.Get(e))
	rowschema.New(m.schema).Component(0).Restore(values, &want)
	for i := range 3 {
		require.Equal(t, float64(want.Position[i]), got.Position[i])
		require.Equal(t, float64(want.Velocity[i]), got.Velocity[i])
	}
	at := must.Have(body.At(e, client.Moment{Tick: 60}))
	require.Equal(t, got, at)

	require.Zero(t, updates)
	require.Equal(t, sent, e.AppendValues(nil))
	require.EqualValues(t, 10, e.Tick())
}

// Bodies that have slept for long have no lists of past states. Those that wake have one again
// once their past is read.
func TestSleepersForgetStates(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	records := [][]byte{wire.Program{Code: programOf(lift)}.Append(nil)}
	const bodies = 200
	for i := range uint32(bodies) {
		s := floating(float32(i))
		s.Velocity = physics.Vec3{X: 0.5}
		records = append(records, m.enter(h(i, 1), 0, s, 0))
	}
	require.NoError(t, m.send(10, records...))
	tick := uint32(12)
	for ; tick < 120; tick += 3 {
		m.snapshot(tick)
	}
	used, _ := m.session.Replica().StateLists()
	require.Zero(t, used)
	for i := range uint32(bodies) {
		must.Have(m.body.At(m.session.Replica().Entity(h(i, 1)), client.Moment{Tick: float64(tick - 20)}))
	}
	used, _ = m.session.Replica().StateLists()
	require.Equal(t, bodies, used)
	var asleep uint32
	for ; asleep == 0 || tick < asleep+200; tick += 3 {
		m.snapshot(tick)
		if s, _ := m.exact(h(0, 1)); !s.Awake && asleep == 0 {
			asleep = tick
		}
		if asleep != 0 {
			s, _ := m.exact(h(0, 1))
			got, ok := m.body.At(m.session.Replica().Entity(h(0, 1)), client.Moment{Tick: float64(tick - 20)})
			require.True(t, ok && !s.Awake)
			if tick > asleep+25 {
				require.Equal(t, array(s.Position), got.Position)
			}
		}
	}
	used, spare := m.session.Replica().StateLists()
	require.Zero(t, used)
	require.Positive(t, spare)
	require.LessOrEqual(t, spare, 16+bodies/8)
	before, _ := m.exact(h(9, 1))
	added := wire.EffectAdded{Effect: h(0, 1), Mode: 1, Age: 1, Path: wire.Path{Center: array(before.Position)}}
	require.NoError(t, m.send(tick, added.Append(nil)))
	m.snapshot(tick)
	m.snapshot(tick + 3)
	after, _ := m.exact(h(9, 1))
	require.Greater(t, after.Position.Y, before.Position.Y)
	used, _ = m.session.Replica().StateLists()
	require.Zero(t, used, "nobody has asked")
	got, _ := m.body.At(m.session.Replica().Entity(h(9, 1)), client.Moment{Tick: float64(tick - 5)})
	require.Equal(t, array(before.Position), got.Position, "before it woke")
	used, _ = m.session.Replica().StateLists()
	require.Equal(t, 1, used)
}

// At returns the same past states of a body whether or not it was called before.
func TestPastStatesWithoutAsking(t *testing.T) {
	racetest.SkipUnchecked(t)
	for seed := range uint64(20) {
		asked, quiet := newExactServer(t, client.SessionConfig{}), newExactServer(t, client.SessionConfig{})
		random := rand.New(rand.NewPCG(seed, 5))
		const bodies, kept = 40, 64
		both := func(f func(m *exactServer)) { f(asked); f(quiet) }
		records := [][]byte{wire.Program{Code: programOf(lift)}.Append(nil)}
		for i := range uint32(bodies) {
			s := floating(float32(i))
			s.Velocity = physics.Vec3{X: random.Float32(), Y: random.Float32()}
			switch s.Awake = i%3 > 0; i % 3 {
			case 0:
				s.Velocity = physics.Vec3{}
			case 1: // falls asleep soon
				s.Velocity = s.Velocity.Scale(0.015)
			}
			records = append(records, asked.enter(h(i, 1), 0, s, 0))
		}
		both(func(m *exactServer) { require.NoError(t, m.send(10, records...)) })
		tick := uint32(12)
		same := func() {
			for i := range uint32(bodies) {
				a, b := asked.session.Replica().Entity(h(i, 1)), quiet.session.Replica().Entity(h(i, 1))
				var oldest schema.Body
				for back := range uint32(90) {
					moment := client.Moment{Tick: float64(tick - min(back, tick-1))}
					one, _ := asked.body.At(a, moment)
					other, _ := quiet.body.At(b, moment)
					if back < kept {
						oldest = other
					}
					if back < kept || other != oldest { // at worst it stays in the oldest state
						require.Equal(t, one, other, "seed %d, body %d, %d ticks before %d", seed, i, back, tick)
					}
				}
			}
		}
		effects := uint32(0)
		for n := range 80 {
			if random.IntN(12) == 0 {
				at, _ := asked.exact(h(random.Uint32N(bodies), 1))
				added := wire.EffectAdded{Effect: h(effects, 1), Mode: 1, Age: 1, Life: 1 + random.Uint32N(20), Path: wire.Path{Center: array(at.Position)}}
				effects++
				both(func(m *exactServer) { require.NoError(t, m.send(tick, added.Append(nil))) })
			}
			if random.IntN(8) == 0 { // it enters again, with another state
				i := random.Uint32N(bodies)
				s, _ := asked.exact(h(i, 1))
				s.Position.Y++
				enter := asked.enter(h(i, 1), 0, s, random.Uint32N(3))
				both(func(m *exactServer) { require.NoError(t, m.send(tick, enter)) })
			}
			tick += 1 + random.Uint32N(4)
			both(func(m *exactServer) { m.snapshot(tick) })
			for i := range uint32(bodies) {
				_, _ = asked.body.At(asked.session.Replica().Entity(h(i, 1)), client.Moment{Tick: float64(tick)})
			}
			if n%37 == 36 {
				same()
			}
		}
		same()
	}
}
