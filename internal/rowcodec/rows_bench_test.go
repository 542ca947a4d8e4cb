package rowcodec_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
)

// turning is a body that moves and rotates.
type turning struct {
	Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear"`
	Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
	Lit      bool
}

// BenchmarkFirstRows encodes 1,000 rows with different motions against states of 2 to 12
// ticks before, as a server does for the first viewer with a baseline. Each round has new
// states, which keeps branches as unpredictable as in a game. It reports the sum of the
// minimum times of blocks of fifty rows.
func BenchmarkFirstRows(b *testing.B) {
	b.Run("bodies", func(b *testing.B) {
		benchmarkFirstRows(b, func(random *rand.Rand) func() schema.Body {
			var body schema.Body
			for i := range 3 {
				body.Position[i], body.Velocity[i] = 100*random.Float32(), 6*random.Float32()-3
			}
			return func() schema.Body {
				for i := range 3 {
					body.Velocity[i] += random.Float32()/2 - 0.25
					body.Position[i] += body.Velocity[i] / 60
				}
				return body
			}
		})
	})
	b.Run("turning", func(b *testing.B) {
		benchmarkFirstRows(b, func(random *rand.Rand) func() turning {
			var v turning
			var velocity [3]float32
			for i := range velocity {
				v.Position[i], velocity[i] = 100*random.Float32(), 6*random.Float32()-3
			}
			angle, spin := 6*random.Float64(), random.Float64()/10-0.05
			return func() turning {
				for i := range velocity {
					velocity[i] += random.Float32()/2 - 0.25
					v.Position[i] += velocity[i] / 60
				}
				spin += random.Float64()/100 - 0.005
				angle += spin
				v.Facing = [4]float32{0.6 * float32(math.Sin(angle)), 0.8 * float32(math.Sin(angle)), 0, float32(math.Cos(angle))}
				return v
			}
		})
	})
}

func benchmarkFirstRows[T any](b *testing.B, start func(*rand.Rand) func() T) {
	const rows, block, states = 1000, 50, 24
	random := rand.New(rand.NewPCG(1, 2))
	s := schema.New()
	schema.Define[T](s, "it")
	require.NoError(b, s.Err())
	c := rowcodec.New(s, rowcodec.DefaultTables())
	var next [rows]func() T
	var history [rows][states]rowschema.Row // rings
	var now [rows]rowschema.Row
	var pasts [rows]rowcodec.Past
	tick := 0
	step := func() {
		for i := range next {
			rowtest.Set(s, &history[i][tick%states], "it", next[i]())
			age, gap := 2+i%11, 3+i%3
			now[i] = history[i][tick%states]
			pasts[i] = rowcodec.Past{Age: uint32(age), Gap: uint32(gap)}
			pasts[i].Base = history[i][(tick-age+states)%states].Values
			pasts[i].Older = history[i][(tick-age-gap+states)%states].Values
		}
		tick++
	}
	for i := range next {
		next[i] = start(random)
		for j := range history[i] {
			history[i][j] = rowtest.NewRow(s, 0)
		}
	}
	for range states {
		step()
	}
	var chunks rowcodec.Chunks
	var least [rows / block]time.Duration
	bits, rounds := 0, 0
	for b.Loop() {
		step()
		chunks.Reset()
		for n := range least {
			from := time.Now()
			for i := n * block; i < (n+1)*block; i++ {
				bits += chunks.Add(c, now[i], &pasts[i]).Bits()
			}
			if took := time.Since(from); rounds == 0 || took < least[n] {
				least[n] = took
			}
		}
		rounds++
	}
	sum := time.Duration(0)
	for _, took := range least {
		sum += took
	}
	b.ReportMetric(float64(sum.Nanoseconds())/rows, "ns/row")
	b.ReportMetric(float64(bits)/rows/float64(rounds), "bits/row")
}
