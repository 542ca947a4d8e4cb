package world_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// flock returns a world of bodies spread over a square. As many as awake says fly in
// circles at up to 20 m/s and never land. The others sleep.
func flock(b *testing.B, cfg world.Config, bodies, awake int) *world.World {
	cfg.MaxEntities, cfg.Gravity = bodies, -1
	w, _, _, _ := newWorld(b, cfg)
	bird := addKind(b, w, world.Kind{Name: "bird", Body: &world.BodyDef{Drag: 0.001, Radius: 0.5}})
	r := w.Rand()
	for i := range bodies {
		at := world.Vec3{X: spread(r, 500), Y: 100 + spread(r, 50), Z: spread(r, 500)}
		e := must.Get(w.Spawn(bird, at, world.Vec3{X: spread(r, 20), Y: spread(r, 1), Z: spread(r, 20)}))
		if i*awake/bodies == (i+1)*awake/bodies {
			w.Sleep(e)
		}
	}
	w.Step()
	return w
}

// BenchmarkStepSparse measures a step of 10,000 awake bodies, alone and among a million.
func BenchmarkStepSparse(b *testing.B) {
	for _, bodies := range []int{10_000, 1_000_000} {
		for _, mode := range []world.Compaction{world.Exchange, world.InPlace} {
			b.Run(fmt.Sprintf("bodies=%d/%v", bodies, mode), func(b *testing.B) {
				w := flock(b, world.Config{Compaction: mode}, bodies, 10_000)
				changes := w.NewChangeReader()
				b.ReportAllocs()
				for b.Loop() {
					w.Step()
					changes.Next()
				}
			})
		}
	}
}

// BenchmarkSparseAgainstAlone alternates between ten thousand awake bodies alone and among
// a million, ten steps each. Other load on the machine thus affects both alike. It reports
// the ratios of their medians and minima.
func BenchmarkSparseAgainstAlone(b *testing.B) {
	worlds := [2]*world.World{flock(b, world.Config{}, 10_000, 10_000), flock(b, world.Config{}, 1_000_000, 10_000)}
	changes := [2]*world.ChangeReader{worlds[0].NewChangeReader(), worlds[1].NewChangeReader()}
	var took [2][]time.Duration
	for b.Loop() {
		for i, w := range worlds {
			began := time.Now()
			for range 10 {
				w.Step()
				changes[i].Next()
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	median, least := len(took[0])/2, 0
	b.ReportMetric(float64(took[1][median])/float64(took[0][median]), "median-ratio")
	b.ReportMetric(float64(took[1][least])/float64(took[0][least]), "least-ratio")
	b.ReportMetric(took[1][least].Seconds()*1e2, "ms/step")
}

// BenchmarkStepDense measures a step of 100,000 awake bodies: with motion and grid only, and
// with eight effects.
func BenchmarkStepDense(b *testing.B) {
	for _, effects := range []int{0, 8} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("effects=%d/workers=%d", effects, workers), func(b *testing.B) {
				w := flock(b, world.Config{Workers: workers}, 100_000, 100_000)
				defer w.Close()
				boom := compile(b, blast)
				for i := range effects {
					addEffect(b, w, world.EffectDef{Program: boom, Mode: world.Acceleration, Center: wander(0, i).Add(world.Vec3{Y: 99})})
				}
				changes := w.NewChangeReader()
				b.ReportAllocs()
				for b.Loop() {
					w.Step()
					changes.Next()
				}
			})
		}
	}
}

// BenchmarkHeap measures a step of a heap that is shaken awake, in cells of two sizes.
func BenchmarkHeap(b *testing.B) {
	for _, cell := range []float32{2, 8} {
		b.Run(fmt.Sprintf("rocks=500/cell=%v", cell), func(b *testing.B) {
			w := heap(b, world.Config{Seed: 3, CellMetres: cell}, 500)
			b.ReportAllocs()
			for b.Loop() {
				w.Wake(w.Slots().Handle(uint32(w.Tick() % 500)))
				w.Step()
			}
			b.ReportMetric(float64(w.Stats().Awake), "awake")
		})
	}
}
