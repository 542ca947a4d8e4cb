package etcd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/cluster"
)

// BenchmarkStartWithManyRooms opens a node in a directory of 50,000 rooms, until it has its first lease.
func BenchmarkStartWithManyRooms(b *testing.B) {
	const rooms = 50_000
	s := startMembers(b, 1).open("game", 0, time.Minute)
	for first := 0; first < rooms; first += cluster.MaxSwaps {
		var swaps []cluster.Swap
		for i := first; i < min(first+cluster.MaxSwaps, rooms); i++ {
			free := fmt.Sprintf(`{"v":1,"state":"free","epoch":%d,"block":-1}`, i)
			swaps = append(swaps, cluster.Swap{Key: fmt.Sprintf("room/arena/%05d", i), Value: []byte(free)})
		}
		_, err := s.Swap(b.Context(), swaps...)
		require.NoError(b, err)
	}
	seed := uint64(0)
	for b.Loop() {
		seed++
		n, err := cluster.Open(b.Context(), cluster.Config{
			Store: s, Name: fmt.Sprint("node", seed), Addrs: []string{"127.0.0.1:1"}, Random: rand.New(rand.NewPCG(seed, 0)), Now: time.Now, AfterFunc: time.AfterFunc,
		})
		require.NoError(b, err)
		require.NoError(b, n.Close(b.Context()))
	}
}

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
