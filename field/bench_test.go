package field_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
)

// plainGo is the explosion as Go programmers write it by hand, for the cost to
// compare with: other rounding (no fma, math.Sqrt), same meaning.
func plainGo(points, out field.Planes) {
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
	p, err := field.Compile(explosion)
	require.NoError(b, err)
	scratch := make([]float32, p.Scratch())
	for _, n := range []int{1, 16, 64, 1_000, 20_000} {
		points, out := somePoints(n), planes(n)
		for i := range points.X { // awkward values are not what a world is full of
			points.X[i], points.Y[i], points.Z[i] = float32(i%13)-4, float32(i%17)-3.3, float32(i%11)-5.1
		}
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/point")
			})
		}
		run("program", func() { _ = p.Evaluate(points, out, field.Env{}, scratch) })
		run("plainGo", func() { plainGo(points, out) })
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		_, _ = field.Compile(explosion)
	}
}
