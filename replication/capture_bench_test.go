package replication_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// BenchmarkCapture measures a frame of 10,000 entities with two components. Some of the
// entities changed since the last frame.
func BenchmarkCapture(b *testing.B) {
	type score struct {
		Points int32 `net:"bits=16"`
	}
	type team struct {
		Number uint8
	}
	const entities = 10_000
	for _, changed := range []int{0, 100, entities} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			w := must.Get(world.New(world.Config{}))
			scores := must.Get(world.Register[score](w, "score"))
			teams := must.Get(world.Register[team](w, "team"))
			player := must.Get(w.AddKind(world.Kind{Name: "player"}))
			require.NoError(b, world.SetDefault(w, player, scores, score{}))
			require.NoError(b, world.SetDefault(w, player, teams, team{}))
			s := schema.New()
			schema.Define[score](s, "score")
			schema.Define[team](s, "team")
			require.NoError(b, s.Err())
			r := must.Get(replication.New(w, s, replication.Config{}))
			var all []world.Entity
			for range entities {
				e := must.Get(w.Spawn(player, world.Vec3{}, world.Vec3{}))
				all = append(all, e)
			}
			tick := 0
			step := func() {
				tick++
				for _, e := range all[:changed] {
					scores.Mut(e).Points = int32(tick % 1000)
				}
				w.Step()
				r.AfterStep()
			}
			for range 100 {
				step()
				r.Capture()
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				step()
				b.StartTimer()
				r.Capture()
			}
			if changed > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(changed), "ns/row")
			}
		})
	}
}
