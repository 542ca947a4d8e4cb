package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// rock adds the kind of the bodies in piles.
func rock(t testing.TB, w *world.World) world.KindID {
	return addKind(t, w, world.Kind{Name: "rock", Body: &world.BodyDef{
		Mass: 2, Radius: 0.5, Friction: 0.6, Restitution: 0.2, Solid: true,
	}})
}

// tower returns height rocks on top of each other, all asleep.
func tower(t *testing.T, w *world.World, kind world.KindID, height int) []world.Entity {
	t.Helper()
	var all []world.Entity
	for i := range height {
		all = append(all, spawn(t, w, kind, world.Vec3{Y: float32(i) + 0.5}))
	}
	stepUntilAsleep(t, w, 200)
	return all
}

// stepUntilAsleep steps until no body is awake and returns the tick.
func stepUntilAsleep(t testing.TB, w *world.World, limit int) uint64 {
	t.Helper()
	for range limit {
		w.Step()
		if w.Stats().Awake == 0 {
			return w.Tick()
		}
	}
	require.Fail(t, "still awake", "%+v after %d ticks", w.Stats(), limit)
	return 0
}

func TestHeadOnImpact(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	ball := addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{Radius: 0.5, Restitution: 1, Solid: true}})
	heavy := addKind(t, w, world.Kind{Name: "heavy", Body: &world.BodyDef{Mass: 3, Radius: 0.5, Solid: true}})
	at := world.Vec3{Y: 50}
	a := must.Get(w.Spawn(ball, at, world.Vec3{X: 4}))
	b := spawn(t, w, ball, at.Add(world.Vec3{X: 3}))
	steps(w, 60)
	va, _ := w.Velocity(a)
	vb, _ := w.Velocity(b)
	require.InDelta(t, 0, va.Len(), 1e-3, "equal masses change velocities")
	require.InDelta(t, 4, vb.X, 1e-3)

	c := must.Get(w.Spawn(heavy, at.Add(world.Vec3{Z: 20}), world.Vec3{Z: 4}))
	d := spawn(t, w, heavy, at.Add(world.Vec3{Z: 22}))
	steps(w, 60)
	vc, _ := w.Velocity(c)
	vd, _ := w.Velocity(d)
	require.InDelta(t, 2, vc.Z, 1e-3, "without restitution they move together")
	require.InDelta(t, 2, vd.Z, 1e-3)
	require.NoError(t, w.CheckInvariants())
}

func TestImpactKeepsMomentum(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	masses := []float32{1, 3, 0.5, 2}
	var all []world.Entity
	var before world.Vec3
	r := w.Rand()
	for i, m := range masses {
		kind := addKind(t, w, world.Kind{Name: string(rune('a' + i)), Body: &world.BodyDef{
			Mass: m, Radius: 0.4 + 0.1*float32(i), Restitution: 0.5, Friction: 0.8, Solid: true,
		}})
		at := world.Vec3{X: float32(i) * 2, Y: 50 + spread(r, 0.3)}
		v := world.Vec3{X: 5 - 3*float32(i), Z: spread(r, 0.2)}
		e := must.Get(w.Spawn(kind, at, v))
		all = append(all, e)
		before = before.Add(v.Scale(m))
	}
	steps(w, 120)
	var after world.Vec3
	for i, e := range all {
		v, _ := w.Velocity(e)
		after = after.Add(v.Scale(masses[i]))
	}
	require.InDelta(t, 0, after.Sub(before).Len(), 0.01)
}

func TestTowerSleepsAndWakesTogether(t *testing.T) {
	for name, disturb := range map[string]func(w *world.World, e []world.Entity) bool{
		"impulse":  func(w *world.World, e []world.Entity) bool { return w.Impulse(e[4], world.Vec3{X: 1}) },
		"command":  func(w *world.World, e []world.Entity) bool { return w.Wake(e[2]) },
		"velocity": func(w *world.World, e []world.Entity) bool { return w.SetVelocity(e[0], world.Vec3{X: 1}) },
		"effect": func(w *world.World, e []world.Entity) bool {
			addEffect(t, w, world.EffectDef{Program: compile(t, blast), Center: world.Vec3{X: 7.8, Y: 4.5}})
			return true
		},
		"support moved": func(w *world.World, e []world.Entity) bool { return w.SetPosition(e[0], world.Vec3{X: 50}) },
		"neighbour": func(w *world.World, e []world.Entity) bool {
			kind, _ := w.KindOf(e[0])
			_, err := w.Spawn(kind, world.Vec3{X: 1, Y: 0.5}, world.Vec3{})
			return err == nil
		},
		"support destroyed": func(w *world.World, e []world.Entity) bool {
			done := w.Destroy(e[0])
			w.Step()
			return done
		},
	} {
		w, _, _, _ := newWorld(t, world.Config{})
		all := tower(t, w, rock(t, w), 5)
		for i, e := range all {
			p, _ := w.Position(e)
			require.InDelta(t, 0.5+float64(i), p.Y, 0.01, "a tower stands")
		}
		require.True(t, disturb(w, all), name)
		for i, e := range all {
			require.Equal(t, w.Status(e) == w.Status(all[4]), w.Awake(e), "%s: %d", name, i)
		}
		stepUntilAsleep(t, w, 600)
		require.NoError(t, w.CheckInvariants())
	}
}

func TestTowerFallsWhenItsSupportGoes(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	all := tower(t, w, rock(t, w), 5)
	w.Destroy(all[1])
	w.Step()
	stepUntilAsleep(t, w, 600)
	for i, height := range []float64{0.5, 0, 1.5, 2.5, 3.5} {
		if p, ok := w.Position(all[i]); ok {
			require.InDelta(t, height, p.Y, 0.02, "rock %d", i)
		}
	}
}

// A body that does not rest keeps awake all bodies connected to it by touch.
func TestOneTremblingBodyKeepsTheGroupAwake(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	kind := rock(t, w)
	var all []world.Entity
	for i := range 5 {
		all = append(all, spawn(t, w, kind, world.Vec3{X: float32(i), Y: 0.5}))
	}
	apart := spawn(t, w, kind, world.Vec3{X: 10, Y: 0.5})
	for range 100 {
		w.Wake(all[4])
		w.Step()
	}
	for _, e := range all {
		require.True(t, w.Awake(e))
	}
	require.False(t, w.Awake(apart))
	steps(w, 28)
	require.True(t, w.Awake(all[0]))
	w.Step()
	for _, e := range all {
		require.False(t, w.Awake(e), "all in the same tick")
	}
}

func TestImpactWakesTheSleeper(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	kind := rock(t, w)
	a := spawn(t, w, kind, world.Vec3{Y: 0.5})
	stepUntilAsleep(t, w, 100)
	must.Get(w.Spawn(kind, world.Vec3{X: -3, Y: 0.5}, world.Vec3{X: 8}))
	for !w.Awake(a) {
		w.Step()
		require.Less(t, w.Tick(), uint64(200))
	}
	v, _ := w.Velocity(a)
	require.Greater(t, v.X, float32(2), "it is pushed at once")
}

// neighbours returns a sleeper, and a body touching it that is awake and at rest.
func neighbours(t *testing.T, w *world.World) (sleeper, awake world.Entity) {
	kind := rock(t, w)
	sleeper = spawn(t, w, kind, world.Vec3{Y: 50})
	awake = spawn(t, w, kind, world.Vec3{X: 1, Y: 50})
	require.True(t, w.Sleep(sleeper))
	return sleeper, awake
}

func TestNeighbourOfAHitSleeperStaysAwake(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	sleeper, awake := neighbours(t, w)
	kind, _ := w.KindOf(sleeper)
	must.Get(w.Spawn(kind, world.Vec3{X: -1 - 0.1*29.5, Y: 50}, world.Vec3{X: 6}))
	steps(w, 29)
	require.False(t, w.Awake(sleeper))
	w.Step() // the sleeper is hit while its neighbour has rested long enough
	require.True(t, w.Awake(sleeper))
	require.True(t, w.Awake(awake))
}

func TestOnlyMotionWakesNeighbours(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	sleeper, awake := neighbours(t, w)
	require.True(t, w.SetVelocity(awake, world.Vec3{X: 0.05}))
	require.False(t, w.Awake(sleeper))
	w.Step()
	require.False(t, w.Awake(sleeper))
	require.True(t, w.SetVelocity(awake, world.Vec3{X: 3}))
	require.True(t, w.Awake(sleeper), "its support may be gone in the next tick")
}

// A deck is ground to the bodies on it: they do not keep each other awake.
func TestDeckDoesNotConnectBodies(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	kind := rock(t, w)
	deck := addKind(t, w, world.Kind{Name: "deck", Body: &world.BodyDef{Kinematic: true, Solid: true, Radius: 100, Friction: 1}})
	spawn(t, w, deck, world.Vec3{Y: 50})
	restless := spawn(t, w, kind, world.Vec3{Y: 150.5})
	resting := spawn(t, w, kind, world.Vec3{X: 4, Y: 50 + 100.42})
	for range 90 {
		w.SetVelocity(restless, world.Vec3{})
		w.Step()
	}
	require.True(t, w.Awake(restless))
	require.False(t, w.Awake(resting))
}

func TestRiderOfALift(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{})
	kind := rock(t, w)
	deck := addKind(t, w, world.Kind{Name: "deck", Body: &world.BodyDef{Kinematic: true, Solid: true, Radius: 2, Friction: 1}})
	lift := spawn(t, w, deck, world.Vec3{Y: 3})
	rider := spawn(t, w, kind, world.Vec3{Y: 5.5})
	stepUntilAsleep(t, w, 200)
	for range 2 { // up, with a stop, and down
		w.SetVelocity(lift, world.Vec3{Y: 1})
		require.True(t, w.Awake(rider), "bodies touching it wake with it")
		steps(w, 120)
		p, _ := w.Position(lift)
		q, _ := w.Position(rider)
		require.InDelta(t, 2.5, q.Sub(p).Y, 0.03)
		require.True(t, w.Awake(rider), "riding is not rest")
		w.SetVelocity(lift, world.Vec3{})
		stepUntilAsleep(t, w, 200)
	}
	w.SetVelocity(lift, world.Vec3{Y: -2})
	steps(w, 60)
	p, _ := w.Position(lift)
	q, _ := w.Position(rider)
	require.InDelta(t, 2.5, q.Sub(p).Y, 0.1, "it does not hang in the air")
	require.NoError(t, w.CheckInvariants())
}

func TestDeepOverlapIsResolvedWithoutSpeed(t *testing.T) {
	w, _, _, _ := newWorld(t, world.Config{Gravity: -1})
	kind := rock(t, w)
	for i := range 8 {
		spawn(t, w, kind, world.Vec3{X: float32(i&1) * 0.1, Y: 50 + float32(i>>1&1)*0.1, Z: float32(i>>2) * 0.1})
	}
	a, b := spawn(t, w, kind, world.Vec3{X: 20, Y: 50}), spawn(t, w, kind, world.Vec3{X: 20, Y: 50})
	steps(w, 5)
	fastest := float32(0)
	for slot := range uint32(10) {
		_, v, _ := w.Slots().Body(slot)
		fastest = max(fastest, v.Len())
	}
	require.Less(t, fastest, float32(6), "no explosion")
	p, _ := w.Position(a)
	q, _ := w.Position(b)
	require.InDelta(t, 1, p.Sub(q).Len(), 0.05, "two at one position separate")
}

func TestPlainBodiesDoNotCollide(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	a, b := spawn(t, w, crate, world.Vec3{Y: 0.5}), spawn(t, w, rock(t, w), world.Vec3{Y: 0.5})
	stepUntilAsleep(t, w, 100)
	p, _ := w.Position(a)
	q, _ := w.Position(b)
	require.Equal(t, p, q)
}

// heap pours rocks on one spot, three ticks apart.
func heap(t testing.TB, cfg world.Config, count int) *world.World {
	cfg.HalfExtent = world.Vec3{X: 32, Y: 32, Z: 32}
	w, _, _, _ := newWorld(t, cfg)
	kind := rock(t, w)
	r := w.Rand()
	for i := range count {
		spawn(t, w, kind, world.Vec3{X: spread(r, 2), Y: 6 + float32(float32(i)*0.004), Z: spread(r, 2)})
		steps(w, 3)
	}
	return w
}

func TestHeapSleeps(t *testing.T) {
	racetest.SkipSequential(t)
	w := heap(t, world.Config{Seed: 3, CellMetres: 2}, 150)
	stepUntilAsleep(t, w, 2000)
	require.NoError(t, w.CheckInvariants())
	top := float32(0)
	for a := range uint32(150) {
		p, _, _ := w.Slots().Body(a)
		top = max(top, p.Y)
		for b := range a {
			q, _, _ := w.Slots().Body(b)
			require.Greater(t, p.Sub(q).Len(), float32(0.98), "rocks %d and %d", a, b)
		}
	}
	require.Greater(t, top, float32(2), "it is a heap, not a carpet")
}

func TestWarmHeapAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	w := heap(t, world.Config{Seed: 3, CellMetres: 2}, 100)
	n := uint32(0)
	shake := func() {
		w.Impulse(w.Slots().Handle(n%100), world.Vec3{X: 1, Y: 3})
		n += 7
		w.Step()
	}
	alloctest.RequireNone(t, 300, 100, shake)
	require.Positive(t, w.Stats().Awake)
}
