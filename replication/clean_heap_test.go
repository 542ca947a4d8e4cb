package replication_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// watchedWorld is a world with one viewer, which acknowledges each snapshot at the next one.
type watchedWorld struct {
	t       testing.TB
	world   *world.World
	rep     *replication.Replicator
	viewer  *replication.Viewer
	before  func(tick uint64) // each step
	written uint32
	ack     wire.Ack
	bytes   int
}

// watch adds a viewer to a world: if exact, one that simulates.
func watch(t testing.TB, w *world.World, exact bool) *watchedWorld {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	require.NoError(t, replication.DeclareWorld(s, w))
	rep := must.Get(replication.New(w, s, replication.Config{SnapshotHz: 20}))
	o := &watchedWorld{t: t, world: w, rep: rep, viewer: rep.AddViewer(0), before: func(uint64) {}}
	if exact {
		require.True(t, o.viewer.Simulate())
	}
	return o
}

func (o *watchedWorld) tick() {
	o.before(o.world.Tick())
	o.world.Step()
	o.rep.AfterStep()
	if !o.rep.Due(0) {
		return
	}
	o.rep.Capture()
	if o.ack.Newest > 0 {
		require.NoError(o.t, o.viewer.Acknowledge(o.ack))
	}
	u := o.viewer.Snapshot()
	o.written += uint32(len(records(o.t, u)))
	o.ack = wire.Ack{Seen: true, Newest: o.viewer.Numbers().Seq, Mask: 1<<64 - 1, Structure: o.written}
	o.bytes += bytesOf(u)
}

// newHeap pours 400 solid rocks into a box, in which a kinematic rock stirs them for ever.
func newHeap(t testing.TB, exact bool) *watchedWorld {
	w := must.Get(world.New(world.Config{Seed: 1, TickHz: 60, Gravity: 9.81, MaxEntities: 1024, CellMetres: 4, HalfExtent: world.Vec3{X: 6, Y: 64, Z: 6}}))
	rock := must.Get(w.AddKind(world.Kind{Name: "rock", Exact: exact, Body: &world.BodyDef{Mass: 1, Drag: 0.1, Radius: 0.5, Friction: 0.5, Restitution: 0.2, Solid: true}}))
	spoon := must.Get(w.AddKind(world.Kind{Name: "spoon", Exact: exact, Body: &world.BodyDef{Kinematic: true, Solid: true, Radius: 2}}))
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 400 {
		at := world.Vec3{X: float32(r.IntN(1024)-512) / 128, Y: 4 + float32(i)/8, Z: float32(r.IntN(1024)-512) / 128}
		must.Get(w.Spawn(rock, at, world.Vec3{}))
	}
	h := must.Get(w.Spawn(spoon, world.Vec3{X: 3, Y: 1}, world.Vec3{}))
	o := watch(t, w, exact)
	o.before = func(tick uint64) {
		turn := float64(tick) / 30
		w.SetVelocity(h, world.Vec3{X: float32(-6 * math.Sin(turn)), Z: float32(6 * math.Cos(turn))})
	}
	return o
}

// newBirds returns 20,000 flying bodies. The viewer sees the bodies near the centre.
func newBirds(t testing.TB, exact bool) *watchedWorld {
	w := must.Get(world.New(world.Config{Seed: 1, TickHz: 60, MaxEntities: 1 << 15, HalfExtent: world.Vec3{X: 500, Y: 200, Z: 500}, Bounds: world.BoundsBounce}))
	bird := must.Get(w.AddKind(world.Kind{Name: "bird", Exact: exact, Body: &world.BodyDef{Mass: 1, Drag: 0.001, Radius: 0.5, Restitution: 1}}))
	r := rand.New(rand.NewPCG(5, 5))
	for range 20_000 {
		at := world.Vec3{X: float32(r.IntN(900) - 450), Y: float32(50 + r.IntN(100)), Z: float32(r.IntN(900) - 450)}
		must.Get(w.Spawn(bird, at, world.Vec3{X: float32(r.IntN(40) - 20), Y: float32(r.IntN(3) - 1), Z: float32(r.IntN(40) - 20)}))
	}
	return watch(t, w, exact)
}

// If bodies are disturbed most of the time, a viewer that simulates costs little more than
// an ordinary viewer: one bit per row in datagrams with an exact row, and the exact states
// of bodies that fly for a while.
func TestHeapBytes(t *testing.T) {
	racetest.SkipSequential(t)
	ticks := shorttest.Pick(1200, 300)
	var cost [2]int
	for i, exact := range []bool{false, true} {
		o := newHeap(t, exact)
		for range 600 {
			o.tick()
		}
		o.bytes = 0
		for range ticks {
			o.tick()
		}
		cost[i] = o.bytes
		t.Logf("exact %v: %d B/s", exact, o.bytes*60/ticks)
	}
	require.Greater(t, cost[0], 5000*ticks/60)
	require.LessOrEqual(t, float64(cost[1]), 1.02*float64(cost[0]))
}

// BenchmarkExactAgainstOrdinary alternates runs of three ticks and one snapshot in two
// worlds: one has exact kinds and a viewer that simulates, the other has neither. The
// worlds are a heap in which no body stays clean, or 20,000 bodies that only motion moves.
// It reports the median ratio of neighbouring runs, and the ratio of the fastest tenths.
func BenchmarkExactAgainstOrdinary(b *testing.B) {
	b.Run("heap", func(b *testing.B) { benchmarkExact(b, newHeap) })
	b.Run("birds", func(b *testing.B) { benchmarkExact(b, newBirds) })
}

func benchmarkExact(b *testing.B, build func(testing.TB, bool) *watchedWorld) {
	worlds := [2]*watchedWorld{build(b, false), build(b, true)}
	for range 600 {
		worlds[0].tick()
		worlds[1].tick()
	}
	var took [2][]float64
	var ratios []float64
	for n := 0; b.Loop(); n++ {
		for _, i := range [2]int{n & 1, 1 - n&1} {
			began := time.Now()
			for range 3 {
				worlds[i].tick()
			}
			took[i] = append(took[i], float64(time.Since(began)))
		}
		ratios = append(ratios, took[1][n]/took[0][n])
	}
	slices.Sort(ratios)
	slices.Sort(took[0])
	slices.Sort(took[1])
	b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
	b.ReportMetric(took[1][len(took[1])/10]/took[0][len(took[0])/10], "tenth-ratio")
	b.ReportMetric(took[0][len(took[0])/2]/3e3, "us/tick")
}
