package world_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// undisturbedWorld is a world in which nothing was disturbed for some steps. It has two touching balls
// and a distant ball, all asleep, a kinematic ram, and leaves awake in the air.
type undisturbedWorld struct {
	*world.World
	balls                    world.KindID
	ball, touching, far, ram world.Entity
	leaf, low                world.Entity
}

func newUndisturbedWorld(t *testing.T) *undisturbedWorld {
	w, _, _, _ := newWorld(t, world.Config{RestSeconds: 4.0 / 60})
	q := &undisturbedWorld{World: w}
	q.balls = addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Radius: 0.5, Friction: 0.5, Solid: true}})
	ram := addKind(t, w, world.Kind{Name: "ram", Body: &world.BodyDef{Radius: 0.5, Solid: true, Kinematic: true}})
	leaf := addKind(t, w, world.Kind{Name: "leaf", Body: &world.BodyDef{Drag: 1, Layers: 2}})
	q.ball, q.touching = spawn(t, w, q.balls, world.Vec3{Y: 0.5}), spawn(t, w, q.balls, world.Vec3{X: 1, Y: 0.5})
	q.far, q.ram = spawn(t, w, q.balls, world.Vec3{X: 20, Y: 0.5}), spawn(t, w, ram, world.Vec3{X: -20, Y: 0.5})
	q.leaf, q.low = spawn(t, w, leaf, world.Vec3{X: -40, Y: 90}), spawn(t, w, leaf, world.Vec3{X: -40, Y: 80})
	steps(w, 20)
	require.Equal(t, []bool{false, false, false, false, true}, []bool{q.Awake(q.ball), q.Awake(q.touching), q.Awake(q.far), q.Awake(q.ram), q.Awake(q.leaf)})
	return q
}

// disturbedNow returns the bodies that were disturbed since the beginning of the last step.
func (q *undisturbedWorld) disturbedNow() (all []string) {
	for _, b := range []struct {
		name string
		e    world.Entity
	}{{"ball", q.ball}, {"touching", q.touching}, {"far", q.far}, {"ram", q.ram}, {"leaf", q.leaf}, {"low", q.low}} {
		if q.Slots().Disturbed(b.e.Index()) >= q.Tick() {
			all = append(all, b.name)
		}
	}
	return all
}

var inAir = world.Vec3{X: -40, Y: 85}

// One test for each cause in the package comment, and for calls that are not a cause. Each
// test makes its call between steps, before the step whose disturbances it lists.
func TestCausesOfDisturbance(t *testing.T) {
	nan := float32(math.NaN())
	effect := func(t *testing.T, at world.Vec3, change ...func(*world.EffectDef)) world.EffectDef {
		d := world.EffectDef{Program: compile(t, "box (-15, -15, -15) (15, 15, 15)\nparam lift = 0\noutput += (0, lift, 0)\n"), Center: at}
		for _, c := range change {
			c(&d)
		}
		return d
	}
	hidden := func(d *world.EffectDef) { d.Hidden = true }
	late := func(t *testing.T, q *undisturbedWorld, call func()) {
		require.NoError(t, q.AddSystem(world.After, "late", func(w *world.World) {
			if w.Tick() == 21 {
				call()
			}
		}))
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, q *undisturbedWorld)
		want []string
	}{
		"nothing":           {func(*testing.T, *undisturbedWorld) {}, nil},
		"C2 SetPosition":    {func(_ *testing.T, q *undisturbedWorld) { q.SetPosition(q.far, world.Vec3{X: 20, Y: 0.5}) }, []string{"far"}},
		"C2 SetVelocity":    {func(_ *testing.T, q *undisturbedWorld) { q.SetVelocity(q.leaf, world.Vec3{X: 1}) }, []string{"leaf"}},
		"C2 Impulse":        {func(_ *testing.T, q *undisturbedWorld) { q.Impulse(q.leaf, world.Vec3{X: 1}) }, []string{"leaf"}},
		"C3 Wake":           {func(_ *testing.T, q *undisturbedWorld) { q.Wake(q.ram) }, []string{"ram"}},
		"C3 Wake, awake":    {func(_ *testing.T, q *undisturbedWorld) { q.Wake(q.leaf) }, []string{"leaf"}},
		"C3 Sleep":          {func(_ *testing.T, q *undisturbedWorld) { q.Sleep(q.leaf) }, []string{"leaf"}},
		"C5 a removal":      {func(_ *testing.T, q *undisturbedWorld) { q.Destroy(q.ball) }, []string{"touching"}},
		"C5 a wake":         {func(_ *testing.T, q *undisturbedWorld) { q.Wake(q.touching) }, []string{"ball", "touching"}},
		"C4 and C5 a spawn": {func(t *testing.T, q *undisturbedWorld) { spawn(t, q.World, q.balls, world.Vec3{X: 20.9, Y: 0.5}) }, []string{"far"}},
		"C4 a hit, a kinematic body that is not moved": {func(t *testing.T, q *undisturbedWorld) {
			q.SetVelocity(q.ram, world.Vec3{})
			q.Step()
			e := spawn(t, q.World, q.balls, world.Vec3{X: -20, Y: 1.5})
			q.Sleep(e)
			steps(q.World, 2)
			q.Wake(e)
		}, []string{"ram"}},
		"C6 a Mover": {func(t *testing.T, q *undisturbedWorld) {
			require.NoError(t, q.SetMover(func(*world.World, []world.MovingBody) {}))
		}, []string{"leaf", "low"}},
		"C7 a number of a system": {func(t *testing.T, q *undisturbedWorld) {
			require.NoError(t, q.AddSystem(world.Before, "bad", func(w *world.World) { w.SetVelocity(q.leaf, world.Vec3{X: nan}) }))
		}, []string{"leaf"}},
		"no number between steps": {func(_ *testing.T, q *undisturbedWorld) { q.SetVelocity(q.leaf, world.Vec3{X: nan}) }, nil},
		"C8 Restore": {func(t *testing.T, q *undisturbedWorld) {
			var img world.Image
			q.TakeImage(&img)
			require.NoError(t, q.Restore(&img))
		}, []string{"ball", "touching", "far", "ram", "leaf", "low"}},
		"C9 a hidden effect": {func(t *testing.T, q *undisturbedWorld) {
			addEffect(t, q.World, effect(t, inAir, hidden))
			q.Step()
		}, []string{"leaf", "low"}},
		"C9 a hidden effect wakes": {func(t *testing.T, q *undisturbedWorld) {
			addEffect(t, q.World, effect(t, world.Vec3{X: 10}, hidden))
		}, []string{"ball", "touching", "far"}},
		"C9 a hidden effect is removed": {func(t *testing.T, q *undisturbedWorld) {
			id := addEffect(t, q.World, effect(t, world.Vec3{X: 30}, hidden))
			steps(q.World, 10)
			q.RemoveEffect(id)
		}, []string{"far"}},
		"C9 a hidden effect expires, and wakes after motion": {func(t *testing.T, q *undisturbedWorld) {
			addEffect(t, q.World, effect(t, world.Vec3{X: 30}, hidden, func(d *world.EffectDef) { d.LifeTicks = 11 }))
			steps(q.World, 10)
		}, []string{"far"}},
		"C9 a hidden effect leaves by its path": {func(t *testing.T, q *undisturbedWorld) {
			addEffect(t, q.World, effect(t, world.Vec3{X: 34}, hidden, func(d *world.EffectDef) { d.Velocity = world.Vec3{X: 6} }))
			steps(q.World, 10)
		}, []string{"far"}},
		"C9 its leader moved since the effect was added": {func(t *testing.T, q *undisturbedWorld) {
			id := spawn(t, q.World, q.balls, world.Vec3{X: 30, Y: 9})
			addEffect(t, q.World, effect(t, world.Vec3{}, func(d *world.EffectDef) { d.Follow = id }))
			q.SetPosition(id, world.Vec3{X: 90, Y: 9})
		}, []string{"far"}},
		"C9 added by an After system": {func(t *testing.T, q *undisturbedWorld) {
			late(t, q, func() { addEffect(t, q.World, effect(t, world.Vec3{X: 30})) })
		}, []string{"far"}},
		"C9 changed twice": {func(t *testing.T, q *undisturbedWorld) {
			id := addEffect(t, q.World, effect(t, world.Vec3{X: 30}))
			q.SetEffectParams(id, []field.Vec4{{1, 1, 1, 1}})
		}, []string{"far"}},
		"C9 removed before it acted": {func(t *testing.T, q *undisturbedWorld) {
			q.RemoveEffect(addEffect(t, q.World, effect(t, world.Vec3{X: 30})))
		}, []string{"far"}},
		"C9 its leader is gone": {func(t *testing.T, q *undisturbedWorld) {
			id := spawn(t, q.World, q.balls, world.Vec3{X: 30, Y: 9})
			addEffect(t, q.World, effect(t, world.Vec3{}, func(d *world.EffectDef) { d.Follow = id }))
			steps(q.World, 10)
			q.Destroy(id)
		}, []string{"far"}},
		"no cause: an effect wakes and moves": {func(t *testing.T, q *undisturbedWorld) {
			addEffect(t, q.World, effect(t, world.Vec3{X: 30}))
			addEffect(t, q.World, effect(t, inAir))
		}, nil},
		"C5 an effect wakes, and its neighbour wakes by touch": {func(t *testing.T, q *undisturbedWorld) {
			addEffect(t, q.World, effect(t, world.Vec3{X: 15.5}))
		}, []string{"ball", "touching"}},
		"no cause: an effect expires, and moves by its path": {func(t *testing.T, q *undisturbedWorld) {
			addEffect(t, q.World, effect(t, world.Vec3{X: 36}, func(d *world.EffectDef) { d.LifeTicks, d.Velocity = 1, world.Vec3{X: -9} }))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := newUndisturbedWorld(t)
			require.Empty(t, q.disturbedNow())
			c.do(t, q)
			q.Step()
			require.Equal(t, c.want, q.disturbedNow())
		})
	}
}

// C1. A disturbance counts for the present tick, or between steps for the next tick.
func TestSpawnsAreDisturbances(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	steps(w, 4)
	now := spawn(t, w, crate, world.Vec3{Y: 9})
	require.EqualValues(t, 5, w.Slots().Disturbed(now.Index()), "between steps")
	later := must.Get(w.DeferSpawn(crate, world.Vec3{Y: 9}, world.Vec3{}, 0))
	require.Zero(t, w.Slots().Disturbed(later.Index()))
	var before, after world.Entity
	require.NoError(t, w.AddSystem(world.Before, "before", func(w *world.World) { before = spawn(t, w, crate, world.Vec3{}) }))
	require.NoError(t, w.AddSystem(world.After, "after", func(w *world.World) { after = spawn(t, w, crate, world.Vec3{}) }))
	w.Step()
	for _, e := range []world.Entity{now, later, before, after} {
		require.EqualValues(t, 5, w.Slots().Disturbed(e.Index()))
		require.True(t, must.Have(w.Slots().Exact(e.Index())).Awake)
	}
	must.Lack(w.Slots().Exact(spawn(t, w, ghost, world.Vec3{}).Index()))
	must.Lack(w.Slots().Exact(4000))
	require.Zero(t, w.Slots().Disturbed(4000))
}
