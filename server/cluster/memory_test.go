package cluster_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/storetest"
	"github.com/worldd/worldd/server/cluster"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Subject {
		m := cluster.NewMemory()
		return storetest.Subject{Store: m, Other: m, Compact: func(ctx context.Context, revision uint64) error { return overflow(ctx, m, revision) }}
	})
}

// overflow changes a key until the changes before a revision are forgotten.
func overflow(ctx context.Context, m *cluster.Memory, revision uint64) error {
	var at uint64
	for {
		var err error
		if at, err = m.Swap(ctx, cluster.Swap{Key: "overflow", Value: []byte{}, Revision: at}); err != nil {
			return err
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if errors.Is(m.Watch(ended, "", revision-2, nil), cluster.ErrCompacted) {
			return nil
		}
	}
}

// A swap is seen whole or not at all, also at the end of the history.
func TestMemoryForgetsWholeSwaps(t *testing.T) {
	m := cluster.NewMemory()
	first, err := m.Swap(t.Context(), cluster.Swap{Key: "first", Value: []byte{}})
	require.NoError(t, err)
	pair := uint64(0)
	for oldest := first; oldest == first; {
		pair, err = m.Swap(t.Context(), cluster.Swap{Key: "a", Value: []byte{}, Revision: pair}, cluster.Swap{Key: "b", Value: []byte{}, Revision: pair},
			cluster.Swap{Key: "c", Value: []byte{}, Revision: pair})
		require.NoError(t, err)
		oldest = oldestKept(t, m, first, pair)
	}
	kept := map[uint64]int{}
	ctx, cancel := context.WithCancel(t.Context())
	err = m.Watch(ctx, "", oldestKept(t, m, first, pair), func(e cluster.Entry) {
		kept[e.Revision]++
		if e.Revision == pair && kept[pair] == 3 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NotEmpty(t, kept)
	for revision, keys := range kept {
		require.Equal(t, 3, keys, "keys of revision %d", revision)
	}
}

// oldestKept returns the first revision in a range from which a watch is possible.
func oldestKept(t *testing.T, m *cluster.Memory, from, to uint64) uint64 {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for ; from < to && errors.Is(m.Watch(ended, "", from, nil), cluster.ErrCompacted); from++ {
	}
	return from
}
