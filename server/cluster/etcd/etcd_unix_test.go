//go:build unix

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/storetest"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/etcd"
)

func conform(t *testing.T, m *members) {
	var games atomic.Uint32
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		prefix := fmt.Sprint("game", games.Add(1))
		s := m.open(prefix, 0, time.Minute)
		compact := func(ctx context.Context, revision uint64) error { return etcd.Compact(s, ctx, revision) }
		return storetest.Subject{Store: s, Other: m.open(prefix, len(m.urls)-1, time.Minute), Compact: compact}
	})
}

func TestOneMember(t *testing.T) {
	conform(t, startMembers(t, 1))
}

func TestThreeMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("three processes")
	}
	m := startMembers(t, 3)
	t.Run("conformance", func(t *testing.T) { conform(t, m) })
	s := m.open("faults", 0, 0)
	c := &counter{T: t, store: s, unknown: map[int]bool{}, acknowledged: map[int]uint64{}}
	_, from, err := cluster.ReadAll(t.Context(), s, "")
	require.NoError(t, err)
	seen := c.follow(from)

	c.count(20)
	leader := m.awaitLeader()
	m.kill(leader)
	c.count(20)
	m.start(leader)
	leader = m.awaitLeader()
	m.signal(leader, syscall.SIGSTOP)
	c.count(20)
	m.signal(leader, syscall.SIGCONT)
	m.awaitLeader()
	c.count(20)
	for i := range m.urls {
		m.kill(i)
	}
	for i := range m.urls {
		m.start(i)
	}
	c.count(20)
	c.check(from, seen)
}

// counter counts in one key, each number once, whatever the engine answers.
type counter struct {
	*testing.T
	store        *etcd.Store
	value        int
	revision     uint64
	acknowledged map[int]uint64 // the revision of each number
	unknown      map[int]bool   // numbers whose answer was lost
}

// count counts n times, and reads back what it does not know.
func (c *counter) count(n int) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	for end := c.value + n; c.value < end; {
		revision, err := c.store.Swap(ctx, cluster.Swap{Key: "count", Value: fmt.Append(nil, c.value+1), Revision: c.revision})
		switch {
		case err == nil:
			c.value++
			c.revision = revision
			c.acknowledged[c.value] = revision
			continue
		case ctx.Err() != nil:
			c.Fatalf("at %d: %v", c.value, err)
		case errors.Is(err, cluster.ErrUnknown):
			c.unknown[c.value+1] = true
		case errors.Is(err, cluster.ErrConflict):
			// Only an earlier request of this counter can have changed the key.
			require.True(c, c.unknown[c.value+1], "a conflict at %d, with no answer lost", c.value)
		}
		c.readBack(ctx)
	}
}

func (c *counter) readBack(ctx context.Context) {
	entries, _, err := cluster.ReadAll(ctx, c.store, "count")
	if err != nil || len(entries) == 0 {
		return
	}
	c.revision = entries[0].Revision
	if value := string(entries[0].Value); value != fmt.Sprint(c.value) {
		require.Equal(c, fmt.Sprint(c.value+1), value)
		require.True(c, c.unknown[c.value+1])
		c.value++
	}
}

// follow watches beside the faults.
func (c *counter) follow(from uint64) <-chan cluster.Entry {
	seen := make(chan cluster.Entry, 1000)
	go func() {
		for c.Context().Err() == nil {
			err := c.store.Watch(c.Context(), "count", from, func(e cluster.Entry) {
				from = e.Revision
				seen <- e
			})
			if errors.Is(err, cluster.ErrCompacted) {
				close(seen)
				return
			}
		}
	}()
	return seen
}

// check wants the watch to have seen each number once, in order, at its revision.
func (c *counter) check(from uint64, seen <-chan cluster.Entry) {
	for n := 1; n <= c.value; n++ {
		e, ok := <-seen
		require.True(c, ok, "the watch was compacted")
		require.Equal(c, fmt.Sprint(n), string(e.Value))
		require.Greater(c, e.Revision, from)
		from = e.Revision
		if revision := c.acknowledged[n]; revision != 0 {
			require.Equal(c, revision, e.Revision)
		}
	}
	c.Logf("%d numbers, %d answers lost", c.value, len(c.unknown))
}

// Nodes compact in turn what is older than a period.
func TestCompactRegularly(t *testing.T) {
	m := startMembers(t, 1)
	stores := make([]*etcd.Store, 3)
	for i := range stores {
		var err error
		stores[i], err = etcd.Open(t.Context(), etcd.Config{Endpoints: m.urls, CompactEvery: 10 * time.Millisecond, Timeout: time.Minute})
		require.NoError(t, err)
		defer stores[i].Close()
	}
	first, err := stores[0].Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte{}})
	require.NoError(t, err)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := stores[1].Watch(ctx, "", first-1, func(cluster.Entry) {})
		cancel()
		if errors.Is(err, cluster.ErrCompacted) {
			break
		}
	}
	entries, _, err := cluster.ReadAll(t.Context(), stores[2], "")
	require.NoError(t, err)
	require.Len(t, entries, 1, "the marker is not a key of the directory")
}

// An engine that lost its data says so, also if nothing else has changed.
func TestWatchOfWipedEngine(t *testing.T) {
	m := startMembers(t, 1)
	s := m.open("game", 0, time.Minute)
	var at uint64
	for range 5 {
		var err error
		at, err = s.Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte{}, Revision: at})
		require.NoError(t, err)
	}
	m.kill(0)
	for i, arg := range m.args[0] {
		if strings.HasSuffix(arg, "/data") {
			m.args[0][i] = arg + "-new"
		}
	}
	m.start(0)
	m.awaitLeader()
	for {
		err := s.Watch(t.Context(), "", at, func(cluster.Entry) { t.Error("saw a change") })
		if errors.Is(err, cluster.ErrCompacted) {
			break
		}
	}
}
