package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/worldd/worldd/world"
)

// BenchmarkStepBoxes measures a step of flying bodies with effects in boxes of 16 m all
// over a square kilometre. The difference to the case without effects is the cost of the
// effects, sorts included.
func BenchmarkStepBoxes(b *testing.B) {
	for _, bodies := range []int{20_000, 100_000} {
		for _, effects := range []int{0, 8, 64} {
			b.Run(fmt.Sprintf("awake=%d/effects=%d", bodies, effects), func(b *testing.B) {
				w := flock(b, world.Config{}, bodies, bodies)
				boom, r := compile(b, blast), rand.New(rand.NewPCG(1, 64))
				for range effects {
					at := world.Vec3{X: spread(r, 450), Y: 100 + spread(r, 40), Z: spread(r, 450)}
					addEffect(b, w, world.EffectDef{Program: boom, Mode: world.Acceleration, Center: at})
				}
				steps(w, 16)
				changes := w.NewChangeReader()
				b.ReportAllocs()
				for b.Loop() {
					w.Step()
					changes.Next()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bodies), "ns/body")
			})
		}
	}
}
