package world_test

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

var soakFlag = flag.Duration("soak", 2*time.Minute, "how much simulated time TestSoak runs, in 24 parts")

// longScene is a scene with constant turnover at a constant population.
type longScene struct {
	*scene
	ball               world.KindID
	crossings, renewed uint64
}

func newLongScene(t testing.TB, cfg world.Config) *longScene {
	cfg.Seed, cfg.HistoryTicks, cfg.MaxEntities = 11, 60, 4096
	s := &longScene{scene: newSceneIn(t, cfg, 60, 2, 1)}
	s.ball = addKind(t, s.World, world.Kind{Name: "ball", Body: &world.BodyDef{
		Radius: 0.5, Drag: 0.1, Friction: 0.5, Restitution: 0.4, Solid: true, Layers: 2,
	}})
	s.pull, s.zones = compile(t, blast), register[world.Volume](t, s.World, "volume")
	wind := compile(t, gust)
	require.NoError(t, s.AddSystem(world.Before, "renew", func(w *world.World) {
		if w.Stats().Entities < 180 {
			s.renew(w.Rand())
		}
		if w.Tick()%7 == 0 {
			s.disturb(w.Rand(), wind)
		}
	}))
	require.NoError(t, s.AddSystem(world.After, "count", func(w *world.World) {
		for range w.Entered() {
			s.crossings++
		}
		for range w.Left() {
			s.crossings++
		}
	}))
	return s
}

// renew replaces a destroyed entity.
func (s *longScene) renew(r *rand.Rand) {
	s.renewed++
	at := world.Vec3{X: spread(r, 12), Y: 4 + spread(r, 3), Z: spread(r, 12)}
	k := []world.KindID{s.crate, s.ball, s.ball}[r.IntN(3)]
	if e, err := s.DeferSpawn(k, at, world.Vec3{X: spread(r, 3)}, 600+r.Uint32N(6000)); err == nil && k == s.ball {
		s.health.DeferSet(e, health{Current: 3})
	}
}

// disturb makes one more change to an entity.
func (s *longScene) disturb(r *rand.Rand, wind *field.Program) {
	slot := r.Uint32N(s.Slots().Len())
	e := s.Slots().Handle(slot)
	switch r.IntN(8) {
	case 0:
		s.Destroy(e)
	case 1:
		s.Impulse(e, world.Vec3{X: spread(r, 20), Y: 9, Z: spread(r, 20)})
	case 2:
		s.health.DeferRemove(e)
	case 3:
		s.Wake(e)
	case 4:
		s.Sleep(e)
	case 5:
		_, _ = s.AddEffect(world.EffectDef{Program: wind, LifeTicks: 20, Layers: 2}) // fails at 4,096 effects
	default:
		zone(s.scene, slot, r.IntN(5000))
	}
}

// memory returns the reachable memory in bytes.
func memory() uint64 {
	runtime.GC()
	runtime.GC() // frees what the first run moved out of pools and finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A day of constant churn with -soak 24h; otherwise two minutes. Memory does not grow after
// the first part, no slot runs out of generations, and an image always equals the world.
// The first part gives the same result under another Compaction with two workers.
func TestSoak(t *testing.T) {
	const parts = 24
	s := newLongScene(t, world.Config{})
	ticks := int(*soakFlag * time.Duration(s.TickHz()) / time.Second / parts)
	if testing.Short() || invariants.Enabled {
		ticks = min(ticks, 30)
	}
	require.Positive(t, ticks)
	var img world.Image
	var file bytes.Buffer
	var hashes []uint64
	var used []uint64
	changes := s.NewChangeReader()
	for part := range parts {
		for range ticks {
			s.Step()
			changes.Next()
			if part == 0 {
				hashes = append(hashes, s.StateHash())
			}
		}
		if part == 0 {
			soakAgain(t, hashes)
			hashes = nil
		}
		s.TakeImage(&img)
		file.Reset()
		must.Get(img.WriteTo(&file))
		used = append(used, memory())
		stats := s.Stats()
		t.Logf("%v: %d KiB; %d entities, %d awake, %d effects, %d slots, %d retired; %d spawned, %d destroyed, %d renewed, %d crossings; hash %016x",
			time.Duration(s.Tick())*time.Second/time.Duration(s.TickHz()), used[part]/1024, stats.Entities, stats.Awake, stats.Effects,
			s.Slots().Len(), stats.Retired, stats.Spawned, stats.Destroyed, s.renewed, s.crossings, s.StateHash())
	}
	require.NoError(t, s.CheckInvariants())
	last := newLongScene(t, world.Config{})
	require.NoError(t, last.Restore(read(t, last.World, file.Bytes())))
	require.Equal(t, s.StateHash(), last.StateHash())

	stats := s.Stats()
	require.Zero(t, stats.Retired)
	if ticks < 300 {
		return // too short for memory to settle
	}
	require.Greater(t, stats.Destroyed, uint64(ticks*parts/2))
	require.NotZero(t, s.crossings)
	require.NotZero(t, stats.Asleep)
	settled := slices.Max(used[:parts/4])
	require.LessOrEqual(t, slices.Max(used[parts/4:]), settled+settled/8, "memory by part: %v", used)
}

// soakAgain repeats the first part and compares each tick.
func soakAgain(t *testing.T, hashes []uint64) {
	again := newLongScene(t, world.Config{Workers: 2, Compaction: world.Stable})
	defer again.Close()
	for tick, want := range hashes {
		again.Step()
		require.Equal(t, want, again.StateHash(), "tick %d", tick+1)
	}
}
