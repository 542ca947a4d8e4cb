package etcd_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/cluster"
)

// BenchmarkSwap renews a lease through the driver: one key, 400 bytes, one member, with its fsync.
func BenchmarkSwap(b *testing.B) {
	s := startMembers(b, 1).open("game", 0, time.Minute)
	var revision uint64
	value := make([]byte, 400)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		at, err := s.Swap(b.Context(), cluster.Swap{Key: "node", Value: value, Revision: revision})
		require.NoError(b, err)
		revision = at
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
