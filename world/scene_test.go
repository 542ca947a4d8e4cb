package world_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// scene is a small world with most features: crates that fall and come to rest, sparks that
// live for a second, a steady wind, and explosions that wander through the crates.
type scene struct {
	*world.World
	crate, spark world.KindID
	health       *world.Component[health]
	blasts       []world.EffectID
	sparks       int // per tick

	zones *world.Component[world.Volume] // nil: none
	pull  *field.Program
}

func newScene(t testing.TB, seed uint64, crates, blasts, sparksPerTick int) *scene {
	return newSceneIn(t, world.Config{Seed: seed}, crates, blasts, sparksPerTick)
}

func newSceneIn(t testing.TB, cfg world.Config, crates, blasts, sparksPerTick int) *scene {
	cfg.HalfExtent = world.Vec3{X: 128, Y: 64, Z: 128}
	w, crate, _, _ := newWorld(t, cfg)
	s := &scene{World: w, crate: crate, sparks: sparksPerTick}
	s.spark = addKind(t, w, world.Kind{Name: "spark", Body: &world.BodyDef{Mass: 0.01, Drag: 2, Radius: 0.05, Restitution: 0.6}})
	s.health = must.Get(world.Register[health](w, "health"))
	require.NoError(t, world.SetDefault(w, crate, s.health, health{Current: 8, Max: 8}))
	r := w.Rand()
	for range crates {
		spawn(t, w, crate, world.Vec3{X: spread(r, 120), Y: 3.5 + spread(r, 3), Z: spread(r, 120)})
	}
	addEffect(t, w, world.EffectDef{Program: compile(t, gust), Params: []field.Vec4{{3, 0, 1}}})
	boom := compile(t, blast)
	for i := range blasts {
		s.blasts = append(s.blasts, addEffect(t, w, world.EffectDef{Program: boom, Mode: world.Acceleration, Center: wander(0, i)}))
	}
	require.NoError(t, w.AddSystem(world.Before, "fountain", func(*world.World) { s.fountain(s.sparks) }))
	require.NoError(t, w.AddSystem(world.Before, "blasts", func(w *world.World) {
		for i, id := range s.blasts {
			w.MoveEffect(id, wander(w.Tick(), i))
		}
	}))
	require.NoError(t, w.AddSystem(world.After, "hurt", s.hurt))
	return s
}

// spread draws a number within +-half. The product is rounded before the subtraction, so
// that machines agree from the first spawn.
func spread(r *rand.Rand, half float32) float32 {
	return float32(2*half*r.Float32()) - half
}

// wander is a square path without sines, equal on all machines.
func wander(tick uint64, i int) world.Vec3 {
	phase := float32((tick + 97*uint64(i)) % 400)
	return world.Vec3{X: float32(40*i%200) - 80, Y: 1, Z: float32(phase*0.5) - 100}
}

func (s *scene) fountain(n int) {
	r := s.Rand()
	for range n {
		at := world.Vec3{X: spread(r, 10), Y: 1, Z: spread(r, 10)}
		v := world.Vec3{X: spread(r, 4), Y: 10 + spread(r, 5), Z: spread(r, 4)}
		if _, err := s.SpawnFor(s.spark, at, v, 60); err != nil {
			return
		}
	}
}

// hurt takes health from crates close to the first blast, and destroys those with none
// left.
func (s *scene) hurt(w *world.World) {
	if len(s.blasts) == 0 {
		return
	}
	for e := range w.Within(wander(w.Tick(), 0), 3) {
		if h := s.health.Mut(e); h != nil {
			h.Current--
			if h.Current <= 0 {
				w.Destroy(e)
			}
		}
	}
}

func TestSameSeedSameHashes(t *testing.T) {
	a, b, c := newScene(t, 7, 60, 1, 1), newScene(t, 7, 60, 1, 1), newScene(t, 8, 60, 1, 1)
	for range 120 {
		require.Equal(t, a.StateHash(), b.StateHash())
		require.NotEqual(t, a.StateHash(), c.StateHash())
		a.Step()
		b.Step()
		c.Step()
	}
}

// Two worlds receive the same final sleep and wake requests in different orders, after
// different earlier requests. W11 and the flush keep the worlds equal.
func TestOrderOfRequestsDoesNotMatter(t *testing.T) {
	a, b := newScene(t, 7, 120, 1, 0), newScene(t, 7, 120, 1, 0)
	r := rand.New(rand.NewPCG(9, 9))
	for range 100 {
		chosen := r.Perm(120)[:r.IntN(20)]
		wake := r.IntN(2) == 0
		setAwake := func(w *world.World, slot int, wake bool) {
			if e := w.Slots().Handle(uint32(slot)); wake {
				w.Wake(e)
			} else {
				w.Sleep(e)
			}
		}
		for _, slot := range chosen {
			setAwake(a.World, slot, false)
			setAwake(a.World, slot, wake)
		}
		for _, i := range r.Perm(len(chosen)) {
			setAwake(b.World, chosen[i], false)
			setAwake(b.World, chosen[i], true)
			setAwake(b.World, chosen[i], false)
			setAwake(b.World, chosen[i], wake)
		}
		require.Equal(t, a.StateHash(), b.StateHash())
		a.Step()
		b.Step()
		require.Equal(t, a.StateHash(), b.StateHash())
	}
	require.NoError(t, b.CheckInvariants())
}

// Two worlds reach the same state with their rows in different orders, over several
// chunks: W11.
func TestRowOrderDoesNotMatter(t *testing.T) {
	const n = 700
	a, b := newScene(t, 7, n, 2, 0), newScene(t, 7, n, 2, 0)
	r := rand.New(rand.NewPCG(9, 9))
	for range 20 {
		for range n / 4 {
			b.Sleep(b.Slots().Handle(uint32(r.IntN(n))))
			b.Wake(b.Slots().Handle(uint32(r.IntN(n))))
		}
		a.Step()
		b.Step()
	}
	for slot := range uint32(n) {
		at := world.Vec3{X: r.Float32()*200 - 100, Y: r.Float32() * 5, Z: r.Float32()*200 - 100}
		v := world.Vec3{X: r.Float32() * 5, Y: r.Float32() * 5}
		for _, w := range []*scene{a, b} {
			e := w.Slots().Handle(slot)
			w.SetPosition(e, at)
			w.SetVelocity(e, v)
			w.health.Set(e, health{Current: 5})
		}
	}
	for range 100 {
		require.Equal(t, a.StateHash(), b.StateHash())
		a.Step()
		b.Step()
	}
}

// The rows of sleepers have no influence on the state.
func TestCompactionHasNoInfluence(t *testing.T) {
	racetest.SkipSequential(t)
	var scenes []*scene
	for _, mode := range []world.Compaction{world.Exchange, world.Stable, world.InPlace} {
		scenes = append(scenes, newSceneIn(t, world.Config{Seed: 7, Compaction: mode}, 300, 2, 2))
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 400 {
		slot, wake := uint32(r.IntN(300)), r.IntN(2) == 0
		for _, s := range scenes {
			if e := s.Slots().Handle(slot); wake {
				s.Wake(e)
			} else {
				s.Sleep(e)
			}
			s.Step()
			require.Equal(t, scenes[0].StateHash(), s.StateHash(), "%v at tick %d", s.Config().Compaction, s.Tick())
			require.Equal(t, scenes[0].Stats(), s.Stats())
		}
	}
	for _, s := range scenes {
		require.NoError(t, s.CheckInvariants())
	}
}

func TestHashSeesState(t *testing.T) {
	base := func() *scene {
		s := newScene(t, 7, 5, 1, 0)
		steps(s.World, 3)
		return s
	}
	seen := map[uint64]string{base().StateHash(): "nothing"}
	first := func(s *scene) world.Entity { return s.Slots().Handle(0) }
	for what, change := range map[string]func(*scene){
		"step":      func(s *scene) { s.Step() },
		"draw":      func(s *scene) { s.Rand().Uint32() },
		"spawn":     func(s *scene) { s.fountain(1) },
		"doom":      func(s *scene) { s.Destroy(first(s)) },
		"position":  func(s *scene) { s.SetPosition(first(s), world.Vec3{}) },
		"velocity":  func(s *scene) { s.SetVelocity(first(s), world.Vec3{Z: 1}) },
		"sleep":     func(s *scene) { s.Sleep(first(s)) },
		"component": func(s *scene) { s.health.Mut(first(s)).Current++ },
		"removed":   func(s *scene) { s.health.Remove(first(s)) },
		"effect":    func(s *scene) { s.RemoveEffect(s.blasts[0]) },
		"moved":     func(s *scene) { s.MoveEffect(s.blasts[0], world.Vec3{X: 100, Y: 50}) },
		"params":    func(s *scene) { s.SetEffectParams(s.blasts[0], []field.Vec4{{1}}) },
	} {
		s := base()
		change(s)
		h := s.StateHash()
		require.NotContains(t, seen, h, what)
		seen[h] = what
	}
}

func TestWarmStepAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	for name, sparks := range map[string]int{"no spawns": 0, "churn": 5} {
		s := newScene(t, 7, 500, 3, sparks)
		steps(s.World, 900) // blasts have been everywhere and every list has reached its maximum
		changes := s.NewChangeReader()
		before := s.Stats().Reused
		require.Zero(t, testing.AllocsPerRun(200, func() {
			s.Step()
			changes.Next()
		}), name)
		require.Equal(t, sparks > 0, s.Stats().Reused > before, name)
	}
}
