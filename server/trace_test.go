package server_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/world"
)

// spans collects the spans of a server by name.
type spans struct {
	mu  sync.Mutex
	all []server.Span
}

func (s *spans) add(span server.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, span)
}

// named returns the spans of a name.
func (s *spans) named(name string) (found []server.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.all {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// TestTraceOfRooms: a join and a move are traced with session and rooms.
func TestTraceOfRooms(t *testing.T) {
	t.Parallel()
	var seen spans
	rooms := newRoomServer(t, func(*server.RoomsConfig) {}, func(c *server.Config) { c.Trace = seen.add })
	c := rooms.dialRoom("hall")
	must.Get(c.DoRaw("go", 0, append([]byte{0xa7}, "match/a"...))) // in MessagePack
	rooms.until(c, "it moves", func() bool { return c.Welcome().Room == "match/a" && c.Replica().Len() > 0 })
	rooms.dialRoom("match/a")
	joins, moves := seen.named("join"), seen.named("move")
	require.Len(t, joins, 2)
	require.Len(t, moves, 1)
	id := c.Welcome().Session
	require.Equal(t, []any{"hall", id, ""}, []any{joins[0].Room, joins[0].Session, joins[0].From})
	require.Equal(t, []any{"match/a", id, "hall"}, []any{moves[0].Room, moves[0].Session, moves[0].From})
	require.Equal(t, c.Welcome().Epoch, moves[0].Epoch)
	require.NotZero(t, joins[1].Tick, "of a room that runs")
	require.Positive(t, moves[0].Took)
}

// TestTraceOfSavesAndTicks: saves are traced, and of the ticks only those that are slow.
func TestTraceOfSavesAndTicks(t *testing.T) {
	t.Parallel()
	var seen spans
	store := must.Get(imagefile.Open(filepath.Join(t.TempDir(), "world.image"), 0))
	t.Cleanup(func() { _ = store.Close() })
	slow := uint64(0)
	h := newTestServerWith(t, func(c *server.Config) {
		c.Trace, c.Image.Store = seen.add, store
		interval := time.Second / time.Duration(c.World.TickHz())
		require.NoError(t, c.World.AddSystem(world.Before, "slow", func(w *world.World) {
			if slow == 0 && w.Tick() > 5 {
				slow = w.Tick()
				for began := time.Now(); time.Since(began) <= interval; {
				}
			}
		}))
	})
	c := must.Get(client.Dial(h.ctx, h.config()))
	h.until(c, "the slow tick, which may not be the first", func() bool {
		return slices.ContainsFunc(seen.named("tick"), func(s server.Span) bool { return s.Tick > 5 })
	})
	require.NoError(t, c.Close())
	h.stop()
	require.NoError(t, <-h.ended)
	h.ended <- nil // for close
	saves := seen.named("save")
	require.Len(t, saves, 2, "the first and the last")
	require.NoError(t, saves[0].Err)
	var ticks []uint64
	for _, s := range seen.named("tick") {
		require.Greater(t, s.Took, time.Second/60)
		ticks = append(ticks, s.Tick)
		if s.Tick == slow {
			require.Greater(t, s.Phases[1], time.Second/60, "the step was slow")
		}
	}
	require.Contains(t, ticks, slow)
}
