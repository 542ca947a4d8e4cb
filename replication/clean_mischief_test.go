package replication_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// disturbedWorld is a small world with viewers that simulate, in which every kind of disturbance
// and change of an effect happens, between steps and in systems.
type disturbedWorld struct {
	t        testing.TB
	world    *world.World
	rep      *replication.Replicator
	rand     *rand.Rand
	score    *world.Component[score]
	kinds    []world.KindID
	things   []bulk.Handle
	effects  []world.EffectID
	programs []*field.Program
	viewers  []*walker
	settled  bool // the game no longer meddles
}

type score struct{ N uint8 }

const gust = `effect gust
param wind = (6,0,2,0)
box (-5,-5,-5) (5,5,5)
output = add output, wind
`

const everywhere = `effect breeze
param wind = (2,0,1,0)
everywhere
output = add output, wind
`

func newDisturbedWorld(t testing.TB, seed uint64, viewers int, c replication.Config) *disturbedWorld {
	return newDisturbedWorldAt(t, 60, seed, viewers, c)
}

func newDisturbedWorldAt(t testing.TB, tickHz int, seed uint64, viewers int, c replication.Config) *disturbedWorld {
	skipWithoutWorkers(t, c)
	w := must.Get(world.New(world.Config{TickHz: tickHz, Seed: seed, HalfExtent: world.Vec3{X: 60, Y: 30, Z: 60}}))
	m := &disturbedWorld{t: t, world: w, rand: rand.New(rand.NewPCG(seed, 9))}
	m.score = must.Get(world.Register[score](w, "score"))
	for _, k := range []world.Kind{
		{Name: "crate", Exact: true, Body: &world.BodyDef{Mass: 20, Drag: 0.8, Radius: 0.5, Friction: 0.6, Restitution: 0.2}},
		{Name: "ball", Exact: true, Body: &world.BodyDef{Mass: 1, Drag: 1.5, Radius: 0.3, Restitution: 0.6, Layers: 2}},
		{Name: "rock", Exact: true, Body: &world.BodyDef{Mass: 5, Drag: 0.2, Radius: 0.5, Friction: 0.4, Solid: true}},
		{Name: "lift", Exact: true, Body: &world.BodyDef{Radius: 0.5, Kinematic: true}},
		{Name: "duck", Body: &world.BodyDef{Mass: 1, Drag: 0.5, Radius: 0.3}},
		{Name: "idea", Exact: true},
	} {
		id := must.Get(w.AddKind(k))
		m.kinds = append(m.kinds, id)
	}
	for _, text := range []string{gust, everywhere} {
		p := must.Get(field.Compile(text))
		m.programs = append(m.programs, p)
	}
	require.NoError(t, w.AddSystem(world.Before, "before", func(*world.World) { m.meddle(0.2) }))
	require.NoError(t, w.AddSystem(world.After, "after", func(*world.World) { m.meddle(0.2) }))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	schema.Define[score](s, "score")
	require.NoError(t, s.Err())
	require.NoError(t, replication.DeclareWorld(s, w))
	c.EnterRadius, c.LeaveRadius = 18, 22
	m.rep = must.Get(replication.New(w, s, c))
	for range 250 {
		m.spawn()
	}
	for range viewers {
		v := &walker{Viewer: m.rep.AddViewer(m.any())}
		require.True(t, v.Simulate())
		v.client = newSimClient(m.rep, w)
		m.viewers = append(m.viewers, v)
	}
	return m
}

func (m *disturbedWorld) point() world.Vec3 {
	return world.Vec3{X: 100*m.rand.Float32() - 50, Y: 0.5 + 4*m.rand.Float32(), Z: 100*m.rand.Float32() - 50}
}

func (m *disturbedWorld) velocity() world.Vec3 {
	return world.Vec3{X: 8*m.rand.Float32() - 4, Y: 6 * m.rand.Float32(), Z: 8*m.rand.Float32() - 4}
}

func (m *disturbedWorld) any() bulk.Handle { return m.things[m.rand.IntN(len(m.things))] }

func (m *disturbedWorld) spawn() {
	h := must.Get(m.world.SpawnFor(m.kinds[m.rand.IntN(len(m.kinds))], m.point(), m.velocity(), uint32(m.rand.IntN(3)*200)))
	if m.rand.IntN(2) == 0 {
		m.score.Set(h, score{uint8(m.rand.IntN(9))})
	}
	m.things = append(m.things, h)
}

// meddle executes a random change with a probability.
func (m *disturbedWorld) meddle(p float64) {
	w := m.world
	for !m.settled && m.rand.Float64() < p {
		h := m.any()
		switch what := m.rand.IntN(15); what {
		case 0, 1:
			m.spawn()
		case 2:
			w.Destroy(h)
		case 3:
			w.SetPosition(h, m.point())
		case 4:
			w.SetVelocity(h, m.velocity())
		case 5:
			w.Impulse(h, m.velocity())
		case 6:
			w.Wake(h)
		case 7:
			w.Sleep(h)
		case 8:
			if m.score.Has(h) {
				m.score.Set(h, score{uint8(m.rand.IntN(9))})
			}
		case 9, 10:
			m.addEffect()
		case 14:
			m.addKind()
		default:
			m.changeEffect(what)
		}
	}
}

// addKind adds a kind that the schema lacks.
func (m *disturbedWorld) addKind() {
	if len(m.kinds) == 12 {
		return
	}
	k := world.Kind{Name: fmt.Sprint("new", len(m.kinds)), Exact: m.rand.IntN(3) != 0}
	if m.rand.IntN(6) != 0 {
		k.Body = &world.BodyDef{Mass: 1 + 9*m.rand.Float32(), Drag: 2 * m.rand.Float32(), Radius: 0.3, Friction: m.rand.Float32(), Restitution: m.rand.Float32()}
	}
	id := must.Get(m.world.AddKind(k))
	m.kinds = append(m.kinds, id)
}

func (m *disturbedWorld) addEffect() {
	d := world.EffectDef{
		Program: m.programs[0], Center: m.point(), Mode: world.EffectMode(m.rand.IntN(2)),
		Layers: world.Layers(m.rand.IntN(3)), Hidden: m.rand.IntN(8) == 0, LifeTicks: uint32(m.rand.IntN(4) * m.rand.IntN(100)),
	}
	if m.rand.IntN(40) == 0 {
		d.Program = m.programs[1]
	} else {
		switch m.rand.IntN(5) {
		case 0:
			d.Velocity = m.velocity()
		case 1:
			d.Orbit = world.EffectOrbit{AxisU: world.Vec3{X: 8}, AxisV: world.Vec3{Z: 12}, Phase: m.rand.Uint32(), Rate: 1 << 25}
		case 2:
			if h := m.any(); m.rand.IntN(3) == 0 {
				if _, ok := m.world.Position(h); ok {
					d.Follow, d.Center = h, world.Vec3{}
				}
			}
		}
	}
	id := must.Get(m.world.AddEffect(d))
	m.effects = append(m.effects, id)
}

func (m *disturbedWorld) changeEffect(what int) {
	if len(m.effects) == 0 {
		return
	}
	i := m.rand.IntN(len(m.effects))
	switch id := m.effects[i]; what {
	case 11:
		if e, ok := m.world.Effect(id); ok && e.Follow == 0 {
			m.world.MoveEffect(id, e.Center.Add(m.velocity()))
		}
	case 12:
		m.world.SetEffectParams(id, []field.Vec4{{10*m.rand.Float32() - 5, 0, 4 * m.rand.Float32(), 0}})
	case 13:
		if len(m.effects) > 12 || m.rand.IntN(8) == 0 {
			m.world.RemoveEffect(id)
			m.effects[i] = m.effects[len(m.effects)-1]
			m.effects = m.effects[:len(m.effects)-1]
		}
	}
}

// TestExactBodiesEqualUnderMischief: P1 to P3 for every cause of a disturbance.
func TestExactBodiesEqualUnderMischief(t *testing.T) {
	for seed := range shorttest.Pick[uint64](16, 3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testMischief(t, seed) })
	}
}

// mischiefClient is the client of a viewer.
type mischiefClient interface {
	Structure() uint32 // the newest record applied
	receive(stream []byte, datagrams [][]byte)
	Ack() wire.Ack
}

// play plays ticks. The game disturbs bodies, and viewers stay away, miss snapshots, ask
// for a resync and lose their connections. Clients acknowledge late, with different delays.
func (m *disturbedWorld) play(ticks int, clients []mischiefClient) {
	for range ticks {
		m.meddle(0.5)
		m.world.Step()
		m.rep.AfterStep()
		captured := false
		for i, v := range m.viewers {
			v.away--
			if v.away > 0 || !m.rep.Due(uint64(i)) || m.rand.IntN(400) == 0 {
				continue
			}
			if !captured {
				m.rep.Capture()
				captured = true
			}
			switch m.rand.IntN(300) {
			case 0:
				v.Resync()
			case 1:
				v.SetFocus(m.any())
			case 2:
				v.Own(m.any())
			}
			for len(v.acks) > 1+i {
				require.NoError(m.t, v.Acknowledge(v.acks[0]))
				v.acks = v.acks[1:]
			}
			u := v.Snapshot()
			require.NoError(m.t, v.CheckInvariants())
			if m.rand.IntN(100) == 0 { // the connection breaks, and the client resumes
				v.acks, v.away = v.acks[:0], m.rand.IntN(100)
				missed := must.Have(v.Resume(clients[i].Structure()))
				clients[i].receive(missed, nil)
				continue
			}
			clients[i].receive(u.Stream, u.Datagrams)
			v.acks = append(v.acks, clients[i].Ack())
		}
	}
}

// comparedClient is the client of a viewer of a disturbedWorld. It compares the bodies that it
// computes with the world.
type comparedClient struct {
	*walker
	m                                     *disturbedWorld
	compared, complete, snapshots, moving int
}

func (c *comparedClient) Structure() uint32 { return c.client.records }
func (c *comparedClient) Ack() wire.Ack     { return c.client.ack() }

// receive loses an eighth of the datagrams.
func (c *comparedClient) receive(stream []byte, datagrams [][]byte) {
	require.NoError(c.m.t, c.client.stream(stream), "tick %d", c.m.rep.Tick())
	for _, d := range datagrams {
		if c.m.rand.IntN(8) == 0 {
			continue
		}
		h, err := c.client.datagram(d)
		if err != nil {
			compareExact(c.m.t, c.m.world, c.walker, h)
		}
		require.NoError(c.m.t, err, "tick %d", c.m.rep.Tick())
		c.snapshots++
		if c.client.complete == h.Tick {
			c.complete++
			n, awake := compareExact(c.m.t, c.m.world, c.walker, h)
			c.compared, c.moving = c.compared+n, c.moving+awake
		}
	}
}

func testMischief(t *testing.T, seed uint64) {
	m := newDisturbedWorld(t, seed, 4, replication.Config{BudgetBytesPerSecond: []int{64_000, 4_000}[seed%2]})
	ticks := shorttest.Pick(600, 200)
	var clients []mischiefClient
	for _, v := range m.viewers {
		clients = append(clients, &comparedClient{walker: v, m: m})
	}
	m.play(ticks, clients)
	var sum comparedClient
	for _, c := range clients {
		c := c.(*comparedClient)
		sum.compared, sum.complete = sum.compared+c.compared, sum.complete+c.complete
		sum.snapshots, sum.moving = sum.snapshots+c.snapshots, sum.moving+c.moving
	}
	t.Logf("%d states compared, %d of them awake, %d of %d snapshots complete", sum.compared, sum.moving, sum.complete, sum.snapshots)
	require.Greater(t, sum.moving, 500)
}

// compareExact compares the exact entities of a client at the tick of a snapshot with the world.
func compareExact(t testing.TB, w *world.World, v *walker, h wire.StateHeader) (n, awake int) {
	for slot, member := range v.client.members {
		if member.exact == 0 {
			continue
		}
		want := must.Have(w.Slots().Exact(slot))
		got := must.Have(v.client.sim.State(slot))
		n++
		if want.Awake {
			awake++
		}
		require.Equal(t, want, got, "%v, kind %d, exact of tick %d, at tick %d; disturbed in %d", member.handle, member.kind, member.exact, h.Tick, w.Slots().Disturbed(slot))
	}
	return n, awake
}
