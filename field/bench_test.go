package field

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/worldd/worldd/internal/must"
)

// sameBits is the explosion in Go with the machine's arithmetic: a program's cost
// beyond it is the price of being data.
func sameBits(points, out Planes) {
	for i := range points.X {
		x, y, z := points.X[i]-2, points.Y[i]-4, points.Z[i]
		lensqr := fma32(z, z, fma32(y, y, float32(x*x)))
		r := rsqrt32(lensqr)
		if lensqr < 25 {
			out.X[i] += float32(float32(x*r) * 50)
			out.Y[i] += float32(float32(y*r) * 50)
			out.Z[i] += float32(float32(z*r) * 50)
		}
	}
}

// fastest is the explosion written for one kind of machine: no fused operations, and
// the processor's square root. The cost of sameBits beyond it is the price of equal
// results on machines without such instructions.
func fastest(points, out Planes) {
	for i := range points.X {
		x, y, z := points.X[i]-2, points.Y[i]-4, points.Z[i]
		if lensqr := x*x + y*y + z*z; lensqr < 25 && lensqr > 0 {
			s := 50 / float32(math.Sqrt(float64(lensqr)))
			out.X[i] += x * s
			out.Y[i] += y * s
			out.Z[i] += z * s
		}
	}
}

func BenchmarkExplosion(b *testing.B) {
	p := golden(b, "explosion")
	scratch := make([]float32, p.Scratch())
	for _, n := range []int{1, 16, 1_000, 20_000} {
		var points, out Planes
		for i := range n {
			points.X = append(points.X, float32(i%13)-4)
			points.Y = append(points.Y, float32(i%17)-3.3)
			points.Z = append(points.Z, float32(i%11)-5.1)
		}
		out.X, out.Y, out.Z = make([]float32, n), make([]float32, n), make([]float32, n)
		for _, c := range []struct {
			name string
			run  func()
		}{
			{"program", func() { _ = p.Evaluate(points, out, Env{}, scratch) }},
			{"sameBits", func() { sameBits(points, out) }},
			{"fastest", func() { fastest(points, out) }},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/point")
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	texts := map[string]string{"explosion": explosionPrinted}
	for _, name := range []string{"whirl", "storm_cell"} {
		texts[name], _ = Shipped(name)
	}
	for _, name := range []string{"explosion", "whirl", "storm_cell"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(Compile(texts[name]))
			}
		})
	}
}

// BenchmarkShipped measures the shipped effects.
func BenchmarkShipped(b *testing.B) {
	const n = 20_000
	points := somewhere(rand.New(rand.NewPCG(1, 1)), n, 30)
	out := Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
	scratch := make([]float32, MaxScratch)
	for _, name := range ShippedNames() {
		text, _ := Shipped(name)
		p := must.Get(Compile(text))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = p.Evaluate(points, out, Env{Time: 0.125}, scratch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/point")
		})
	}
}
