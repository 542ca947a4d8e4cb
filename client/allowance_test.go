package client_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
)

// An allowance gives what sorting its samples gives.
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
			var samples []time.Duration
			r := rand.New(rand.NewPCG(1, 2))
			for i := range 1000 {
				d := time.Duration(delay(r, i))
				samples = append(samples, d)
				sorted := slices.Sorted(slices.Values(samples[max(0, len(samples)-client.AllowanceSamples):]))
				require.Equal(t, sorted[len(sorted)-1-len(sorted)/50], a.Add(d), "after %d samples", i+1)
			}
		})
	}
}
