package world_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// PositionAt agrees with a list of all positions at the end of every tick.
func TestPositionAtAgainstAList(t *testing.T) {
	const back = 20
	s := newSceneIn(t, world.Config{Seed: 7, HistoryTicks: back}, 40, 2, 1)
	r, programs := rand.New(rand.NewPCG(3, 3)), []*field.Program{compile(t, gust), compile(t, blast)}
	var then []map[world.Entity]world.Vec3 // by tick
	note := func() {
		now := map[world.Entity]world.Vec3{}
		for slot := range s.Live().All() {
			if at, _, ok := s.Slots().Body(slot); ok {
				now[s.Slots().Handle(slot)] = at
			}
		}
		then = append(then, now)
	}
	then = append(then, nil) // entities that exist before the first step appeared after tick 0
	asked, found := 0, 0
	check := func(e world.Entity, tick uint64) {
		want, was := then[tick][e]
		_, is := s.Position(e)
		at, ok := s.PositionAt(e, world.Moment{Tick: tick})
		require.Equal(t, was && is, ok, "%v at %d, now %d", e, tick, s.Tick())
		if ok {
			require.Equal(t, want, at, "%v at %d, now %d", e, tick, s.Tick())
			found++
		}
		asked++
	}
	require.NoError(t, s.AddSystem(world.After, "ask", func(w *world.World) {
		if w.Tick() > 1 {
			check(s.Slots().Handle(uint32(r.IntN(60))), w.Tick()-1) // inside a step: the position at its beginning
		}
	}))
	for range 600 {
		for r.IntN(2) == 0 {
			outside(s, r, programs)
		}
		s.Step()
		note()
		for r.IntN(2) == 0 {
			outside(s, r, programs) // changes after the tick do not affect its recorded end
		}
		for range 8 {
			tick := s.Tick() - uint64(r.IntN(back+1))
			if tick > s.Tick() {
				continue
			}
			check(s.Slots().Handle(uint32(r.IntN(60))), tick)
		}
	}
	require.Greater(t, found, asked/2)

	e := s.Slots().Handle(s.Slots().Len() - 1)
	for slot := range s.Live().All() {
		e = s.Slots().Handle(slot)
		break
	}
	_, ok := s.PositionAt(e, world.Moment{Tick: s.Tick() - back - 1})
	require.False(t, ok, "too long ago")
	_, ok = s.PositionAt(e, world.Moment{Tick: s.Tick() + 1})
	require.False(t, ok, "not yet")
	_, ok = s.PositionAt(e+1<<32, world.Moment{Tick: s.Tick()})
	require.False(t, ok, "not an entity")

	var img world.Image
	s.TakeImage(&img)
	require.NoError(t, s.Restore(&img))
	must.Have(s.PositionAt(e, world.Moment{Tick: s.Tick()}))
	_, ok = s.PositionAt(e, world.Moment{Tick: s.Tick() - 1})
	require.False(t, ok, "a restored world has no earlier history")
}

// A moment at OldestTick, taken before a step, is known to the systems of that step, and
// unknown after it.
func TestOldestMomentInTheNextStep(t *testing.T) {
	const back = 4
	w, crate, _, _ := newWorld(t, world.Config{HistoryTicks: back})
	e := spawn(t, w, crate, world.Vec3{Y: 9})
	w.SetVelocity(e, world.Vec3{X: 60})
	var noted world.Moment
	var was world.Vec3
	asked := 0
	ask := func(w *world.World) {
		at, ok := w.PositionAt(e, noted)
		require.True(t, ok, "in tick %d, noted %d", w.Tick(), noted.Tick)
		require.Equal(t, was, at)
		require.Equal(t, noted.Tick, w.OldestTick())
		require.Len(t, w.AppendRayAt(nil, noted, was.Sub(world.Vec3{Z: 5}), was.Add(world.Vec3{Z: 5}), 0), 1)
		must.Lack(w.PositionAt(e, world.Moment{Tick: noted.Tick - 1}))
		asked++
	}
	steps(w, back+1)
	for name, phase := range map[string]world.Phase{"before": world.Before, "after": world.After} {
		require.NoError(t, w.AddSystem(phase, name, func(w *world.World) {
			if w.Tick() > 2*back {
				ask(w)
			}
		}))
	}
	for range 40 {
		oldest := must.Have(w.PositionAt(e, world.Moment{Tick: w.OldestTick()}))
		last := noted
		noted, was = world.Moment{Tick: w.OldestTick()}, oldest
		if asked > 0 {
			_, ok := w.PositionAt(e, last)
			require.False(t, ok, "after the step")
		}
		w.Step()
	}
	require.NotZero(t, asked)
}

func TestWithoutHistory(t *testing.T) {
	w, crate, _, _ := newWorld(t, world.Config{})
	e := spawn(t, w, crate, world.Vec3{Y: 9})
	steps(w, 3)
	at, ok := w.PositionAt(e, world.Moment{Tick: 3})
	now, _ := w.Position(e)
	require.True(t, ok)
	require.Equal(t, now, at)
	must.Lack(w.PositionAt(e, world.Moment{Tick: 2}))
	require.ErrorContains(t, must.Fail(world.New(world.Config{HistoryTicks: -1})), "HistoryTicks")
}

func TestWarmHistoryAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	s := newSceneIn(t, world.Config{Seed: 7, HistoryTicks: 10}, 100, 2, 2)
	steps(s.World, 900)
	changes := s.NewChangeReader()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Step()
		changes.Next()
	}))
}

// BenchmarkHistory measures the cost of one second of history in a step with 10,000 moving
// bodies.
func BenchmarkHistory(b *testing.B) {
	for name, ticks := range map[string]int{"none": 0, "60 ticks": 60} {
		b.Run(name, func(b *testing.B) {
			w := must.Get(world.New(world.Config{HistoryTicks: ticks, Gravity: -1}))
			kind := addKind(b, w, world.Kind{Name: "bird", Body: &world.BodyDef{}})
			r := w.Rand()
			for range 10_000 {
				must.Get(w.Spawn(kind, world.Vec3{X: spread(r, 500), Y: 100, Z: spread(r, 500)}, world.Vec3{X: spread(r, 1) + 2}))
			}
			steps(w, 70)
			b.ReportAllocs()
			for b.Loop() {
				w.Step()
			}
		})
	}
}
