package world_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// newWorld returns a world with the kinds crate (a body that falls), ghost (no body) and lift
// (kinematic).
func newWorld(t testing.TB, cfg world.Config) (w *world.World, crate, ghost, lift world.KindID) {
	t.Helper()
	w = must.Get(world.New(cfg))
	crate = addKind(t, w, world.Kind{Name: "crate", Body: &world.BodyDef{
		Mass: 2, Drag: 0.3, Radius: 0.5, Friction: 0.6, Restitution: 0.2,
	}})
	ghost = addKind(t, w, world.Kind{Name: "ghost"})
	lift = addKind(t, w, world.Kind{Name: "lift", Body: &world.BodyDef{Kinematic: true}})
	return w, crate, ghost, lift
}

func addKind(t testing.TB, w *world.World, k world.Kind) world.KindID {
	t.Helper()
	return must.Get(w.AddKind(k))
}

func spawn(t testing.TB, w *world.World, k world.KindID, at world.Vec3) world.Entity {
	t.Helper()
	return must.Get(w.Spawn(k, at, world.Vec3{}))
}

func steps(w *world.World, n int) {
	for range n {
		w.Step()
	}
}

func TestConfigReportsEveryComplaint(t *testing.T) {
	nan := float32(math.NaN())
	err := world.Config{
		TickHz: -1, MaxEntities: -1, FirstGeneration: 2, CellMetres: nan, HalfExtent: world.Vec3{X: 1},
		Gravity: nan, RestSpeed: -1, RestSeconds: -1,
	}.Validate()
	for _, field := range []string{
		"TickHz", "MaxEntities", "FirstGeneration", "CellMetres", "HalfExtent", "Gravity", "RestSpeed", "RestSeconds",
	} {
		require.ErrorContains(t, err, field)
	}
	require.ErrorContains(t, world.Config{CellMetres: 0.02}.Validate(), "raise CellMetres")
	require.NoError(t, world.Config{}.Validate())
	require.NoError(t, world.Config{Gravity: -1}.Validate())
	require.ErrorContains(t, must.Fail(world.New(world.Config{TickHz: 5000})), "TickHz")
}

func TestKindRefusals(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	require.ErrorIs(t, must.Fail(w.AddKind(world.Kind{Name: "crate"})), world.ErrName)
	require.ErrorIs(t, must.Fail(w.AddKind(world.Kind{})), world.ErrName)
	_, err := w.AddKind(world.Kind{Name: "x", Priority: float32(math.Inf(1))})
	require.ErrorIs(t, err, world.ErrValue)
	for field, body := range map[string]world.BodyDef{
		"Mass": {Mass: -1}, "Drag": {Drag: float32(math.NaN())}, "Radius": {Radius: 1000},
		"Friction": {Friction: -1}, "Restitution": {Restitution: 1.5},
	} {
		_, err = w.AddKind(world.Kind{Name: "x", Body: &body})
		require.ErrorIs(t, err, world.ErrValue)
		require.ErrorContains(t, err, field)
	}
	kinds := w.Kinds()
	require.Len(t, kinds, 3)
	kinds[crate].Body.Mass = 99
	require.EqualValues(t, 2, w.Kinds()[crate].Body.Mass, "Kinds must hand out copies")
}

func TestSpawnAndDestroy(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{MaxEntities: 2})
	a := spawn(t, w, crate, world.Vec3{Y: 3})
	b := spawn(t, w, ghost, world.Vec3{Y: 3})
	require.ErrorIs(t, must.Fail(w.Spawn(crate, world.Vec3{}, world.Vec3{})), world.ErrFull)

	k := must.Have(w.KindOf(b))
	require.Equal(t, ghost, k)
	_, ok := w.Position(b)
	require.False(t, ok, "a kind without a body has no position")
	require.False(t, w.Wake(b))

	require.True(t, w.Destroy(a))
	require.False(t, w.Destroy(a), "twice")
	require.Equal(t, bulk.Live, w.Status(a), "live until the end of the step")
	w.Step()
	require.Equal(t, bulk.Stale, w.Status(a))
	require.False(t, w.Destroy(a))
	require.Equal(t, []world.Entity{a}, destroyed(w))

	c := spawn(t, w, crate, world.Vec3{})
	require.Equal(t, a.Index(), c.Index())
	require.NotEqual(t, a, c)
	stats := w.Stats()
	require.Equal(t, world.Stats{Entities: 2, Awake: 1, Spawned: 3, Destroyed: 1, Reused: 1}, stats)
	require.NoError(t, w.CheckInvariants())
}

func TestSpawnRefusals(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	nan := world.Vec3{X: float32(math.NaN())}
	inf := world.Vec3{Z: float32(math.Inf(-1))}
	require.ErrorIs(t, must.Fail(w.Spawn(99, world.Vec3{}, world.Vec3{})), world.ErrUnknown)
	require.ErrorIs(t, must.Fail(w.Spawn(crate, nan, world.Vec3{})), world.ErrValue)
	require.ErrorIs(t, must.Fail(w.Spawn(crate, world.Vec3{}, inf)), world.ErrValue)
	_, err := w.Spawn(ghost, nan, inf)
	require.NoError(t, err, "a ghost has no position")
	e := spawn(t, w, crate, world.Vec3{})
	require.False(t, w.SetPosition(e, nan))
	require.False(t, w.SetVelocity(e, inf))
	require.False(t, w.Impulse(e, nan))
	require.NoError(t, w.CheckInvariants())
}

func TestEventsReachAReaderOnce(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	var inside world.Entity
	require.NoError(t, w.AddSystem(world.Before, "spawner", func(w *world.World) {
		if w.Tick() == 2 {
			inside, _ = w.SpawnFor(crate, world.Vec3{}, world.Vec3{}, 0)
			w.Destroy(inside)
		}
	}))
	a := spawn(t, w, crate, world.Vec3{})
	require.Equal(t, []world.Entity{a}, slices.Collect(w.Spawned()), "at once")
	w.Step()
	require.Equal(t, []world.Entity{a}, slices.Collect(w.Spawned()), "and after the step that input spawned it for")
	b := spawn(t, w, crate, world.Vec3{})
	w.Step()
	require.Equal(t, []world.Entity{b, inside}, slices.Collect(w.Spawned()))
	require.Equal(t, []world.Entity{inside}, destroyed(w), "spawned and destroyed in one step is in both")
	again := spawn(t, w, crate, world.Vec3{})
	require.Equal(t, inside.Index(), again.Index())
	w.Step()
	require.Equal(t, []world.Entity{again}, slices.Collect(w.Spawned()))
	require.Empty(t, destroyed(w))
	w.Step()
	require.Empty(t, slices.Collect(w.Spawned()))
}

func TestLifetimes(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	ends := map[world.Entity]uint64{}
	for _, life := range []uint32{1, 2, 3, 1023, 1024, 1025, 2050} {
		for _, k := range []world.KindID{crate, ghost} {
			e := must.Get(w.SpawnFor(k, world.Vec3{}, world.Vec3{}, life))
			ends[e] = uint64(life)
		}
	}
	early := must.Get(w.SpawnFor(crate, world.Vec3{}, world.Vec3{}, 500))
	w.Destroy(early)
	for tick := uint64(1); tick <= 2051; tick++ {
		w.Step()
		for e, end := range ends {
			want := bulk.Live
			if tick >= end {
				want = bulk.Stale
			}
			require.Equal(t, want, w.Status(e), "life %d at tick %d", end, tick)
		}
	}
	require.NoError(t, w.CheckInvariants())
	require.Zero(t, w.Stats().Entities)
}

func TestSystems(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	e := spawn(t, w, crate, world.Vec3{Y: 10})
	var order []string
	var heights []float32
	note := func(name string) func(*world.World) {
		return func(w *world.World) {
			p, _ := w.Position(e)
			order, heights = append(order, name), append(heights, p.Y)
		}
	}
	require.NoError(t, w.AddSystem(world.After, "c", note("c")))
	require.NoError(t, w.AddSystem(world.Before, "a", note("a")))
	require.NoError(t, w.AddSystem(world.Before, "b", note("b")))
	w.Step()
	require.Equal(t, []string{"a", "b", "c"}, order)
	require.Equal(t, float32(10), heights[1])
	require.Less(t, heights[2], float32(10), "After runs when bodies have moved")

	require.ErrorIs(t, w.AddSystem(world.After, "a", note("a")), world.ErrName)
	require.ErrorIs(t, w.AddSystem(world.After, "", note("")), world.ErrName)
	require.ErrorIs(t, w.AddSystem(7, "d", note("d")), world.ErrValue)
	require.ErrorIs(t, w.AddSystem(world.After, "d", nil), world.ErrValue)
	require.NoError(t, w.AddSystem(world.Before, "recursive", func(w *world.World) { w.Step() }))
	require.Panics(t, w.Step)
	require.Equal(t, "before after Phase(5)", world.Before.String()+" "+world.After.String()+" "+world.Phase(5).String())
}

func TestFirstGenerationAndRetirement(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{MaxEntities: 1, FirstGeneration: bulk.MaxGeneration})
	e := spawn(t, w, crate, world.Vec3{})
	require.Equal(t, uint32(bulk.MaxGeneration), e.Generation(), "H5")
	require.Equal(t, bulk.Stale, w.Status(bulk.NewHandle(0, 1)), "H5: handles of an earlier run")
	w.Destroy(e)
	w.Step()
	require.ErrorIs(t, must.Fail(w.Spawn(crate, world.Vec3{}, world.Vec3{})), world.ErrFull, "H4: a spent slot is retired")
	require.Equal(t, 1, w.Stats().Retired)
	require.NoError(t, w.CheckInvariants())
}
