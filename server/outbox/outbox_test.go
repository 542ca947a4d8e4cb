package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/outbox"
	"github.com/worldd/worldd/world"
)

type coins struct {
	Player string
	Coins  int64
}

// ledger is a database that fails as often as it succeeds, after it has committed.
type ledger struct {
	mu    sync.Mutex
	has   map[outbox.ID]coins
	order []int64
	calls int
}

func (l *ledger) send(_ context.Context, entries []outbox.Entry[coins]) ([]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		if _, ok := l.has[e.ID]; !ok {
			l.has[e.ID] = e.Value
			l.order = append(l.order, e.Value.Coins)
		}
	}
	l.calls++
	if l.calls%2 == 1 {
		return nil, errors.New("the answer is lost")
	}
	return make([]int64, len(entries)), nil
}

// game is a world with an outbox, in a server.
type game struct {
	*testing.T
	world  *world.World
	out    *outbox.Outbox[coins]
	server *server.Server
	stop   context.CancelFunc
	ended  chan error
}

func newWorld(t *testing.T) *game {
	w := must.Get(world.New(world.Config{}))
	return &game{T: t, world: w, out: must.Get(outbox.New[coins](w, "effect", 10))}
}

func (g *game) serve() {
	g.server = must.Get(server.Listen(server.Config{Listen: "127.0.0.1:0", WorldConfig: server.WorldConfig{World: g.world, Schema: schema.NewWithBody()}}))
	ctx, stop := context.WithCancel(context.Background())
	g.stop, g.ended = stop, make(chan error, 1)
	go func() { g.ended <- g.server.Serve(ctx) }()
	g.Cleanup(func() {
		stop()
		require.NoError(g, <-g.ended)
	})
}

// do runs f between two ticks.
func (g *game) do(f func()) {
	require.NoError(g, g.server.Room().Do(g.Context(), func(*world.World) error {
		f()
		return nil
	}))
}

// Each entry arrives once and in order, although the database repeats and the answers are lost. The entries that Settle puts follow.
func TestWork(t *testing.T) {
	g := newWorld(t)
	require.ErrorIs(t, g.out.Put(coins{"ann", 1}), outbox.ErrClosed, "Work has not begun")
	g.serve()
	l := &ledger{has: map[outbox.ID]coins{}}
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan struct{})
	settled := []int64{}
	go func() {
		defer close(worked)
		outbox.Work(ctx, g.server.Room(), g.out, l.send, func(e outbox.Entry[coins], _ int64) {
			settled = append(settled, e.Value.Coins)
			if e.Value.Coins == 3 {
				require.NoError(t, g.out.Put(coins{"ann", 100}))
			}
		})
	}()
	put := func(n int64) (err error) {
		g.do(func() { err = g.out.Put(coins{"ann", n}) })
		return err
	}
	require.Eventually(t, func() bool { return put(1) == nil }, time.Minute, time.Millisecond)
	for n := int64(2); n <= 20; {
		err := put(n)
		if err == nil {
			n++
			continue
		}
		require.ErrorIs(t, err, outbox.ErrClosed, "it is full")
	}
	require.Eventually(t, func() bool {
		n := -1
		g.do(func() { n = g.out.Len() })
		return n == 0
	}, time.Minute, time.Millisecond)
	stop()
	<-worked
	require.ElementsMatch(t, l.order, settled)
	require.Len(t, l.order, 21)
	require.Contains(t, l.order, int64(100))
	last := int64(0)
	for _, n := range l.order {
		if n != 100 {
			require.Greater(t, n, last)
			last = n
		}
	}
}

// A world that returns to an older image gives no ID twice, and its entries keep their IDs.
func TestOlderImage(t *testing.T) {
	g := newWorld(t)
	g.serve()
	collect := func(room *game, then func(entries []outbox.Entry[coins])) {
		ctx, stop := context.WithCancel(t.Context())
		outbox.Work(ctx, room.server.Room(), room.out, func(_ context.Context, entries []outbox.Entry[coins]) ([]int64, error) {
			defer stop()
			then(entries)
			return nil, errors.New("away")
		}, func(outbox.Entry[coins], int64) {})
	}
	var image world.Image
	go func() {
		for {
			var err error
			if g.server.Room().Do(t.Context(), func(w *world.World) error {
				if err = g.out.Put(coins{"ann", 1}); err == nil {
					w.TakeImage(&image)
					err = g.out.Put(coins{"ann", 2}) // lost with the image's future
				}
				return nil
			}) != nil || err == nil {
				return
			}
		}
	}()
	seen := map[outbox.ID]int64{}
	collect(g, func(entries []outbox.Entry[coins]) {
		for _, e := range entries {
			seen[e.ID] = e.Value.Coins
		}
	})
	require.Len(t, seen, 2)
	later := newWorld(t)
	require.NoError(t, later.world.RestoreRun(&image))
	require.ErrorIs(t, later.out.Put(coins{"ann", 3}), outbox.ErrClosed)
	later.serve()
	go func() {
		for {
			var err error
			later.do(func() { err = later.out.Put(coins{"ann", 3}) })
			if err == nil {
				return
			}
		}
	}()
	repeated := 0
	for n := 1; n < 2; {
		collect(later, func(entries []outbox.Entry[coins]) {
			n, repeated = len(entries), 0
			for _, e := range entries {
				if was, ok := seen[e.ID]; ok {
					require.Equal(t, was, e.Value.Coins, "another effect has this ID")
					repeated++
				}
			}
		})
	}
	require.Equal(t, 1, repeated, "the image's entry, which the database may have")
}

// Work ends if the room has another world: its outbox is gone.
func TestWorkEndsWithItsWorld(t *testing.T) {
	g := newWorld(t)
	g.serve()
	other := newWorld(t)
	outbox.Work(t.Context(), g.server.Room(), other.out, (&ledger{}).send, func(outbox.Entry[coins], int64) {})
	require.NoError(t, t.Context().Err())
}

// waiting puts a value into an outbox whose database is away, and returns its entries once there are n.
func waiting[T any](g *game, o *outbox.Outbox[T], value T, n int) (got []outbox.Entry[T]) {
	g.serve()
	go func() {
		for err := outbox.ErrClosed; errors.Is(err, outbox.ErrClosed); {
			g.do(func() { err = o.Put(value) })
		}
	}()
	ctx, stop := context.WithCancel(g.Context())
	outbox.Work(ctx, g.server.Room(), o, func(_ context.Context, entries []outbox.Entry[T]) ([]int64, error) {
		if len(entries) == n {
			got = slices.Clone(entries)
			stop()
		}
		return nil, errors.New("the database is away")
	}, func(outbox.Entry[T], int64) {})
	return got
}

// Entries that wait while the game is upgraded to wider numbers reach the database with their IDs and amounts, and wider ones follow.
func TestUpgradeWidensEntries(t *testing.T) {
	type narrow struct {
		Player string
		Coins  int32
	}
	old := &game{T: t, world: must.Get(world.New(world.Config{}))}
	sent := waiting(old, must.Get(outbox.New[narrow](old.world, "effect", 10)), narrow{"ann", math.MinInt32}, 1)
	var file *bytes.Buffer
	old.do(func() { file = write(old.world) })

	now := newWorld(t)
	require.NoError(t, now.world.RestoreRun(must.Get(now.world.ReadImage(file))))
	got := waiting(now, now.out, coins{"bob", 1 << 40}, 2)
	require.Equal(t, outbox.Entry[coins]{ID: sent[0].ID, Value: coins{"ann", math.MinInt32}}, got[0])
	require.Equal(t, coins{"bob", 1 << 40}, got[1].Value)
	require.NotEqual(t, got[0].ID, got[1].ID)
}

// earlierBook is the book of programs before it had the entity.
type earlierBook struct{ Run, Number uint64 }

func earlierWorld() (w *world.World, kind world.KindID, books *world.Component[earlierBook]) {
	w = must.Get(world.New(world.Config{}))
	kind = must.Get(w.AddKind(world.Kind{Name: "effect"}))
	must.Get(world.Register[outbox.Entry[coins]](w, "effect"))
	return w, kind, must.Get(world.Register[earlierBook](w, "effect-book"))
}

// write returns the file of a world's image.
func write(w *world.World) *bytes.Buffer {
	var image world.Image
	var file bytes.Buffer
	w.TakeImage(&image)
	must.Get(image.WriteTo(&file))
	return &file
}

// An outbox that an earlier program has saved is closed until Work begins, and continues to count. The earlier program reads what this one saves.
func TestUpgradeAndRollbackOfTheBook(t *testing.T) {
	earlier, kind, books := earlierWorld()
	books.Set(must.Get(earlier.Spawn(kind, world.Vec3{}, world.Vec3{})), earlierBook{Run: 7, Number: 41})
	g := newWorld(t)
	require.NoError(t, g.world.RestoreRun(must.Get(g.world.ReadImage(write(earlier)))))
	require.ErrorIs(t, g.out.Put(coins{"ann", 1}), outbox.ErrClosed)
	sent := waiting(g, g.out, coins{"ann", 1}, 1)
	require.Equal(t, uint64(42), sent[0].ID.Number)
	require.NotEqual(t, uint64(7), sent[0].ID.Run)

	var file *bytes.Buffer
	g.do(func() { file = write(g.world) })
	back, _, books := earlierWorld()
	require.NoError(t, back.RestoreRun(must.Get(back.ReadImage(file))))
	var read []earlierBook
	for _, b := range books.All() {
		read = append(read, *b)
	}
	require.Equal(t, []earlierBook{{sent[0].ID.Run, 42}}, read)
}
