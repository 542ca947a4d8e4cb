package world_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

func TestChangeReaderReportsEveryKindOfChange(t *testing.T) {
	w, crate, ghost, _ := newWorld(t, world.Config{})
	health := register[int32](t, w, "health")
	changes := w.NewChangeReader()
	e := spawn(t, w, crate, world.Vec3{Y: 0.5})
	g := spawn(t, w, ghost, world.Vec3{})
	changed := func() bool { return changes.Next().Has(e.Index()) }
	require.True(t, changed(), "spawned")
	require.False(t, changed())
	w.Step()
	require.False(t, changed(), "a body at rest on the ground has not changed")
	for what, f := range map[string]func() bool{
		"SetPosition": func() bool { return w.SetPosition(e, world.Vec3{Y: 5}) },
		"SetVelocity": func() bool { return w.SetVelocity(e, world.Vec3{Y: 5}) },
		"Impulse":     func() bool { return w.Impulse(e, world.Vec3{Y: 5}) },
		"fall":        func() bool { w.Step(); return true },
		"Set":         func() bool { return health.Set(e, 3) },
		"Mut":         func() bool { return health.Mut(e) != nil },
	} {
		w.SetPosition(e, world.Vec3{Y: 5})
		health.Set(e, 1)
		changes.Next()
		require.True(t, f(), what)
		require.True(t, changed(), what)
	}
	w.SetVelocity(e, world.Vec3{Y: 5})
	changes.Next()
	w.Sleep(e)
	require.True(t, changed(), "Sleep takes the velocity")
	health.Get(e)
	w.Wake(e)
	require.False(t, changed())
	require.True(t, health.Remove(e))
	require.True(t, changed(), "Remove")
	health.Set(g, 1)
	w.Destroy(g)
	w.Step()
	require.False(t, changes.Next().Has(g.Index()), "W7")
}

func slotsOf(s bulk.BitsetView) []uint32 { return slices.Collect(s.All()) }

func TestChangeReaderStartsWithLiveSlots(t *testing.T) {
	w, _, ghost, _ := newWorld(t, world.Config{})
	first := w.NewChangeReader()
	for range 3 {
		spawn(t, w, ghost, world.Vec3{})
	}
	first.Next()
	must.Get(w.DeferSpawn(ghost, world.Vec3{}, world.Vec3{}, 0))
	late := w.NewChangeReader()
	require.Equal(t, []uint32{0, 1, 2}, slotsOf(late.Next()), "a reserved entity has nothing to read")
	w.ApplyDeferred()
	require.Equal(t, []uint32{3}, slotsOf(late.Next()))
	require.Equal(t, []uint32{3}, slotsOf(first.Next()))
}

// Changes of a destroyed entity must not be attributed to the slot's next tenant.
func TestLaggingChangeReaderForgetsDestroyedSlots(t *testing.T) {
	w, _, ghost, _ := newWorld(t, world.Config{})
	points := register[int32](t, w, "points")
	prompt, lagging := w.NewChangeReader(), w.NewChangeReader()
	gone, kept := spawn(t, w, ghost, world.Vec3{}), spawn(t, w, ghost, world.Vec3{})
	prompt.Next()
	lagging.Next()

	points.Set(gone, 1)
	points.Set(kept, 1)
	require.Equal(t, []uint32{0, 1}, slotsOf(prompt.Next()))
	w.Destroy(gone)
	w.Step()
	next := must.Get(w.DeferSpawn(ghost, world.Vec3{}, world.Vec3{}, 0))
	require.Equal(t, gone.Index(), next.Index())
	require.NoError(t, w.CheckInvariants())
	require.Empty(t, slotsOf(prompt.Next()))
	require.Equal(t, []uint32{kept.Index()}, slotsOf(lagging.Next()))
	w.Step()
	require.Equal(t, []uint32{next.Index()}, slotsOf(lagging.Next()))
	require.Equal(t, []uint32{next.Index()}, slotsOf(prompt.Next()))
}

func TestChangeReadersAfterRestore(t *testing.T) {
	w, _, ghost, _ := newWorld(t, world.Config{})
	a, b := w.NewChangeReader(), w.NewChangeReader()
	spawn(t, w, ghost, world.Vec3{})
	var img world.Image
	w.TakeImage(&img)
	spawn(t, w, ghost, world.Vec3{})
	require.Equal(t, []uint32{0, 1}, slotsOf(a.Next()))
	require.NoError(t, w.Restore(&img))
	require.NoError(t, w.CheckInvariants())
	require.Equal(t, []uint32{0}, slotsOf(a.Next()))
	require.Equal(t, []uint32{0}, slotsOf(b.Next()))
}

func TestClosedChangeReader(t *testing.T) {
	w, _, ghost, _ := newWorld(t, world.Config{})
	a, b := w.NewChangeReader(), w.NewChangeReader()
	a.Close()
	a.Close()
	require.PanicsWithValue(t, "world: Next of a closed ChangeReader", func() { a.Next() })
	spawn(t, w, ghost, world.Vec3{})
	require.Equal(t, []uint32{0}, slotsOf(b.Next()))
}

// TestChangeReadersAgainstModel reads several readers at random intervals. Each must report
// the changes that a reader read after every operation has reported since.
func TestChangeReadersAgainstModel(t *testing.T) {
	racetest.SkipSequential(t)
	for seed := range uint64(4) {
		s := newScene(t, seed, 150, 1, 4)
		r := rand.New(rand.NewPCG(seed, 11))
		prompt := s.NewChangeReader()
		readers, owed := make([]*world.ChangeReader, 3), make([]bulk.Bitset, 3)
		for i := range readers {
			readers[i] = s.NewChangeReader()
			owed[i].CopyFrom(s.Live())
		}
		programs := []*field.Program{compile(t, gust), compile(t, blast)}
		for range 200 {
			for r.IntN(3) == 0 {
				outside(s, r, programs)
			}
			s.Step()
			now := prompt.Next()
			for i, reader := range readers {
				for e := range s.Destroyed() {
					owed[i].Clear(e.Index())
				}
				owed[i].SetOr(owed[i].View(), now)
				if r.IntN(1+4*i) == 0 {
					require.Equal(t, slotsOf(owed[i].View()), slotsOf(reader.Next()))
					owed[i].Reset()
				}
			}
			require.NoError(t, s.CheckInvariants())
		}
	}
}

func TestWarmChangeReadersAllocateNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	s := newScene(t, 7, 500, 3, 5)
	often, seldom := s.NewChangeReader(), s.NewChangeReader()
	tick := 0
	step := func() {
		s.Step()
		often.Next()
		tick++
		if tick%5 == 0 {
			seldom.Next()
		}
	}
	alloctest.RequireNone(t, 900, 200, step)
}

// Bodies that only motion moved are changed and not written, even for a lagging reader.
func TestChangeReaderTellsMotionFromWrites(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	points := register[int32](t, w, "points")
	drifting, written := spawn(t, w, crate, world.Vec3{Y: 50}), spawn(t, w, crate, world.Vec3{Y: 50})
	w.SetVelocity(drifting, world.Vec3{X: 1})
	prompt, lagging := w.NewChangeReader(), w.NewChangeReader()
	for _, r := range []*world.ChangeReader{prompt, lagging} {
		r.Next()
		require.Equal(t, []uint32{0, 1}, slotsOf(r.Written()), "spawned")
	}
	w.Step()
	points.Set(written, 1)
	w.Step()
	require.Equal(t, []uint32{0, 1}, slotsOf(prompt.Next()))
	require.Equal(t, []uint32{1}, slotsOf(prompt.Written()))
	w.SetVelocity(drifting, world.Vec3{X: 2})
	w.Step()
	require.Equal(t, []uint32{0, 1}, slotsOf(prompt.Next()))
	require.Equal(t, []uint32{0}, slotsOf(prompt.Written()))
	require.Equal(t, []uint32{0, 1}, slotsOf(lagging.Next()))
	require.Equal(t, []uint32{0, 1}, slotsOf(lagging.Written()))
	require.NoError(t, w.CheckInvariants())
	w.Destroy(written)
	w.Step()
	require.NoError(t, w.CheckInvariants())
	require.Equal(t, []uint32{0}, slotsOf(prompt.Next()))
	require.Empty(t, slotsOf(prompt.Written()))
}
