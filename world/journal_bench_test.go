package world_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// BenchmarkJournal alternates between two equal worlds, one of them with a journal, ten steps each. It reports the
// cost of a journal per step, from the medians and the least times, the step without, and the bytes of a frame.
func BenchmarkJournal(b *testing.B) {
	for _, c := range []struct{ bodies, awake int }{{300, 300}, {10_000, 1000}, {1_000_000, 1000}} {
		b.Run(fmt.Sprintf("bodies=%d/awake=%d", c.bodies, c.awake), func(b *testing.B) {
			var worlds [2]*world.World
			for i := range worlds {
				worlds[i] = flock(b, world.Config{}, c.bodies, c.awake)
				points := register[health](b, worlds[i], "health")
				for slot := range worlds[i].Slots().Len() {
					points.Set(worlds[i].Slots().Handle(slot), health{Current: 8})
				}
				worlds[i].Step()
			}
			j := must.Get(worlds[1].StartJournal(world.JournalConfig{}))
			_ = must.Get(j.BeginSegment(nil))
			notes, size := make([]byte, 200), 0
			var took [2][]time.Duration
			for b.Loop() {
				for i, w := range worlds {
					began := time.Now()
					for range 10 {
						for n := range uint32(20) {
							w.SetVelocity(w.Slots().Handle(n), world.Vec3{X: 3, Z: float32(w.Tick() % 9)})
						}
						w.Step()
						if i == 1 {
							size = len(must.Get(j.Commit(notes)))
						}
					}
					took[i] = append(took[i], time.Since(began))
				}
			}
			for i := range took {
				slices.Sort(took[i])
			}
			median, least := len(took[0])/2, 0
			b.ReportMetric((took[1][median]-took[0][median]).Seconds()*1e5, "median-extra-us")
			b.ReportMetric((took[1][least]-took[0][least]).Seconds()*1e5, "least-extra-us")
			b.ReportMetric(took[0][least].Seconds()*1e5, "step-us")
			b.ReportMetric(float64(size), "frame-B")
		})
	}
}
