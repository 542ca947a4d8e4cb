package client_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// P1: after a complete snapshot of a tick, with all that are linked to it, every exact body in
// view has the server's bits of that tick, under loss, delay and reordering.
func TestBodiesAreTheServers(t *testing.T) {
	racetest.SkipUnchecked(t)
	ticks := shorttest.Pick(1200, 150)
	s := newStorm()
	for range 50 {
		s.play()
		s.World.Step()
	}
	o := newOracle(t, s.World, 1, 45)
	for range ticks {
		s.play()
		o.step()
		o.deliver()
	}
	n := o.session.Stats().Replica
	t.Logf("%d compared; %+v", o.compared, n)
	require.Greater(t, o.compared, 10*ticks)
	require.Zero(t, n.Motion.Faults)
	require.Zero(t, n.Faults)
	require.Positive(t, n.Motion.Audited)
	require.Positive(t, n.Motion.Rerun)
	require.Zero(t, n.Motion.Overruns)
}

// randomChanges is a small crowded world that is changed at random.
type randomChanges struct {
	*world.World
	r        *rand.Rand
	follow   bool // effects follow bodies: the server must not send one whose leader is disturbed,
	disturb  bool // so that nothing disturbs them
	kinds    []world.KindID
	programs []*field.Program
	leaders  []world.Entity
	bodies   []world.Entity
	effects  []world.EffectID
}

func newRandomChanges(t testing.TB, seed uint64) *randomChanges {
	w := must.Get(world.New(world.Config{
		TickHz: 60, HalfExtent: world.Vec3{X: 16, Y: 12, Z: 16}, RestSeconds: 4.0 / 60, MaxEntities: 150, CellMetres: 4,
		Bounds: world.Bounds(seed % 3), Gravity: []float32{9.81, -1}[seed/2%2],
	}))
	t.Cleanup(w.Close)
	c := &randomChanges{World: w, r: rand.New(rand.NewPCG(seed, 77)), disturb: seed%2 == 0}
	for _, k := range []world.Kind{
		{Name: "leaf", Body: &world.BodyDef{Radius: 0.2, Drag: 2, Restitution: 0.6, Layers: 2}},
		{Name: "ball", Body: &world.BodyDef{Radius: 0.6, Restitution: 0.7, Friction: 0.2, Drag: 0.1, Solid: true}},
		{Name: "ram", Body: &world.BodyDef{Radius: 0.9, Solid: true, Kinematic: true, Layers: 3}},
		{Name: "rock", Body: &world.BodyDef{Mass: 7, Radius: 0.8, Friction: 0.9, Solid: true, Layers: 3}},
		{Name: "dust", Body: &world.BodyDef{Radius: 0.1, Drag: 9, Layers: 1}},
	} {
		kind := must.Get(w.AddKind(k))
		c.kinds = append(c.kinds, kind)
	}
	for _, text := range []string{
		"effect a\nbox (-6, -6, -6) (6, 6, 6)\nparam lift = 9\noutput += (0, lift * 0.1, time)\n",
		"effect b\nbox (-3, -3, -3) (3, 3, 3)\nparam push = (1, 2, 3)\noutput += push * sin(time + position.x)\n",
		"effect c\neverywhere\nparam lift = 1\noutput += (lift * 0.01, 0, 0)\n",
	} {
		p := must.Get(field.Compile(text))
		c.programs = append(c.programs, p)
	}
	for range 3 {
		e := must.Get(w.Spawn(c.kinds[0], c.place(), c.vec(3)))
		c.leaders = append(c.leaders, e)
	}
	require.NoError(t, w.AddSystem(world.After, "late", func(*world.World) {
		if c.r.IntN(8) == 0 && c.disturb {
			c.act()
		}
	}))
	return c
}

func (c *randomChanges) vec(scale float32) world.Vec3 {
	return world.Vec3{X: scale * (2*c.r.Float32() - 1), Y: scale * (2*c.r.Float32() - 1), Z: scale * (2*c.r.Float32() - 1)}
}

func (c *randomChanges) place() world.Vec3 {
	v := c.vec(9)
	v.Y = max(v.Y, 0.5) / 2
	return v
}

func (c *randomChanges) body() world.Entity {
	if len(c.bodies) == 0 {
		return 0
	}
	return c.bodies[c.r.IntN(len(c.bodies))]
}

func (c *randomChanges) act() {
	r := c.r
	switch r.IntN(16) {
	case 0, 1, 2, 3:
		if e, err := c.SpawnFor(c.kinds[r.IntN(len(c.kinds))], c.place(), c.vec(4), []uint32{0, 0, 0, 9, 40}[r.IntN(5)]); err == nil {
			c.bodies = append(c.bodies, e)
		}
	case 4:
		c.Destroy(c.body())
	case 5:
		c.SetPosition(c.body(), c.place())
	case 6:
		c.SetVelocity(c.body(), c.vec([]float32{0, 0, 0.05, 5, 200}[r.IntN(5)]))
	case 7:
		c.Impulse(c.body(), c.vec(9))
	case 8:
		c.Wake(c.body())
	case 9:
		c.Sleep(c.body())
	case 10, 11, 12:
		c.addEffect()
	default:
		c.changeEffect()
	}
}

func (c *randomChanges) addEffect() {
	r := c.r
	d := world.EffectDef{
		Program: c.programs[r.IntN(len(c.programs))], Mode: world.EffectMode(r.IntN(2)), Center: c.place(),
		Layers: world.Layers(r.IntN(4)), LifeTicks: []uint32{0, 2, 5, 30}[r.IntN(4)], Hidden: r.IntN(6) == 0 && c.disturb,
	}
	switch r.IntN(4) {
	case 0:
		d.Velocity = c.vec(20)
	case 1:
		d.Orbit = world.EffectOrbit{AxisU: c.vec(9), AxisV: c.vec(9), Phase: r.Uint32(), Rate: r.Uint32()}
	case 2:
		if c.follow {
			d.Follow, d.Center = c.leaders[r.IntN(len(c.leaders))], c.vec(2)
		}
	}
	if id, err := c.AddEffect(d); err == nil {
		c.effects = append(c.effects, id)
	}
}

func (c *randomChanges) changeEffect() {
	if len(c.effects) == 0 {
		return
	}
	i := c.r.IntN(len(c.effects))
	id := c.effects[i]
	switch _, ok := c.Effect(id); {
	case !ok:
		c.effects = append(c.effects[:i], c.effects[i+1:]...)
	case c.r.IntN(3) == 0 || len(c.effects) > 12:
		c.RemoveEffect(id)
	case c.r.IntN(2) == 0:
		c.SetEffectParams(id, []field.Vec4{{c.r.Float32() * 9, 1, c.r.Float32(), 0}})
	default:
		c.MoveEffect(id, c.place())
	}
}

// The same with all sorts of effects, bodies, layers, bounds and changes, and with entities
// that alternate between ordinary and exact.
func TestBodiesInChaos(t *testing.T) {
	racetest.SkipUnchecked(t)
	seeds := []uint64{137, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19} // 137: a leader dies
	seeds = shorttest.Pick(seeds, seeds[:6])
	compared, audited := 0, uint64(0)
	for _, seed := range seeds {
		c := newRandomChanges(t, seed)
		for range 20 {
			c.act()
		}
		for range 20 + seed*7 {
			c.Step()
		}
		o := newOracle(t, c.World, seed, 70+float32(seed%2)*900)
		o.name = fmt.Sprint("seed ", seed)
		c.follow = !c.disturb
		o.fickle = seed%3 > 0
		for tick := range 400 {
			for range c.r.IntN(5) / 3 * (1 - tick/200%2) {
				c.act()
				if c.follow {
					break // a second change of an effect may disturb
				}
			}
			o.step()
			o.deliver()
		}
		n := o.session.Stats().Replica
		require.Zero(t, n.Motion.Faults, "seed %d", seed)
		require.Zero(t, n.Faults)
		compared, audited = compared+o.compared, audited+n.Motion.Audited
	}
	t.Logf("%d compared, %d audits", compared, audited)
	require.Greater(t, compared, 1000)
	require.Positive(t, audited)
}
