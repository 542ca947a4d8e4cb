package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func TestCrateFallsRestsAndSleeps(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	e := spawn(t, w, crate, world.Vec3{Y: 5})
	require.True(t, w.Awake(e))
	for w.Awake(e) {
		w.Step()
		require.Less(t, w.Tick(), uint64(600), "it must come to rest")
	}
	p := must.Have(w.Position(e))
	require.Equal(t, float32(0.5), p.Y, "on the ground by its radius")
	v, _ := w.Velocity(e)
	require.Zero(t, v)
	w.Step()
	require.Equal(t, world.Stats{Entities: 1, Asleep: 1, Spawned: 1}, w.Stats())

	require.True(t, w.Impulse(e, world.Vec3{X: 20}))
	require.True(t, w.Awake(e))
	w.Step()
	v, _ = w.Velocity(e)
	require.InDelta(t, 10, v.X, 0.3, "20 N s on 2 kg")
}

func TestBounceAndFriction(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	ball := addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Radius: 0.5, Restitution: 0.5}})
	brick := addKind(t, w, world.Kind{Name: "brick", Body: &world.BodyDef{Radius: 0.5, Friction: 0.5}})
	b := must.Get(w.Spawn(ball, world.Vec3{Y: 0.5}, world.Vec3{X: 3, Y: -8}))
	s := must.Get(w.Spawn(brick, world.Vec3{Y: 0.5}, world.Vec3{X: 3}))
	w.Step()
	v, _ := w.Velocity(b)
	require.InDelta(t, 4, v.Y, 0.01, "it touched the ground at 8 m/s")
	require.Equal(t, float32(3), v.X, "no friction")
	start := w.Tick()
	for {
		w.Step()
		if v, _ := w.Velocity(s); v == (world.Vec3{}) {
			break
		}
		require.Less(t, w.Tick(), uint64(100))
	}
	require.InDelta(t, 3/(0.5*9.81)*60, float64(w.Tick()-start), 3, "Coulomb's time to stop")
	p, _ := w.Position(s)
	require.InDelta(t, 3*3/(2*0.5*9.81), p.X, 0.05, "and the distance")
}

func TestBounds(t *testing.T) {
	w, crate, _, lift := newWorld(t, world.Config{HalfExtent: world.Vec3{X: 10, Y: 5, Z: 10}, Gravity: -1})
	e := spawn(t, w, crate, world.Vec3{X: 99, Y: 99, Z: -99})
	p, _ := w.Position(e)
	require.Equal(t, world.Vec3{X: 10, Y: 5, Z: -10}, p)
	w.SetVelocity(e, world.Vec3{X: 50, Y: 50, Z: 1})
	w.Step()
	v, _ := w.Velocity(e)
	require.Zero(t, v.X)
	require.Zero(t, v.Y)
	require.Greater(t, v.Z, float32(0), "only the axis of the wall is stopped")
	k := must.Get(w.Spawn(lift, world.Vec3{}, world.Vec3{Y: -5}))
	w.Step()
	p, _ = w.Position(k)
	require.Zero(t, p.Y)
	require.NoError(t, w.CheckInvariants())
}

func TestBoundsBounce(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{
		HalfExtent: world.Vec3{X: 10, Y: 5, Z: 10}, Gravity: -1, Bounds: world.BoundsBounce,
	})
	ball := addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Restitution: 0.5}})
	e := must.Get(w.Spawn(ball, world.Vec3{X: 10, Y: 2, Z: -10}, world.Vec3{X: 6, Y: 1, Z: -0.2}))
	w.Step()
	v, _ := w.Velocity(e)
	require.Equal(t, world.Vec3{X: -3, Y: 1}, v, "slow impacts do not bounce")
	p, _ := w.Position(e)
	require.Equal(t, float32(10), p.X)
}

func TestBoundsDestroy(t *testing.T) {
	w, crate, _, lift := newWorld(t, world.Config{
		HalfExtent: world.Vec3{X: 10, Y: 5, Z: 10}, Gravity: -1, Bounds: world.BoundsDestroy,
	})
	var leavers []world.Entity
	for kind, v := range map[world.KindID]world.Vec3{crate: {X: -9}, lift: {Y: 20}} {
		e := must.Get(w.Spawn(kind, world.Vec3{X: -9.95, Y: 4.95}, v))
		leavers = append(leavers, e)
	}
	stays := spawn(t, w, crate, world.Vec3{X: 99})
	require.NoError(t, w.AddSystem(world.After, "look", func(w *world.World) {
		p, ok := w.Position(leavers[0])
		require.True(t, ok, "live until the step ends")
		require.True(t, p.X >= -10 && p.Y <= 5)
	}))
	w.Step()
	require.ElementsMatch(t, leavers, destroyed(w))
	require.Equal(t, bulk.Live, w.Status(stays), "on the bound is not beyond it")
	require.NoError(t, w.CheckInvariants())
}

func TestBoundsNames(t *testing.T) {
	require.Equal(t, "clamp", world.BoundsClamp.String())
	require.Equal(t, "bounce", world.BoundsBounce.String())
	require.Equal(t, "destroy", world.BoundsDestroy.String())
	require.Equal(t, "Bounds(9)", world.Bounds(9).String())
	require.ErrorContains(t, world.Config{Bounds: 3}.Validate(), "Bounds is 3")
}

// A bouncing ball loses energy each time and comes to rest.
func TestBounceDiesDown(t *testing.T) {
	for hz := 20; hz <= 120; hz += 20 {
		w, _, _, _ := newWorld(t, world.Config{TickHz: hz, HalfExtent: world.Vec3{X: 20, Y: 20, Z: 20}})
		ball := addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Radius: 0.4, Restitution: 0.8}})
		e := spawn(t, w, ball, world.Vec3{Y: 10})
		stepUntilAsleep(t, w, 15*hz)
		p, _ := w.Position(e)
		require.Equal(t, float32(0.4), p.Y)
	}
}

func TestSpeedIsCapped(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{Gravity: -1})
	e := must.Get(w.Spawn(crate, world.Vec3{Y: 100}, world.Vec3{X: 3e38, Y: 3e38, Z: -3e38}))
	v, _ := w.Velocity(e)
	require.InDelta(t, world.MaxSpeed, v.Len(), 0.01)
	require.True(t, w.Impulse(e, world.Vec3{X: 1e30}))
	v, _ = w.Velocity(e)
	require.InDelta(t, world.MaxSpeed, v.Len(), 0.01)
	require.NoError(t, w.CheckInvariants())
}

func TestSpeedIsCappedInFlight(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{Gravity: 1000})
	e := spawn(t, w, crate, world.Vec3{Y: 200})
	steps(w, 10)
	v, _ := w.Velocity(e)
	require.InDelta(t, -world.MaxSpeed, v.Y, 0.01)
	require.NoError(t, w.CheckInvariants())
}

func TestKinematicBody(t *testing.T) {
	w, _, _, lift := newWorld(t, world.Config{})
	e := must.Get(w.Spawn(lift, world.Vec3{Y: 10}, world.Vec3{X: 0.01}))
	require.False(t, w.Impulse(e, world.Vec3{X: 5}))
	steps(w, 60)
	p, _ := w.Position(e)
	require.Equal(t, float32(10), p.Y, "no gravity")
	require.InDelta(t, 0.01, p.X, 1e-4)
	require.True(t, w.Awake(e), "slower than RestSpeed, but steered")
	w.SetVelocity(e, world.Vec3{})
	steps(w, 31)
	require.False(t, w.Awake(e))
}

func TestCreepingBodyIsStoppedWhenItFallsAsleep(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	ice := addKind(t, w, world.Kind{Name: "ice", Body: &world.BodyDef{}})
	e := must.Get(w.Spawn(ice, world.Vec3{}, world.Vec3{X: 0.05}))
	changes := w.NewChangeReader()
	steps(w, 29)
	require.True(t, w.Awake(e))
	changes.Next()
	w.Step()
	require.False(t, w.Awake(e))
	v, _ := w.Velocity(e)
	require.Zero(t, v)
	require.True(t, changes.Next().Has(e.Index()), "replication must see the stop")
	w.Step()
	require.False(t, changes.Next().Any())
}

func TestSleepAndWake(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	e := spawn(t, w, crate, world.Vec3{Y: 50})
	w.Step()
	require.True(t, w.Sleep(e))
	require.False(t, w.Awake(e))
	require.True(t, w.Wake(e))
	require.True(t, w.Sleep(e))
	w.Step()
	p, _ := w.Position(e)
	steps(w, 10)
	q, _ := w.Position(e)
	require.Equal(t, p, q, "a sleeping body does not fall")
	require.Equal(t, 1, w.Stats().Asleep)
	w.Wake(e)
	w.Step()
	q, _ = w.Position(e)
	require.Less(t, q.Y, p.Y)
	g := spawn(t, w, ghost, world.Vec3{})
	require.False(t, w.Sleep(g))
	require.False(t, w.Awake(g))
}

func TestBodyBySlot(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	e := must.Get(w.Spawn(crate, world.Vec3{Y: 5}, world.Vec3{Z: 1}))
	g := spawn(t, w, ghost, world.Vec3{})
	p, v, ok := w.Slots().Body(e.Index())
	require.True(t, ok)
	require.Equal(t, world.Vec3{Y: 5}, p)
	require.Equal(t, world.Vec3{Z: 1}, v)
	_, _, ok = w.Slots().Body(g.Index())
	require.False(t, ok)
	_, _, ok = w.Slots().Body(1 << 31)
	require.False(t, ok)
}

func TestVec3(t *testing.T) {
	a, b := world.Vec3{X: 1, Y: 2, Z: 2}, world.Vec3{X: 2, Y: 0, Z: -1}
	require.Equal(t, world.Vec3{X: 3, Y: 2, Z: 1}, a.Add(b))
	require.Equal(t, world.Vec3{X: -1, Y: 2, Z: 3}, a.Sub(b))
	require.Equal(t, world.Vec3{X: 2, Y: 4, Z: 4}, a.Scale(2))
	require.Zero(t, a.Dot(b))
	require.Equal(t, float32(3), a.Len())
}
