package field_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/worldd/worldd/field"
)

// sixteenEffects is a sum of 16 effects in one program: 8 explosions, 4 whirls, 2 winds
// and 2 updrafts, over about 40 m.
func sixteenEffects() string {
	var b strings.Builder
	for i := range 8 {
		b.WriteString(strings.Replace(explosion, "(2,4,0,0)", fmt.Sprintf("(%d,%d,%d,0)", 5*i-18, i, 12-4*i), 1))
	}
	for i := range 4 {
		fmt.Fprintf(&b, whirlText, 8*i-12, 6-3*i)
	}
	for i := range 2 {
		fmt.Fprintf(&b, "wave = mul position, (0.%[1]d,0,0,0)\nwave = add wave, time\nwave = sin wave\noutput = add output, wave\n", i+1)
		fmt.Fprintf(&b, updraftText, 10*i-5)
	}
	return b.String()
}

const whirlText = `d = sub position, (%d,0,%d)
d = mul d, (1,0,1)
r = length d
k = mad r, -0.2, 1
k = saturate k
k = smooth k
turn = mad r, 0.3, time
turn = sin turn
k = mul k, turn
d = normalize d
d = cross (0,1,0), d
d = mul d, k
output = add output, d
`

const updraftText = `d = sub position, (%d,0,0)
d = mul d, (1,0,1)
s = dot d, d
up = select_lt s, 16, (0,9,0), (0,0,0)
output = add output, up
`

// BenchmarkSixteen measures the machine. For comparison in the same run, ByHand has the
// same effects written in Go with Go's arithmetic.
func BenchmarkSixteen(b *testing.B) {
	p, err := field.Compile(sixteenEffects())
	if err != nil {
		b.Fatal(err)
	}
	scratch := make([]float32, p.Scratch())
	overPoints(b, func(points, out field.Planes) {
		if err := p.Evaluate(points, out, field.Env{Time: 1.5}, scratch); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkSixteenByHand(b *testing.B) {
	overPoints(b, func(points, out field.Planes) {
		for i := range points.X {
			x, y, z := sixteenByHand(points.X[i], points.Y[i], points.Z[i], 1.5)
			out.X[i], out.Y[i], out.Z[i] = out.X[i]+x, out.Y[i]+y, out.Z[i]+z
		}
	})
}

func overPoints(b *testing.B, evaluate func(points, out field.Planes)) {
	for _, n := range []int{1_000, 20_000} {
		b.Run(fmt.Sprintf("points=%d", n), func(b *testing.B) {
			points, out := planes(n), planes(n)
			for i := range n {
				points.X[i], points.Y[i], points.Z[i] = float32(i%41)-20, float32(i%7)-1, float32(i%37)-18
			}
			b.ReportAllocs()
			for b.Loop() {
				evaluate(points, out)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/point")
		})
	}
}

func explosionByHand(x, y, z float32) (float32, float32, float32) {
	lensqr := x*x + y*y + z*z
	if !(lensqr < 25) {
		return 0, 0, 0
	}
	k := 50 / float32(math.Sqrt(float64(max(lensqr, 1e-12))))
	return x * k, y * k, z * k
}

func sixteenByHand(x, y, z, time float32) (sumX, sumY, sumZ float32) {
	for i := range 8 {
		ex, ey, ez := explosionByHand(x-float32(5*i-18), y-float32(i), z-float32(12-4*i))
		sumX, sumY, sumZ = sumX+ex, sumY+ey, sumZ+ez
	}
	for i := range 4 {
		wx, wz := whirlByHand(x-float32(8*i-12), z-float32(6-3*i), time)
		sumX, sumZ = sumX+wx, sumZ+wz
	}
	for i := range 2 {
		sumX += sinByHand(x*float32(i+1)*0.1 + time)
		still := sinByHand(time)
		sumY, sumZ = sumY+still, sumZ+still
		if dx := x - float32(10*i-5); dx*dx+z*z < 16 {
			sumY += 9
		}
	}
	return sumX, sumY, sumZ
}

func whirlByHand(x, z, time float32) (float32, float32) {
	r := float32(math.Sqrt(float64(x*x + z*z)))
	k := min(max(1-0.2*r, 0), 1)
	k = k * k * (3 - 2*k) * sinByHand(0.3*r+time) / max(r, 1e-6)
	return z * k, -x * k
}

func sinByHand(turns float32) float32 { return float32(math.Sin(float64(turns) * 2 * math.Pi)) }
