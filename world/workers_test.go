package world_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// Thousands of bodies give all workers something to do, with sleep and wake requests, spawns
// and destroys in between.
func TestWorkersDoNotMatter(t *testing.T) {
	var scenes []*scene
	for _, workers := range []int{1, 2, 3, 8} {
		for _, mode := range []world.Compaction{world.Exchange, world.InPlace} {
			s := newSceneIn(t, world.Config{Seed: 7, Workers: workers, Compaction: mode}, 6000, 2, 5)
			defer s.Close()
			scenes = append(scenes, s)
		}
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range shorttest.Pick(40, 8) {
		slot := uint32(r.IntN(6000))
		for _, s := range scenes {
			s.SetPosition(s.Slots().Handle(slot), world.Vec3{Y: 40})
			s.Sleep(s.Slots().Handle(slot / 2))
			s.Step()
			require.Equal(t, scenes[0].StateHash(), s.StateHash(), "%d workers, %v, tick %d", s.Config().Workers, s.Config().Compaction, s.Tick())
			require.Equal(t, scenes[0].Stats(), s.Stats())
		}
	}
}

// Events do not depend on workers either, with volumes, followers, layers and velocities
// that are not finite.
func TestWorkersTellTheSame(t *testing.T) {
	var scenes []*scene
	var volumes []*world.Component[world.Volume]
	for _, workers := range []int{1, 2, 4} {
		s := newSceneIn(t, world.Config{Seed: 7, Workers: workers}, 5000, 1, 2)
		defer s.Close()
		v := register[world.Volume](t, s.World, "volume")
		for slot := uint32(0); slot < 5000; slot += 100 {
			e := s.Slots().Handle(slot)
			v.Set(e, world.Volume{Radius: 15})
			addEffect(t, s.World, world.EffectDef{
				Program: compile(t, gust), Params: []field.Vec4{{3e38, 0, 3e38}}, Mode: world.Acceleration,
				Follow: e, Layers: 1 << (slot / 100 % 3), LifeTicks: 1 + slot/400,
			})
		}
		scenes, volumes = append(scenes, s), append(volumes, v)
	}
	told := 0
	for range 12 {
		for i, s := range scenes {
			s.Step()
			require.Equal(t, scenes[0].StateHash(), s.StateHash(), "tick %d", s.Tick())
			require.Equal(t, slices.Collect(scenes[0].Quarantined()), slices.Collect(s.Quarantined()))
			require.Equal(t, slices.Collect(scenes[0].Entered()), slices.Collect(s.Entered()))
			require.Equal(t, slices.Collect(scenes[0].Left()), slices.Collect(s.Left()))
			require.Equal(t, volumes[0].Presence().Count(), volumes[i].Presence().Count())
		}
		told += len(slices.Collect(scenes[0].Quarantined())) * len(slices.Collect(scenes[0].Entered()))
	}
	require.NotZero(t, told)
}

func TestCloseEndsTheWorkers(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newSceneIn(t, world.Config{Seed: 7, Workers: 4}, 3000, 1, 0)
	alone := newSceneIn(t, world.Config{Seed: 7}, 3000, 1, 0)
	for range 5 {
		s.Step()
		alone.Step()
	}
	s.Close()
	s.Close()
	s.Step()
	alone.Step()
	require.Equal(t, alone.StateHash(), s.StateHash(), "it continues without them")
	require.ErrorContains(t, world.Config{Workers: 65}.Validate(), "Workers is 65")
	require.ErrorContains(t, world.Config{Workers: -1}.Validate(), "Workers is -1")
}

func TestWarmStepOfWorkersAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	s := newSceneIn(t, world.Config{Seed: 7, Workers: 2}, 4000, 2, 0)
	defer s.Close()
	changes := s.NewChangeReader()
	for range 20 {
		s.Step()
	}
	require.Zero(t, testing.AllocsPerRun(20, func() {
		s.Step()
		changes.Next()
	}))
}
