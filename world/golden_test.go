package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/world"
)

// golden lists, for each scene, the tick in which the last body falls asleep and the state
// then. They are equal on every machine, with every instruction set, for each Compaction,
// and with 1, 2 and 4 workers. A change to the rules of motion or the arithmetic of
// programs changes these values. Its commit explains why.
var golden = []struct {
	name  string
	build func(testing.TB, world.Config) *world.World
	hash  uint64
	tick  uint64
}{
	{"storm", storm, 0xc28e6d82953b1765, 474},
	{"heap", rockHeap, 0xbf55a2983abc7f52, 408},
	{"bouncing", bouncing, 0x2d475c9d912a6ec3, 835},
}

// storm is five seconds of the scene with everything in it, then quiet.
func storm(t testing.TB, cfg world.Config) *world.World {
	cfg.Seed = 7
	s := newSceneIn(t, cfg, 300, 2, 2)
	steps(s.World, 300)
	for _, id := range s.blasts {
		s.RemoveEffect(id)
	}
	s.blasts, s.sparks = nil, 0
	return s.World
}

func rockHeap(t testing.TB, cfg world.Config) *world.World {
	cfg.Seed, cfg.CellMetres = 3, 2
	return heap(t, cfg, 100)
}

// bouncing is a box of balls that lose a fifth of their speed in each collision.
func bouncing(t testing.TB, cfg world.Config) *world.World {
	cfg.Seed, cfg.CellMetres, cfg.HalfExtent, cfg.Bounds = 5, 2, world.Vec3{X: 8, Y: 16, Z: 8}, world.BoundsBounce
	w, _, _, _ := newWorld(t, cfg)
	ball := addKind(t, w, world.Kind{Name: "ball", Body: &world.BodyDef{
		Radius: 0.4, Drag: 0.05, Friction: 0.3, Restitution: 0.8, Solid: true,
	}})
	r := w.Rand()
	for range 100 {
		at := world.Vec3{X: spread(r, 7), Y: 8 + spread(r, 7), Z: spread(r, 7)}
		must.Get(w.Spawn(ball, at, world.Vec3{X: spread(r, 20), Y: spread(r, 20), Z: spread(r, 20)}))
	}
	return w
}

func TestGoldenScenes(t *testing.T) {
	modes := []world.Compaction{world.Exchange, world.Stable, world.InPlace}
	for i, scene := range golden {
		for i, mode := range shorttest.Pick(modes, []world.Compaction{world.Compaction(i)}) {
			w := scene.build(t, world.Config{Compaction: mode, Workers: 1 << i})
			defer w.Close()
			tick := stepUntilAsleep(t, w, 3000)
			require.Equal(t, scene.hash, w.StateHash(), "%s, %v: hash %#x, tick %d, %+v", scene.name, mode, w.StateHash(), tick, w.Stats())
			require.Equal(t, scene.tick, tick, "%s, %v", scene.name, mode)
			require.NoError(t, w.CheckInvariants())
		}
	}
}
