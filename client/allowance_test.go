package client_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
)

// An allowance gives the same result as sorting its samples.
func TestAllowanceIsARank(t *testing.T) {
	for name, delay := range map[string]func(*rand.Rand, int) int64{
		"any":     func(r *rand.Rand, _ int) int64 { return r.Int64N(2000) - 1000 },
		"few":     func(r *rand.Rand, _ int) int64 { return r.Int64N(3) },
		"rising":  func(_ *rand.Rand, i int) int64 { return int64(i) },
		"falling": func(_ *rand.Rand, i int) int64 { return int64(-i) },
		"still":   func(*rand.Rand, int) int64 { return 7 },
	} {
		t.Run(name, func(t *testing.T) {
			var a client.Allowance
			var samples, times []time.Duration
			now := time.Duration(0)
			r := rand.New(rand.NewPCG(1, 2))
			for i := range 1000 {
				now += time.Duration(r.Int64N(int64(time.Second) / int64(1+i/10)))
				d := time.Duration(delay(r, i))
				samples, times = append(samples, d), append(times, now)
				n := 1
				for n < min(len(samples), client.AllowanceSamples) && (n < client.MinOutlier || now-times[len(times)-1-n] <= client.AllowanceSpan) {
					n++
				}
				exceed := n / 50
				if n >= client.MinOutlier {
					exceed = max(exceed, 1)
				}
				sorted := slices.Sorted(slices.Values(samples[len(samples)-n:]))
				require.Equal(t, sorted[n-1-exceed], a.Add(now, d), "after %d samples", i+1)
			}
		})
	}
}
