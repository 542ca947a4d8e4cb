package world_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
	physics "github.com/worldd/worldd/world/motion"
)

// predictor computes all bodies of a world from their exact states and the effects, as a
// client would, and corrects the bodies that the world reports as disturbed.
type predictor struct {
	w     *world.World
	sim   *physics.Sim
	known map[uint32]world.EffectState // by slot

	ticks, awake, corrected int // body-ticks compared, body-ticks of awake bodies, corrections
}

// newPredictor watches w. Systems that are added later run after the predictor has read the
// effects.
func newPredictor(t testing.TB, w *world.World) *predictor {
	p := &predictor{w: w}
	p.begin()
	require.NoError(t, w.AddSystem(world.Before, "predictor", func(*world.World) { p.beforeMotion(t) }))
	return p
}

// begin starts from the world as it is now.
func (p *predictor) begin() {
	p.sim, p.known = physics.NewSim(p.w.Motion(), p.w.Tick()), map[uint32]world.EffectState{}
	p.put(func(uint32) bool { return true })
	for _, e := range p.w.AppendEffects(nil) {
		p.tell(e, false)
	}
}

// put corrects the bodies on some slots.
func (p *predictor) put(which func(slot uint32) bool) {
	for slot := range p.w.Slots().Len() {
		state, ok := p.w.Slots().Exact(slot)
		if !ok {
			p.sim.Drop(slot)
		} else if which(slot) {
			kind, _ := p.w.KindOf(p.w.Slots().Handle(slot))
			p.sim.Put(slot, kind, state)
		}
	}
}

// beforeMotion copies the changes of effects since the last step, because they wake bodies,
// and the bodies that were disturbed before motion.
func (p *predictor) beforeMotion(t testing.TB) {
	p.put(func(slot uint32) bool { return p.w.Slots().Disturbed(slot) == p.w.Tick() })
	p.tellChanges(t, true)
}

// tellChanges copies the differences between the known effects and the effects of the
// world.
func (p *predictor) tellChanges(t testing.TB, wake bool) {
	seen := map[uint32]bool{}
	for _, e := range p.w.AppendEffects(nil) {
		if e.Hidden {
			continue
		}
		slot := e.ID.Index()
		old, ok := p.known[slot]
		seen[slot] = true
		same := ok && old.ID == e.ID && old.Path == e.Path && slices.Equal(old.Params, e.Params)
		if !same {
			delete(p.known, slot)
			require.NoError(t, p.tell(e, wake))
		}
	}
	for slot := range p.known {
		if !seen[slot] {
			p.sim.EndEffect(slot, wake)
			delete(p.known, slot)
		}
	}
}

func (p *predictor) tell(e world.EffectState, wake bool) error {
	if e.Hidden {
		return nil
	}
	e.Params = slices.Clone(e.Params)
	p.known[e.ID.Index()] = e
	return p.sim.SetEffect(e.ID.Index(), &e.Source, wake)
}

// step steps the world and the predictor, and compares the bodies that were not disturbed.
func (p *predictor) step(t testing.TB) {
	p.w.Step()
	p.sim.Tick()
	for slot, e := range p.known {
		if e.Last != 0 && e.Last == p.w.Tick() {
			delete(p.known, slot)
		}
	}
	p.put(func(slot uint32) bool {
		if p.w.Slots().Disturbed(slot) >= p.w.Tick() {
			p.corrected++
			return true
		}
		want, _ := p.w.Slots().Exact(slot)
		got, ok := p.sim.State(slot)
		if !ok || !sameState(want, got) {
			require.Fail(t, "differs", "tick %d, slot %d, disturbed %d: %+v, predicted %+v", p.w.Tick(), slot, p.w.Slots().Disturbed(slot), want, got)
		}
		p.ticks++
		if got.Awake {
			p.awake++
		}
		return false
	})
	p.tellChanges(t, false)
}

func sameState(a, b physics.State) bool {
	return sameBits(a.Position, b.Position) && sameBits(a.Velocity, b.Velocity) && a.Rest == b.Rest && a.Awake == b.Awake
}

func sameBits(a, b world.Vec3) bool {
	x, y := a.Array(), b.Array()
	for i := range x {
		if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
			return false
		}
	}
	return true
}

var predictTicks = flag.Int("predict.ticks", 400, "ticks of TestPredictTheStorm")

// A predictor of every body of the storm, corrected only by disturbances, never differs in
// a bit.
func TestPredictTheStorm(t *testing.T) {
	racetest.SkipSequential(t)
	ticks := shorttest.Pick(*predictTicks, 40)
	f := must.Get(scenes.Named("storm"))
	s := must.Get(scenes.Build(f))
	p := newPredictor(t, s.World)
	r := rand.New(rand.NewPCG(6, 6))
	var players []world.Entity
	for range ticks {
		switch {
		case len(players) < 40 && r.IntN(5) == 0:
			e := must.Get(s.Join())
			players = append(players, e)
		case r.IntN(6) == 0:
			_ = s.Poke(s.World.Slots().Handle(uint32(r.IntN(10000))))
		case len(players) > 30 && r.IntN(20) == 0:
			require.True(t, s.Leave(players[0]))
			players = players[1:]
		}
		for _, e := range players {
			if r.IntN(100) == 0 {
				s.Steer(e, [2]float32{r.Float32() - 0.5, r.Float32() - 0.5})
			}
		}
		p.step(t)
	}
	require.Greater(t, p.ticks, 9000*ticks)
	require.Greater(t, p.awake, 100*ticks)
	require.Less(t, p.corrected-10000, p.awake/10)
	t.Logf("%d ticks: %d body-ticks, %d awake, %d corrections", ticks, p.ticks, p.awake, p.corrected)
}

// randomCalls calls the API of a world at random.
type randomCalls struct {
	t        testing.TB
	w        *world.World
	r        *rand.Rand
	kinds    []world.KindID
	programs []*field.Program
	entities []world.Entity
	effects  []world.EffectID
}

func (c *randomCalls) vec(scale float32) world.Vec3 {
	return world.Vec3{X: spread(c.r, scale), Y: spread(c.r, scale), Z: spread(c.r, scale)}
}

func (c *randomCalls) place() world.Vec3 {
	v := c.vec(5)
	v.Y = max(v.Y, 0.5) / 2
	return v
}

func (c *randomCalls) entity() world.Entity {
	if len(c.entities) == 0 {
		return 0
	}
	return c.entities[c.r.IntN(len(c.entities))]
}

func (c *randomCalls) act() {
	w, r := c.w, c.r
	switch r.IntN(14) {
	case 0, 1, 2:
		k := c.kinds[r.IntN(len(c.kinds))]
		spawn := w.SpawnFor
		if r.IntN(3) == 0 {
			spawn = w.DeferSpawn
		}
		if e, err := spawn(k, c.place(), c.vec(4), []uint32{0, 0, 0, 0, 0, 1, 9, 40}[r.IntN(8)]); err == nil {
			c.entities = append(c.entities, e)
		}
	case 3:
		w.Destroy(c.entity())
	case 4:
		w.SetPosition(c.entity(), c.place())
	case 5:
		w.SetVelocity(c.entity(), c.vec([]float32{0, 0, 0.05, 5, 200}[r.IntN(5)]))
	case 6:
		w.Impulse(c.entity(), c.vec(9))
	case 7:
		w.Wake(c.entity())
	case 8:
		w.Sleep(c.entity())
	case 9, 10:
		c.addEffect()
	case 11, 12:
		c.changeEffect()
	case 13:
		w.SetVelocity(c.entity(), world.Vec3{X: float32(math.NaN())})
	}
}

func (c *randomCalls) addEffect() {
	r := c.r
	def := world.EffectDef{
		Program: c.programs[r.IntN(len(c.programs))], Mode: world.EffectMode(r.IntN(2)), Center: c.place(),
		Layers: world.Layers(r.IntN(4)), LifeTicks: []uint32{0, 1, 2, 30}[r.IntN(4)], Hidden: r.IntN(4) == 0,
	}
	switch r.IntN(4) {
	case 0:
		def.Velocity = c.vec(20)
	case 1:
		def.Orbit = world.EffectOrbit{AxisU: c.vec(9), AxisV: c.vec(9), Phase: r.Uint32(), Rate: r.Uint32()}
	case 2:
		def.Follow, def.Center = c.entity(), c.vec(2)
	}
	if id, err := c.w.AddEffect(def); err == nil {
		c.effects = append(c.effects, id)
	}
}

func (c *randomCalls) changeEffect() {
	if len(c.effects) == 0 {
		return
	}
	id := c.effects[c.r.IntN(len(c.effects))]
	switch e, ok := c.w.Effect(id); {
	case !ok:
	case c.r.IntN(3) == 0:
		c.w.RemoveEffect(id)
	case c.r.IntN(2) == 0 && len(e.Params) == 1:
		c.w.SetEffectParams(id, []field.Vec4{{c.r.Float32() * 9, 1, c.r.Float32(), 0}})
	default:
		c.w.MoveEffect(id, c.place())
	}
}

// newRandomCalls returns a small crowded world with bodies of all sorts.
func newRandomCalls(t testing.TB, seed uint64) *randomCalls {
	r := rand.New(rand.NewPCG(seed, 77))
	w, crate, _, lift := newWorld(t, world.Config{
		HalfExtent: world.Vec3{X: 16, Y: 12, Z: 16}, RestSeconds: 4.0 / 60, MaxEntities: 150, CellMetres: 4, Bounds: world.Bounds(seed % 3),
		Compaction: world.Compaction(seed / 3 % 3), Workers: 1 + int(seed%2), Gravity: []float32{9.81, -1}[seed/2%2],
	})
	t.Cleanup(w.Close)
	c := &randomCalls{t: t, w: w, r: r, kinds: []world.KindID{crate, lift, crate}}
	for _, k := range []world.Kind{
		{Name: "leaf", Body: &world.BodyDef{Radius: 0.2, Drag: 2, Restitution: 0.6, Layers: 2}},
		{Name: "ball", Body: &world.BodyDef{Radius: 0.6, Restitution: 0.7, Friction: 0.2, Drag: 0.1, Solid: true}},
		{Name: "ram", Body: &world.BodyDef{Radius: 0.9, Solid: true, Kinematic: true, Layers: 3}},
		{Name: "rock", Body: &world.BodyDef{Mass: 7, Radius: 0.8, Friction: 0.9, Solid: true, Layers: 3}},
	} {
		kind := addKind(t, w, k)
		c.kinds = append(c.kinds, kind, kind)
	}
	for _, text := range []string{gust, blast, updraft, "box (-6, -6, -6) (6, 6, 6)\nparam lift = 9\noutput += (0, lift * 1e-3, 0)\n", "box (-3, -3, -3) (3, 3, 3)\nparam lift = 9\noutput += (0, lift, time)\n"} {
		c.programs = append(c.programs, compile(t, text))
	}
	return c
}

// A body that the world does not report as disturbed moves by motion alone, bit for bit,
// under any calls between steps and in systems.
func TestDisturbedIsComplete(t *testing.T) {
	seeds, total, clean := shorttest.Pick[uint64](36, 6), 0, 0
	for seed := range seeds {
		c := newRandomCalls(t, seed)
		act := func(n int) {
			for range n {
				c.act()
			}
		}
		require.NoError(t, c.w.AddSystem(world.Before, "early", func(*world.World) { act(c.r.IntN(8) / 7) }))
		p := newPredictor(t, c.w)
		require.NoError(t, c.w.AddSystem(world.After, "late", func(*world.World) { act(c.r.IntN(8) / 7) }))
		var img world.Image
		for tick := range 400 {
			switch {
			case tick < 10:
				act(25)
			case tick%60 < 20:
				act(c.r.IntN(5) / 4)
			}
			if tick == 150 {
				c.w.TakeImage(&img)
			}
			if tick == 200 && seed%3 == 1 {
				require.NoError(t, c.w.Restore(&img))
				for slot := range c.w.Slots().Len() {
					require.Equal(t, c.w.Tick()+1, c.w.Slots().Disturbed(slot), "C8")
				}
				p.begin()
			}
			if tick == 220 && seed%3 == 2 {
				require.NoError(t, c.w.SetMover(func(_ *world.World, bodies []world.MovingBody) {
					for i := range bodies {
						bodies[i].Position = bodies[i].Position.Add(bodies[i].Velocity.Scale(0.01))
					}
				}))
			}
			if tick == 240 && seed%3 == 2 {
				require.NoError(t, c.w.SetMover(nil))
			}
			p.step(t)
		}
		require.NoError(t, c.w.CheckInvariants())
		total, clean = total+p.ticks+p.corrected, clean+p.awake
	}
	t.Logf("%d body-ticks, %d awake and not disturbed", total, clean)
	require.Greater(t, clean, total/20, "awake and not disturbed")
}
